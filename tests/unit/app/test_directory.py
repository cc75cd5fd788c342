"""One directory is one crawl."""

import os
from pathlib import Path

import pytest

from outrider.app.directory import BINDING, CrawlDirectory, toml_of
from outrider.errors import ConfigError, OutriderError
from outrider.model.url import Url
from outrider.settings import load, settings_of

SEED = Url("http://127.0.0.1/")


@pytest.fixture
def home(tmp_path: Path) -> CrawlDirectory:
    return CrawlDirectory(tmp_path / "crawl")


def test_what_is_remembered_is_what_was_given(home: CrawlDirectory) -> None:
    settings = settings_of(delay=2.0, include=[r"a\\b{1,3}"], hosts={"*.test": ["127.0.0.1"]}, contact="a@b.org")

    with home.held():
        seeds = home.remember(settings, [SEED, Url("http://127.0.0.1/two")])

    assert home.is_begun
    assert home.seeds() == seeds
    assert load(file=home.settings_file, environment={}).settings == settings
    assert sorted(path.name for path in home.path.iterdir() if path.suffix == ".new") == []


def test_seeds_gather_over_the_runs(home: CrawlDirectory) -> None:
    with home.held():
        home.remember(settings_of(), [SEED])
        seeds = home.remember(settings_of(), [Url("http://127.0.0.1/two"), SEED])

    assert seeds == [SEED, Url("http://127.0.0.1/two")] == home.seeds()


@pytest.mark.parametrize("file", ["seeds.txt"])
def test_a_file_that_somebody_spoilt_is_named(home: CrawlDirectory, file: str) -> None:
    with home.held():
        home.remember(settings_of(), [SEED])
    (home.path / file).write_bytes(b"http://127.0.0.1/\nnot a URL \xff\n")

    with pytest.raises(ConfigError, match=rf"{file}: .*--fresh"):
        home.seeds()


def test_two_crawls_never_share_a_directory(home: CrawlDirectory) -> None:
    with home.held(), pytest.raises(ConfigError, match=rf"process {os.getpid()}.*--directory"), home.held():
        pass

    with home.held():
        assert home.path.is_dir()


def test_other_files_are_not_walked_over(home: CrawlDirectory) -> None:
    home.path.mkdir()
    (home.path / "thesis.doc").touch()

    with pytest.raises(ConfigError, match=r"thesis\.doc.*--directory"), home.held():
        pass

    assert [path.name for path in home.path.iterdir()] == ["thesis.doc"]


def test_what_is_only_called_like_ours_is_not_ours(home: CrawlDirectory) -> None:
    home.path.mkdir()
    (home.path / "crawl.db").write_text("somebody's")

    with pytest.raises(ConfigError, match=r"crawl\.db"), home.held():
        pass

    assert (home.path / "crawl.db").read_text() == "somebody's"


def test_a_file_is_no_directory(home: CrawlDirectory) -> None:
    home.path.touch()

    with pytest.raises(ConfigError, match="is a file"), home.held():
        pass


def test_what_cannot_be_made_is_named(home: CrawlDirectory, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(OutriderError, match="file/crawl: cannot be written"),
        CrawlDirectory(tmp_path / "file" / "crawl").held(),
    ):
        pass

    home.path.mkdir()
    (home.path / ".lock").touch()
    (home.path / "archive").touch()
    with pytest.raises(OutriderError, match="archive: cannot be written"), home.held():
        pass


def test_discarding_takes_what_a_crawl_wrote_and_nothing_else(home: CrawlDirectory, tmp_path: Path) -> None:
    elsewhere = tmp_path / "big disk"
    elsewhere.mkdir()
    with home.held():
        home.remember(settings_of(), [SEED])
        home.database.touch()
        home.demo_mark.touch()
        (home.logs / "crawl.log").touch()
        (home.path / "notes.txt").touch()
        home.archive.rmdir()
        home.archive.symlink_to(elsewhere)
        (elsewhere / "one.warc.gz").touch()
        (elsewhere / "folder").mkdir()

        home.discard()

    assert not home.is_begun
    assert list(elsewhere.iterdir()) == []
    left = sorted(path.name for path in home.path.iterdir())
    assert left == [".lock", "archive", "events", "indexes", "logs", "notes.txt"]


def test_a_setting_that_binds_may_not_change(home: CrawlDirectory) -> None:
    with home.held():
        home.remember(settings_of(), [SEED])
        before = home.settings_file.read_text()

        with pytest.raises(
            ConfigError, match=r"site_by was domain, is now host; sort_query was false, is now true.*--fresh"
        ):
            home.remember(settings_of(site_by="host", sort_query=True, delay=9), [SEED])

    assert home.settings_file.read_text() == before


def test_a_setting_that_does_not_bind_may_change(home: CrawlDirectory) -> None:
    with home.held():
        home.remember(settings_of(), [SEED])
        home.remember(settings_of(delay=9), [SEED])

    assert load(file=home.settings_file, environment={}).settings.delay == 9


def test_a_store_with_a_password_goes_on_and_hides_it(home: CrawlDirectory) -> None:
    settings = settings_of(records="postgresql://me:secret@127.0.0.1/crawl")

    with home.held():
        home.remember(settings, [SEED])
        home.remember(settings, [SEED])

        with pytest.raises(ConfigError, match=r"records was postgresql://me:\*\*\*@127\.0\.0\.1/crawl, is now none"):
            home.remember(settings_of(), [SEED])
    assert "secret" not in home.settings_file.read_text()


def test_every_binding_key_stands_in_the_file() -> None:
    text = toml_of(settings_of())

    assert all(f"{key} = " in text for key in BINDING)

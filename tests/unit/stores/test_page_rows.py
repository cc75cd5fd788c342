"""A page and its evidence survive being a row, and are found by what they should be."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.model.record import Evidence, HttpHeaders, Page, PageFilter, PageMetadata, PageStatus, Record
from outrider.model.url import Url
from outrider.stores.page_rows import (
    COLUMNS,
    SiteWanted,
    as_fetched_at,
    can_match,
    check,
    hashes_of,
    host_and_port,
    matches,
    mended,
    page_of,
    record_of,
    row_of,
    site_wanted,
    to_proof,
    url_hash,
)
from outrider.testing.contracts.records import HOME, decision, visit, visits


def page(n: int = 1, **fields: object) -> Page:
    made = visit(n, **fields).page  # type: ignore[arg-type]  # fields are those of `visit`
    assert made is not None
    return made


def test_a_row_has_a_value_for_every_field_of_a_page() -> None:
    """S1-15, S1-16: what is added to the model and forgotten here would be lost without a word."""
    assert set(COLUMNS) == {*Page.__struct_fields__, *PageMetadata.__struct_fields__} - {"metadata"}
    assert len(row_of(page())) == len(COLUMNS)


def test_a_row_is_of_plain_texts_and_numbers() -> None:
    full = page(title="t", canonical=HOME, parent=HOME, directives=("noindex",), reason="http_404")

    assert {type(value) for value in row_of(full)} <= {str, int, Url, type(None)}


@given(visits())
def test_any_page_is_read_from_its_row_as_it_was(record: Record) -> None:
    page = mended(record).page
    assert page is not None

    assert page_of(row_of(page)) == page


@given(visits())
def test_any_evidence_is_read_beside_its_page_as_it_was(record: Record) -> None:
    whole = mended(record)
    assert whole.page is not None

    row = (*row_of(whole.page), to_proof(whole.page, whole.evidence))

    assert record_of(row) == Record(whole.page, whole.evidence)


def test_evidence_names_its_url_only_where_it_is_another() -> None:
    made = visit(1)
    assert made.page is not None
    elsewhere = replace(made.evidence[0], url="http://other.org/")

    assert "http://other.org/" in to_proof(made.page, [elsewhere])
    assert '"url":"http://example.org/","' not in to_proof(made.page, made.evidence[3:])


def test_no_directives_are_nothing_rather_than_an_empty_list() -> None:
    row = dict(zip(COLUMNS, row_of(page()), strict=True))

    assert row["directives"] is None


def test_hashes_fit_eight_bytes_with_a_sign() -> None:
    hashes = [url_hash(f"http://s{n}.org/{n}") for n in range(2_000)]

    assert len(set(hashes)) == 2_000
    assert min(hashes) < 0 < max(hashes)
    assert max(map(abs, hashes)) < 1 << 63


def test_the_pages_of_one_site_lie_together() -> None:
    hashes = [[url_hash(f"http://s{site}.org/{n}") for n in range(50)] for site in range(20)]

    ranges = sorted((min(site), max(site)) for site in hashes)
    assert all(end < begin for (_, end), (begin, _) in pairwise(ranges))


def test_a_hash_never_changes() -> None:
    """Files out there hold them."""
    assert url_hash("http://example.org/") == 6485746432274150785
    assert url_hash("https://www.example.org:8443/a?b") == 658599283809079396


def test_a_page_is_found_by_where_it_was_asked_for_and_where_it_ended() -> None:
    asked, ended = url_hash("http://example.org/"), url_hash("http://example.org/b")

    assert hashes_of(page()) == {asked}
    assert hashes_of(page(final="http://example.org/b")) == {asked, ended}


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://example.org/", "example.org", 80),
        ("https://example.org./a", "example.org", 443),
        ("http://127.0.0.1:8080/", "127.0.0.1", 8080),
        ("http://[::1]:81/x", "[::1]", 81),
    ],
)
def test_a_page_belongs_to_the_host_that_was_asked(url: str, host: str, port: int) -> None:
    assert host_and_port(url) == (host, port)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("example.org", SiteWanted("example.org")),
        ("EXAMPLE.org.", SiteWanted("example.org")),
        ("example.org:8080", SiteWanted("example.org", 8080)),
        ("example.org.:80", SiteWanted("example.org", 80)),
        ("127.0.0.1:1", SiteWanted("127.0.0.1", 1)),
        ("[::1]", SiteWanted("[::1]")),
        ("[::1]:81", SiteWanted("[::1]", 81)),
        ("::1", SiteWanted("[::1]")),
        ("2001:DB8::1", SiteWanted("[2001:db8::1]")),
        ("example.org:", SiteWanted("example.org:")),
        ("example.org:http", SiteWanted("example.org:http")),
        ("example.org:123456", SiteWanted("example.org:123456")),
        ("example.org:८०", SiteWanted("example.org:८०")),
        ("", SiteWanted("")),
    ],
)
def test_a_site_is_a_host_or_a_domain_and_perhaps_a_port(text: str, wanted: SiteWanted) -> None:
    assert site_wanted(text) == wanted


@pytest.mark.parametrize(
    ("site", "url", "has"),
    [
        ("example.org", "http://example.org/", True),
        ("example.org", "https://a.b.example.org:8443/", True),
        ("example.org", "http://notexample.org/", False),
        ("a.example.org", "http://example.org/", False),
        ("example.org:80", "http://example.org/", True),
        ("example.org:80", "https://example.org/", False),
        ("", "http://example.org/", False),
    ],
)
def test_a_domain_has_all_its_hosts_and_no_others(site: str, url: str, *, has: bool) -> None:
    assert site_wanted(site).has(url) is has


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1_794_789_734.1239, "2026-11-16T00:42:14.123Z"),
        (-1.0, "1969-12-31T23:59:59.000Z"),
        (1e300, "9999-12-31T23:59:59.999Z"),
        (float("inf"), "9999-12-31T23:59:59.999Z"),
        (-1e300, ""),
        (float("nan"), ""),
    ],
)
def test_a_moment_sorts_as_text(moment: float, text: str) -> None:
    assert as_fetched_at(moment) == text


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_of_two_moments_the_later_has_the_greater_text(one: float, other: float) -> None:
    first, second = sorted((one, other))

    assert as_fetched_at(first) <= as_fetched_at(second)


def test_every_wish_of_a_filter_must_be_met() -> None:
    """S0-18: by reason, alone and with others."""
    found = page(code=404, at="1970-01-01T00:00:05.000Z")
    met = {"status": PageStatus.FAILED, "reason": "http_404", "status_code": 404, "site": "example.org", "since": 5.0}
    missed = {"status": PageStatus.MOVED, "reason": "http_40", "status_code": 405, "site": "ample.org", "since": 5.001}

    assert matches(found, PageFilter())
    for count in range(1, len(met) + 1):
        for names in combinations(met, count):
            wishes = {name: met[name] for name in names}
            assert matches(found, PageFilter(**wishes))  # type: ignore[arg-type]  # values of their fields
            for name in names:
                other = PageFilter(**{**wishes, name: missed[name]})  # type: ignore[arg-type]  # the same
                assert not matches(found, other)


@pytest.mark.parametrize(
    "wanted",
    [
        PageFilter(status_code=1 << 63),
        PageFilter(status_code=-(1 << 70)),
        PageFilter(site="a\x00b"),
        PageFilter(site="\ud800"),
        PageFilter(reason="\udcff"),
    ],
)
def test_what_no_store_can_hold_is_on_no_page(wanted: PageFilter) -> None:
    assert not can_match(wanted)
    assert not matches(page(), wanted)


def test_evidence_belongs_to_the_page_that_it_is_written_with() -> None:
    one, other = visit(1), visit(2)

    check([one, other, Record(), Record(decisions=(decision(),))])
    with pytest.raises(ValueError, match="evidence of another visit than fetch-1"):
        check([other, replace(one, evidence=other.evidence)])
    with pytest.raises(ValueError, match="evidence of another visit than None"):
        check([Record(evidence=one.evidence)])
    with pytest.raises(ValueError, match="two pieces of evidence of one kind for fetch-1"):
        check([replace(one, evidence=one.evidence * 2)])


def test_half_a_character_is_mended_wherever_it_is() -> None:
    proof = Evidence("f", "u\ud800", HttpHeaders((("\udcff", "é"),)), {"\ud800": "\ud83d\ude00", "n": 1})
    made = Record(page(title="\ud800", directives=("\udfff",)), (proof,), (decision(rule="\ud800"),))

    whole = mended([made])

    assert "\\ud" not in ascii(whole)
    assert whole[0].evidence == (
        Evidence("f", "u\ufffd", HttpHeaders((("\ufffd", "é"),)), {"\ufffd": "\ufffd\ufffd", "n": 1}),
    )
    assert whole[0].page == page(title="\ufffd", directives=("\ufffd",))


def test_what_is_whole_is_left_as_it_is() -> None:
    made = Record(visit(1, HOME, title="日本 \x00 \U0001f577").page, visit(1).evidence, (decision(HOME),))

    assert mended(made) is made

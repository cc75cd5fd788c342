"""Ways to make a crawl's records tell of an impolite one, each as small as it can be."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from outrider.model.asked import Asked, AskedFor
from outrider.model.codec import to_json
from outrider.model.site import BreakerState
from outrider.stores.asked_rows import requests_of


@contextmanager
def database(home: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(home / "crawl.db")) as connection:
        yield connection
        connection.commit()


def requests(home: Path) -> list[Asked]:
    with database(home) as db:
        found = [one for (text,) in db.execute("SELECT requests FROM request_batches") for one in requests_of(text)]
    return sorted(found, key=lambda one: (one.site, one.at))


def rewrite(home: Path, change: Callable[[list[Asked]], list[Asked]]) -> None:
    changed = change(requests(home))
    with database(home) as db:
        db.execute("DELETE FROM request_batches")
        db.execute("INSERT INTO request_batches (key, requests) VALUES (1, ?)", (to_json(changed).decode(),))


def edit(home: Path, **fields: object) -> Asked:
    """Change the third page that was asked of the first site; as it is now."""
    chosen = a_page(requests(home))
    edited = replace(chosen, **fields)
    rewrite(home, lambda all_: [edited if one == chosen else one for one in all_])
    return edited


def a_page(found: list[Asked]) -> Asked:
    return [one for one in found if one.kind is AskedFor.PAGE and one.site == found[0].site][2]


def add(home: Path, *new: Asked) -> None:
    rewrite(home, lambda all_: [*all_, *new])


def sql(home: Path, statement: str, *values: object) -> None:
    with database(home) as db:
        db.execute(statement, values)


def set_manners(home: Path, **changes: object) -> None:
    """As if the settings had been others, under the same name."""
    with database(home) as db:
        ((name, said),) = db.execute("SELECT name, said FROM manners").fetchall()
        db.execute("UPDATE manners SET said = ? WHERE name = ?", (json.dumps({**json.loads(said), **changes}), name))


# each returns the URL that must be named, if it is one


def ask_too_soon(home: Path) -> str:
    chosen = a_page(requests(home))
    early = chosen.at - 0.015
    return edit(home, at=early, not_before=early, ended_at=chosen.ended_at - 0.015).url


def ask_before_the_turn(home: Path) -> str:
    chosen = a_page(requests(home))
    return edit(home, not_before=chosen.at + 0.5).url


def ask_two_at_once(home: Path) -> str:
    chosen = a_page(requests(home))
    add(home, replace(chosen, at=chosen.at + 0.001, turn=99, url=f"{chosen.url}?twice"))
    return f"{chosen.url}?twice"


def promise_too_little(home: Path) -> str:
    return edit(home, interval=0.001).url


def forget_the_settings(home: Path) -> str:
    return edit(home, manners="unknown").url


def ignore_a_crawl_delay(home: Path) -> None:
    _say_in_robots(home, "Crawl-delay: 5")


def _say_in_robots(home: Path, line: str) -> None:
    """To all sites."""
    sql(home, "INSERT INTO robots_bodies (digest, body) VALUES ('new', ?)", f"User-agent: *\n{line}\n".encode())
    sql(home, "UPDATE robots_answers SET status = 'found', digest = 'new'")


def ignore_a_429(home: Path) -> None:
    edit(home, status=429, reason="rate_limited", retry_after=30.0)


def ignore_a_503_with_retry_after(home: Path) -> None:
    edit(home, status=503, reason="http_503", retry_after=1.0)


def ask_while_the_breaker_is_open(home: Path) -> str:
    return edit(home, breaker=BreakerState.OPEN, probe_at=0.0, openings=1).url


def ask_between_opening_and_probe(home: Path) -> str:
    last = requests(home)[-1]
    probe = _probe(last, at=last.at + 40.0, probe_at=last.at + 0.02)
    add(home, probe)
    return last.url


def ask_after_a_failed_probe(home: Path) -> str:
    last = requests(home)[-1]
    probe = _probe(last, at=last.at + 100.0, probe_at=last.at + 99.0)
    after = replace(last, at=last.at + 110.0, not_before=last.at + 110.0, ended_at=last.at + 111.0)
    add(home, probe, after)
    return last.url


def probe_too_early(home: Path) -> str:
    last = requests(home)[-1]
    probe = _probe(last, at=last.at + 100.0, probe_at=last.at + 107.0)
    add(home, probe)
    return probe.url


def _probe(last: Asked, at: float, probe_at: float) -> Asked:
    return replace(
        last,
        at=at,
        not_before=at,
        ended_at=at + 0.1,
        visit="probe",
        method="HEAD",
        kind=AskedFor.PROBE,
        status=None,
        reason="connect_refused",
        breaker=BreakerState.HALF_OPEN,
        probe_at=probe_at,
        openings=1,
    )


def ask_for_what_is_disallowed(home: Path) -> str:
    chosen = a_page(requests(home))
    path = chosen.url.split("/", 3)[3]
    _say_in_robots(home, f"Disallow: /{path}$")
    return chosen.url


def ask_for_a_status_unasked(home: Path) -> str:
    return edit(home, kind=AskedFor.STATUS, method="HEAD").url


def ask_without_robots_txt(home: Path) -> None:
    sql(home, "DELETE FROM robots_answers")


def ask_with_an_old_robots_txt(home: Path) -> None:
    sql(home, "UPDATE robots_answers SET fetched_at = 1, expires_at = 2")


def ask_another_site(home: Path) -> str:
    return edit(home, url="http://stranger.test/").url


def ask_a_paused_site(home: Path) -> None:
    first = requests(home)[0]
    _order(home, {"type": "site_ordered", "at": first.at - 3_600, "site": first.site, "paused": True})


def ignore_an_ordered_delay(home: Path) -> None:
    first = requests(home)[0]
    _order(home, {"type": "site_ordered", "at": first.at - 3_600, "site": first.site, "delay": 60.0})


def _order(home: Path, event: dict[str, object]) -> None:
    [path, *_] = sorted((home / "events").glob("events-*.jsonl"))
    path.write_text(path.read_text() + json.dumps(event) + "\n")


def drop_a_request(home: Path) -> None:
    chosen = a_page(requests(home))
    rewrite(home, lambda all_: [one for one in all_ if one != chosen])


def skip_what_is_allowed(home: Path) -> str:
    url = a_page(requests(home)).url
    sql(home, "UPDATE pages SET reason = 'robots_disallowed' WHERE final_url = ?", url)
    return url


def fetch_too_many_pages(home: Path) -> None:
    set_manners(home, max_pages=3)


def fetch_too_many_of_a_site(home: Path) -> None:
    set_manners(home, max_site_pages=2)


def go_too_deep(home: Path) -> None:
    set_manners(home, max_depth=0)


def follow_too_many_redirects(home: Path) -> None:
    sql(home, "UPDATE pages SET redirect_count = 6 WHERE id = 2")


def try_too_often(home: Path) -> None:
    sql(home, "UPDATE pages SET retries = 4 WHERE id = 2")


def read_too_much(home: Path) -> None:
    sql(home, "UPDATE pages SET wire_length = 99999999 WHERE id = 2")


def open_the_ledger(home: Path) -> None:
    sql(home, "UPDATE counts SET n = n + 1 WHERE name = 'discovered'")


def fetch_without_a_record(home: Path) -> None:
    sql(home, "DELETE FROM pages WHERE id < 10")

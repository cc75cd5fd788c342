"""Who may look and who may act, decided from the head of a request."""

import pytest

from outrider.errors import ConfigError
from outrider.web.access import COOKIE, Access, Refusal, is_loopback, new_token, token_for

TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize(
    ("listening", "host", "is_served"),
    [
        ("127.0.0.1", "127.0.0.1:8787", True),
        ("127.0.0.1", "localhost:8787", True),
        ("127.0.0.1", "[::1]:8787", True),
        ("127.0.0.1", "localhost", False),
        ("127.0.0.1", "localhost:80", False),
        ("127.0.0.1", "localhost.evil.example:8787", False),
        ("127.0.0.1", "10.1.2.3:8787", False),
        ("::1", "[::1]:8787", True),
        ("0.0.0.0", "10.1.2.3:8787", True),  # noqa: S104 - nothing listens here
        ("0.0.0.0", "localhost:8787", True),  # noqa: S104 - the same
        ("0.0.0.0", "evil.example:8787", False),  # noqa: S104 - the same
        ("::", "[fd00::1]:8787", True),
        ("10.1.2.3", "10.1.2.3:8787", True),
        ("10.1.2.3", "localhost:8787", False),
        ("10.1.2.3", "named.example", True),
        ("10.1.2.3", "named.example:443", True),
        ("10.1.2.3", "", False),
    ],
)
def test_only_names_and_addresses_of_ours_are_served(
    listening: str,
    host: str,
    is_served: bool,  # noqa: FBT001 - a table
) -> None:
    access = Access(listening, 8787, names=("Named.Example",))

    refusal = access.refusal("GET", "/", {"host": host}, {})

    assert (refusal is None) is is_served
    assert is_served or refusal is Refusal.WRONG_HOST


def test_the_port_of_the_web_needs_not_be_said() -> None:
    assert Access("127.0.0.1", 80).refusal("GET", "/", {"host": "localhost"}, {}) is None


@pytest.mark.parametrize(
    ("path", "is_open"),
    [("/login", True), ("/static/style.css", True), ("/", False), ("/loginx", False), ("/static", False)],
)
def test_only_the_way_in_is_open(path: str, is_open: bool) -> None:  # noqa: FBT001 - a table
    access = Access("127.0.0.1", 8787, TOKEN)

    assert (access.refusal("GET", path, {"host": "localhost:8787"}, {}) is None) is is_open


def test_a_cookie_and_a_form_are_known_again_and_are_no_token() -> None:
    access, other = Access("127.0.0.1", 1, TOKEN), Access("127.0.0.1", 1, TOKEN)
    head = {"host": "localhost:1"}

    assert access.refusal("GET", "/", head, {COOKIE: access.cookie}) is None
    assert access.refusal("GET", "/", head, {COOKIE: other.cookie}) is Refusal.NOT_KNOWN
    assert access.refusal("GET", "/", head, {COOKIE: access.form_token}) is Refusal.NOT_KNOWN
    assert access.is_form_token(access.form_token)
    assert not access.is_form_token(other.form_token)
    assert not access.is_form_token(None)
    assert not access.is_token(access.cookie)
    assert not Access("127.0.0.1", 1).is_token("")


@pytest.mark.parametrize(
    "given", ["short", "", "with blanks in it, many", "geheim-geheim-geheim-ü", "a\nnew-line-in-it"]
)
def test_a_token_that_one_could_guess_or_not_send_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="at least 16"):
        token_for("127.0.0.1", given)


def test_others_need_a_token_and_this_machine_does_not() -> None:
    assert token_for("127.0.0.1", None) is None
    assert token_for("::1", None) is None
    assert token_for("10.1.2.3", TOKEN) == TOKEN
    with pytest.raises(ConfigError, match="can be reached by others"):
        token_for("10.1.2.3", None)


def test_a_new_token_is_long_and_never_the_same() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert token_for("10.1.2.3", new_token())


@pytest.mark.parametrize(
    ("host", "expected"), [("127.8.9.1", True), ("::1", True), ("localhost", True), ("a.b", False)]
)
def test_loopback_is_this_machine(host: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert is_loopback(host) is expected

"""What did we send? That libcurl writes these very bytes is shown over a socket, in the integration tests."""

import pytest

from outrider.errors import ConfigError
from outrider.fetch.sent import RequestHeads
from outrider.model.outcome import Validators
from outrider.model.url import Url

HEADS = RequestHeads("us/1.0 (+https://us.test)")


def lines_of(head: bytes) -> list[bytes]:
    assert head.endswith(b"\r\n\r\n")
    return head.removesuffix(b"\r\n\r\n").split(b"\r\n")


def test_a_request_is_its_line_its_host_and_what_we_always_say() -> None:
    lines = lines_of(HEADS.of(Url("http://example.com:8080/a?b=c"), None))

    assert lines[:2] == [b"GET /a?b=c HTTP/1.1", b"Host: example.com:8080"]
    assert b"User-Agent: us/1.0 (+https://us.test)" in lines
    assert not [line for line in lines if line.startswith(b"If-")]


@pytest.mark.parametrize(
    ("validators", "conditions"),
    [
        (Validators('"1"'), [b'If-None-Match: "1"']),
        (Validators(last_modified="yesterday"), [b"If-Modified-Since: yesterday"]),
        (Validators('"1"', "yesterday"), [b'If-None-Match: "1"', b"If-Modified-Since: yesterday"]),
        (Validators('"1"\r\nX: y', "yesterday"), [b"If-Modified-Since: yesterday"]),
        (Validators(), []),
    ],
)
def test_conditions_are_what_we_have_and_can_send(validators: Validators, conditions: list[bytes]) -> None:
    lines = lines_of(HEADS.of(Url("http://example.com/"), validators))

    assert [line for line in lines if line.startswith(b"If-")] == conditions


def test_a_name_that_breaks_out_of_its_line_is_a_mistake_of_ours() -> None:
    with pytest.raises(ConfigError, match="User-Agent"):
        RequestHeads("us\r\nX: y")

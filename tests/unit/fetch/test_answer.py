"""Lines and chunks in, a header block and a capped body out. Any cut of the body gives the same."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from outrider.fetch.answer import Answer, Stop


def answer(*lines: bytes, cap: int = 100, wanted: frozenset[str] = frozenset(), ready: bool = True) -> Answer:
    fresh = Answer(max_header_bytes=1_000)
    fresh.reset(cap, wanted)
    fresh.ready = ready
    for line in lines:
        fresh.add_line(line)
    return fresh


def test_a_proxys_answer_is_not_the_sites() -> None:
    tunnel = answer(b"HTTP/1.1 200 Connection established\r\n", b"Via: proxy\r\n", b"\r\n", ready=False)

    tunnel.ready = True
    for line in (b"HTTP/1.1 404 No\r\n", b"A: b\r\n", b"\r\n"):
        tunnel.add_line(line)

    assert (tunnel.status, tunnel.headers()) == (404, (("A", "b"),))


def test_a_folded_line_continues_the_value_before_it() -> None:
    folded = answer(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b" \t c\r\n", b"D:\r\n", b" e\r\n", b"\r\n")

    assert folded.headers() == (("A", "b c"), ("D", "e"))


def test_hints_without_end_are_too_many_headers() -> None:
    hints = answer(*[b"HTTP/1.1 103 Hint\r\n", b"\r\n"] * 60)

    assert hints.stopped is Stop.HEADERS


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6), st.integers(0, 200))
def test_the_body_does_not_depend_on_how_it_is_cut(body: bytes, cuts: list[int], cap: int) -> None:
    whole = answer(b"HTTP/1.1 200 OK\r\n", b"\r\n", cap=cap)
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})

    for start, end in pairwise(edges):
        if whole.add_chunk(body[start:end]) is not None:
            break

    assert whole.body() == body[:cap]
    assert (whole.stopped is Stop.CAP) == (len(body) > cap)

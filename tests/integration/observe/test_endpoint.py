"""Who watches from outside gets an answer, whatever others do to the endpoint."""

import asyncio

import pytest

from outrider.errors import ConfigError
from outrider.observe import endpoint
from outrider.observe.endpoint import Pulse, Watch, serve

LOOPBACK = "127.0.0.1:0"
WELL = Watch(metrics=lambda: b"one 1\n", ready=lambda: None, alive=lambda: True)


async def told(address: str | None, request: str | bytes) -> str:
    """Everything that comes back, until the other side hangs up."""
    reader, writer = await connected(address)
    try:
        writer.write(request.encode() if isinstance(request, str) else request)
        async with asyncio.timeout(10):
            return (await reader.read()).decode()
    finally:
        writer.close()


async def connected(address: str | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = (address or "").rpartition(":")
    return await asyncio.open_connection(host.strip("[]"), int(port))


def get(path: str, method: str = "GET") -> str:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_metrics_are_served_in_the_text_format() -> None:
    async with serve(LOOPBACK, WELL) as address:
        answer = await told(address, get("/metrics"))

    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 OK\r\n")
    assert "Content-Type: text/plain; version=0.0.4; charset=utf-8" in head
    assert (body, "Content-Length: 6" in head) == ("one 1\n", True)


@pytest.mark.parametrize(
    ("path", "watch", "status", "body"),
    [
        ("/healthz", WELL, "200 OK", "alive\n"),
        (
            "/healthz",
            Watch(WELL.metrics, WELL.ready, lambda: False),
            "503 Service Unavailable",
            "nothing has been heard",
        ),
        ("/readyz", WELL, "200 OK", "ready\n"),
        (
            "/readyz",
            Watch(WELL.metrics, lambda: "a store is away:\r\nX: y", WELL.alive),
            "503 Service Unavailable",
            "a store is away: X: y\n",
        ),
        ("/metrics?name[]=one", WELL, "200 OK", "one 1\n"),
        ("/", WELL, "404 Not Found", "Not Found\n"),
        ("/metrics/../healthz", WELL, "404 Not Found", "Not Found\n"),
    ],
)
async def test_each_path_tells_its_own(path: str, watch: Watch, status: str, body: str) -> None:
    async with serve(LOOPBACK, watch) as address:
        answer = await told(address, get(path))

    head, _, rest = answer.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status}\r\n")
    assert rest.startswith(body)


async def test_head_gets_the_same_head_and_no_body() -> None:
    async with serve(LOOPBACK, WELL) as address:
        answer = await told(address, get("/metrics", "HEAD"))

    assert answer.startswith("HTTP/1.1 200 OK\r\n")
    assert "Content-Length: 6\r\n" in answer
    assert answer.endswith("\r\n\r\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
async def test_other_methods_are_told_which_ones_there_are(method: str) -> None:
    async with serve(LOOPBACK, WELL) as address:
        answer = await told(address, get("/metrics", method))

    assert answer.startswith("HTTP/1.1 405 Method Not Allowed\r\n")
    assert "Allow: GET, HEAD\r\n" in answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET /metrics\r\n\r\n", 400),
        (b"get /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/2.0\r\n\r\n", 400),
        (b"GET http://127.0.0.1/metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 9_000, 431),
    ],
)
async def test_what_is_no_request_is_refused_and_hung_up_on(request_bytes: bytes, status: int) -> None:
    async with serve(LOOPBACK, WELL) as address:
        answer = await told(address, request_bytes)

    assert answer.startswith(f"HTTP/1.1 {status} ")


async def test_nothing_is_said_about_who_answers() -> None:
    async with serve(LOOPBACK, WELL) as address:
        answers = [await told(address, get(path)) for path in ("/metrics", "/nothing")]

    assert all("server" not in answer.lower() and "python" not in answer.lower() for answer in answers)


async def test_a_request_may_come_in_pieces() -> None:
    async with serve(LOOPBACK, WELL) as address:
        reader, writer = await connected(address)
        for piece in ("GET /hea", "lthz HTTP/1.1\r", "\n\r", "\n"):
            writer.write(piece.encode())
            await writer.drain()
        answer = await reader.read()
        writer.close()

    assert answer.endswith(b"alive\n")


async def test_many_who_say_nothing_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all places are taken, the one that has waited longest goes."""
    monkeypatch.setattr(endpoint, "_MOST_CONNECTIONS", 4)
    async with serve(LOOPBACK, WELL) as address:
        silent = [await connected(address) for _ in range(12)]

        answer = await told(address, get("/healthz"))
        dropped = await silent[0][0].read()

        assert (answer[-6:], dropped) == ("alive\n", b"")
        for _, writer in silent:
            writer.close()


async def test_who_says_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_PATIENCE", 0.05)
    async with serve(LOOPBACK, WELL) as address:
        answers = await asyncio.gather(told(address, b""), told(address, b"GET /metr"))

    assert list(answers) == ["", ""]


async def test_who_does_not_read_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is larger than what the system buffers; it is not kept for ever."""
    monkeypatch.setattr(endpoint, "_PATIENCE", 0.2)
    huge = Watch(lambda: b"x" * 50_000_000, WELL.ready, WELL.alive)
    async with serve(LOOPBACK, huge) as address:
        _, writer = await connected(address)
        writer.write(get("/metrics").encode())

        with pytest.raises(ConnectionError):
            await say_more(writer)

        writer.transport.abort()


async def say_more(writer: asyncio.StreamWriter) -> None:
    """Until that fails, for a while."""
    for _ in range(1_000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def test_the_end_does_not_wait_for_those_who_are_connected() -> None:
    async with asyncio.timeout(5):
        async with serve(LOOPBACK, WELL) as address:
            reader, writer = await connected(address)
            await told(address, get("/healthz"))
        assert await reader.read() == b""
        writer.close()

    with pytest.raises(OSError, match=r"(?i)connect"):
        await connected(address)


async def test_it_answers_on_ipv6() -> None:
    async with serve("[::1]:0", WELL) as address:
        answer = await told(address, get("/readyz"))

    assert address is not None
    assert address.startswith("[::1]:")
    assert answer.endswith("ready\n")


async def test_none_is_nowhere() -> None:
    async with serve(None, WELL) as address:
        assert address is None


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
async def test_a_port_that_is_taken_is_said_with_the_key_and_a_way_out(host: str) -> None:
    async with serve(f"{host}:0", WELL) as taken:
        with pytest.raises(ConfigError) as caught:
            async with serve(taken, WELL):
                pass

    sentence = str(caught.value)
    assert f"metrics_address = '{taken}'" in sentence
    assert "another program listens there" in sentence
    assert "port 0" in sentence


async def test_an_address_that_nobody_chose_moves_to_a_free_port() -> None:
    async with serve(LOOPBACK, WELL) as taken, serve(taken, WELL, may_move=True) as moved:
        answer = await told(moved, get("/healthz"))

    assert moved != taken
    assert answer.endswith("alive\n")


async def test_an_address_of_another_machine_is_refused_before_anything_is_sent() -> None:
    """127.0.0.0/8 is all ours; this one is of nobody. Binding sends nothing."""
    with pytest.raises(ConfigError, match="metrics_address = '\\[::2\\]:0'"):
        async with serve("[::2]:0", WELL):
            pass


def test_a_pulse_stops_when_nobody_beats() -> None:
    now = [100.0]
    pulse = Pulse(lambda: now[0], most=30.0)

    now[0] += 30.0
    still = pulse.is_alive()
    now[0] += 0.1
    stopped = pulse.is_alive()
    pulse.beat()

    assert (still, stopped, pulse.is_alive()) == (True, False, True)


async def test_the_port_can_be_used_again_at_once() -> None:
    async with serve(LOOPBACK, WELL) as address:
        await told(address, get("/healthz"))

    async with serve(address, WELL) as again:
        assert again == address


def test_it_answers_on_uvloop_as_the_commands_use_it() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def asked() -> str:
        async with serve(LOOPBACK, WELL) as address:
            return await told(address, get("/healthz"))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answer = runner.run(asked())

    assert answer.startswith("HTTP/1.1 200 ")

r"""A web on loopback that can be trusted to misbehave: for tests, for the demo, for benches.

    sites = {
        "shop.test": {
            "/": page('<a href="/old">old</a>', etag='"1"'),
            "/robots.txt": text("User-agent: *\nDisallow: /private"),
            "/down": flaky([503, 503]),
            **chain("/old", hops=3),
        },
        "evil.test": {"/": bomb("gzip"), "/cut": reset("half"), "/late": slow_first_byte(asyncio.Event())},
    }
    async with WebFarm(sites, certificates=Certificates(good=sites)) as farm:
        await crawl(farm.url("shop.test", "/"), farm.url("evil.test", "/cut", tls=True))
    assert [asked.target for asked in farm.asked(host="shop.test")][0] == "/robots.txt"

Host names live in the Host header and in SNI only: the client must be told that every `*.test` is 127.0.0.1. `kinds`
says what a behaviour is, `behaviours`, `waits`, `faults` and `encodings` are the catalogue, `holes` the ports where
nobody answers, `generated` a web of any size.
"""

from outrider.testing.webfarm.behaviours import (
    Elsewhere,
    chain,
    empty,
    flaky,
    in_charset,
    in_turn,
    loop,
    page,
    redirect,
    refuses_head,
    status,
    text,
    too_many,
)
from outrider.testing.webfarm.certificates import Certificates, Flaw
from outrider.testing.webfarm.encodings import bomb, encoded, mislabelled, truncated
from outrider.testing.webfarm.farm import WebFarm
from outrider.testing.webfarm.faults import (
    broken_chunks,
    close_early,
    endless_body,
    endless_headers,
    garbage_status_line,
    hang,
    header_bomb,
    longer_than_said,
    no_headers_end,
    reset,
    script,
    silent_close,
)
from outrider.testing.webfarm.generated import farm_of, generated, reachable
from outrider.testing.webfarm.holes import blackhole, blurts_out, never_speaks, refused_port
from outrider.testing.webfarm.kinds import Behaviour, Choice, Instant, Place, Scripted, Wire
from outrider.testing.webfarm.referee import Connections
from outrider.testing.webfarm.waits import closed_when_idle, dribble, left_stale, server_sent_events, slow_first_byte
from outrider.testing.webfarm.wire import Asked, Reply

__all__ = [
    "Asked",
    "Behaviour",
    "Certificates",
    "Choice",
    "Connections",
    "Elsewhere",
    "Flaw",
    "Instant",
    "Place",
    "Reply",
    "Scripted",
    "WebFarm",
    "Wire",
    "blackhole",
    "blurts_out",
    "bomb",
    "broken_chunks",
    "chain",
    "close_early",
    "closed_when_idle",
    "dribble",
    "empty",
    "encoded",
    "endless_body",
    "endless_headers",
    "farm_of",
    "flaky",
    "garbage_status_line",
    "generated",
    "hang",
    "header_bomb",
    "in_charset",
    "in_turn",
    "left_stale",
    "longer_than_said",
    "loop",
    "mislabelled",
    "never_speaks",
    "no_headers_end",
    "page",
    "reachable",
    "redirect",
    "refused_port",
    "refuses_head",
    "reset",
    "script",
    "server_sent_events",
    "silent_close",
    "slow_first_byte",
    "status",
    "text",
    "too_many",
    "truncated",
]

"""A world on real sockets: every request is looked up in the description, answered and logged."""

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from outrider.testing.webfarm.certificates import Certificates
from outrider.testing.webfarm.doorman import bind, bind_all
from outrider.testing.webfarm.farm import WebFarm
from outrider.testing.webfarm.kinds import Behaviour
from outrider.testing.webfarm.wire import Asked
from outrider.testing.webfarm.world import NOBODY, World
from outrider.testing.webfarm.world_answers import Answer, answer, cut_off, said
from outrider.testing.webfarm.world_log import Logged, logged
from outrider.testing.webfarm.world_nodes import AtFirst, Door
from outrider.testing.webfarm.world_site import WorldSite

_BACKLOG = 4096


class WorldFarm(WebFarm):
    """A farm whose sites are a world's. `tell` hears of every request, unless it is None.

    `shared`: other processes may listen on the same port, and the kernel deals out the clients.
    """

    def __init__(
        self,
        world: World,
        *,
        tell: Callable[[Logged], None] | None = None,
        port: int = 0,
        tls_port: int = 0,
        certificates: Certificates | None = None,
        shared: bool = False,
    ) -> None:
        super().__init__({}, port=port, tls_port=tls_port, certificates=certificates, keeps_log=False)
        if shared and not world.is_steady:
            raise ValueError("a world with hostile sites remembers who asked: one process must serve it alone")
        self.world = world
        self._tell = tell
        self._shared = shared
        self._turns: Counter[tuple[str, str]] = Counter()
        self._first_asked_at: dict[str, float] = {}

    def behaviour_for(self, asked: Asked) -> Behaviour:
        said = self._answer(asked)
        if self._tell is not None:
            self._tell(logged(asked, said.status, said.retry_after))
        return said.behaviour

    def bind(self, addresses: Sequence[str], port: int) -> Iterable[socket.socket]:
        if not self._shared:
            listeners = bind_all(addresses, port)
            # Bound and not listening, so that nobody else can answer for the sites that refuse.
            self._doormen.callback(bind(NOBODY, listeners[0].getsockname()[1]).close)
            return listeners
        listener = socket.socket()
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((addresses[0], port))
        listener.listen(_BACKLOG)
        return [listener]

    def _answer(self, asked: Asked) -> Answer:
        site = self.world.site(asked.host)
        if site is None:
            return said(421)
        stopped = site.door and self._at_the_door(site.door, site, asked)
        if stopped:
            return stopped
        node = site.node(asked.target)
        if isinstance(node, AtFirst):
            if self._turn(asked.host, asked.target) < node.times:
                return said(node.status, node.retry_after)
            node = node.then
        return answer(node, asked, self.place)

    def _at_the_door(self, door: Door, site: WorldSite, asked: Asked) -> Answer | None:
        match door.kind:
            case "dead" | "refused":
                # The refused ones have another address; who comes here all the same is not let in either.
                return cut_off()
            case "requests":
                return said(503) if self._turn(site.host, "") < door.times else None
            case "seconds":
                first = self._first_asked_at.setdefault(site.host, asked.monotonic_at)
                return cut_off() if asked.monotonic_at - first < door.seconds else None
            case "busy":
                is_page = asked.target != "/robots.txt"
                return said(429, door.retry_after) if is_page and self._turn(site.host, "") < door.times else None

    def _turn(self, host: str, target: str) -> int:
        self._turns[host, target] += 1
        return self._turns[host, target] - 1

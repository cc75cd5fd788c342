"""How many are there of each state? The counters of all buckets, added up; none is missing, or all would be wrong."""

from collections import defaultdict

from outrider.model.ledger import Census
from outrider.model.reason import Reason
from outrider.stores.redis.buckets import MARK, Buckets
from outrider.stores.redis.server import Server


async def count_all(server: Server, buckets: Buckets) -> Census:
    calls = {bucket: ("HGETALL", server.key(bucket, "c")) for bucket in buckets.every}
    counts: defaultdict[str, int] = defaultdict(int)
    for reply in (await server.command_each(calls)).values():
        if reply.pop(MARK.encode(), b"").decode() != server.mark:
            raise server.gone()
        for name, value in reply.items():
            counts[name.decode()] += int(value)
    if counts["fetched"] < 0:
        # Of a hash that was owed again nobody knew how it had ended; taken for fetched, it must have been an alias.
        counts["alias"] += counts["fetched"]
        counts["fetched"] = 0
    reasons: dict[str, dict[Reason, int]] = {"s": {}, "d": {}}
    for name, value in counts.items():
        state, colon, reason = name.partition(":")
        if colon and state in reasons and value:
            reasons[state][Reason(reason)] = value
    return Census(
        discovered=counts["k:known"] + counts["x:known"],
        pending=counts["pending"],
        waiting=counts["waiting"],
        fetched=counts["fetched"],
        alias=counts["alias"],
        skipped=reasons["s"],
        dead=reasons["d"],
        sites=counts["sites"],
        leased=counts["leased"],
        stale=counts["stale"],
    )

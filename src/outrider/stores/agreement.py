"""What must all who open a store agree on? It is written down once, when the store is made, and kept by the store.

Hashes made under other rules would find nothing again: every URL would be new, and fetched twice. The seed of those
hashes is the store's secret; no message shows it.
"""

import secrets
from collections.abc import Mapping

from msgspec.structs import replace

from outrider.errors import SchemaMismatch
from outrider.ports import FrontierRules


def with_seed(rules: FrontierRules) -> FrontierRules:
    """For a store that is being made: a seed of its own, unless one was given."""
    if rules.identity.seed:
        return rules
    return replace(rules, identity=replace(rules.identity, seed=secrets.randbits(63) or 1))


def made_under(rules: FrontierRules) -> dict[str, str]:
    """What a store writes down."""
    identity = rules.identity
    return {
        "seed": str(identity.seed),
        "strip_tracking": str(identity.strip_tracking).lower(),
        "sort_query": str(identity.sort_query).lower(),
        "site_by": rules.site_by,
    }


def in_force(place: object, made: Mapping[str, str], given: FrontierRules) -> FrontierRules:
    """The given rules, with the seed that the store keeps. Raises `SchemaMismatch`, which names what differs."""
    if not given.identity.seed:
        given = replace(given, identity=replace(given.identity, seed=int(made["seed"])))
    others = [
        "another seed" if name == "seed" else f"{name}={made.get(name)} where this crawl has {value}"
        for name, value in made_under(given).items()
        if made.get(name) != value
    ]
    if others:
        raise SchemaMismatch(f"{place}: made with {', '.join(others)}; open it with those settings, or begin afresh")
    return given

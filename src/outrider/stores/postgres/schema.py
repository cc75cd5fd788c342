"""Is this store ours? Made when it is not there, refused when it belongs to another version or another identity."""

import hashlib
from typing import Final

from psycopg import sql

from outrider.errors import SchemaMismatch
from outrider.ports import FrontierRules
from outrider.stores.postgres.database import Connection
from outrider.stores.postgres.statements import SCHEMA

VERSION: Final = 1


async def prepare(connection: Connection, schema: str, rules: FrontierRules) -> None:
    """All or nothing, by one at a time: many workers start at once."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [f"outrider {schema}"])
        if not await _is_there(connection, schema):
            # Asked first, since a user who may not create schemas may well use one that was made for them.
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            await connection.execute(SCHEMA)
            async with connection.cursor() as cursor:
                await cursor.executemany("INSERT INTO meta VALUES (%s, %s)", list(_made_under(rules).items()))
        cursor = await connection.execute("SELECT name, value FROM meta")
        _compare(schema, dict(await cursor.fetchall()), _made_under(rules))


async def _is_there(connection: Connection, schema: str) -> bool:
    cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{schema}.meta"])
    found = await cursor.fetchone()
    return found is not None and bool(found[0])


def _made_under(rules: FrontierRules) -> dict[str, str]:
    """The seed is a secret, so that only its digest is kept."""
    identity = rules.identity
    return {
        "version": str(VERSION),
        "seed": hashlib.sha256(str(identity.seed).encode()).hexdigest(),
        "strip_tracking": str(identity.strip_tracking).lower(),
        "sort_query": str(identity.sort_query).lower(),
        "site_by": rules.site_by,
    }


def _compare(schema: str, stored: dict[str, str], ours: dict[str, str]) -> None:
    version = stored.get("version", "")
    if version != ours["version"]:
        raise SchemaMismatch(
            f"the frontier in schema {schema} has version {version}, this program reads {VERSION}: migrate first"
        )
    others = [
        "another seed" if name == "seed" else f"{name}={stored.get(name)} (here: {value})"
        for name, value in ours.items()
        if stored.get(name) != value
    ]
    if others:
        raise SchemaMismatch(f"the frontier in schema {schema} was made with {', '.join(others)}")

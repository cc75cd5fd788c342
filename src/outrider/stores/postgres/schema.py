"""Is this store ours? A fresh one is made, an older one brought forward; one of a newer version is refused."""

from typing import Final

from psycopg import sql

from outrider.errors import ConfigError, SchemaMismatch
from outrider.ports import FrontierRules
from outrider.stores.agreement import in_force, made_under, with_seed
from outrider.stores.postgres.database import Connection
from outrider.stores.postgres.statements import STEPS

VERSION: Final = len(STEPS)


async def prepare(
    connection: Connection, schema: str, rules: FrontierRules, *, must_exist: bool = False
) -> FrontierRules:
    """The rules in force. All or nothing, by one at a time: many workers start at once."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [f"outrider {schema}"])
        if not await _is_there(connection, schema):
            if must_exist:
                raise ConfigError(f"there is no frontier in schema {schema}")
            # Asked first, since a user who may not create schemas may well use one that was made for them.
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            await _bring_forward(connection, 0)
            async with connection.cursor() as cursor:
                made = {"version": str(VERSION), **made_under(with_seed(rules))}
                await cursor.executemany("INSERT INTO meta VALUES (%s, %s)", list(made.items()))
        stored = await _stored(connection)
        version = stored.get("version", "")
        if version.isdecimal() and 0 < int(version) < VERSION:
            await _bring_forward(connection, int(version))
            await connection.execute("UPDATE meta SET value = %s WHERE name = 'version'", [str(VERSION)])
            version = str(VERSION)
    if version != str(VERSION):
        raise SchemaMismatch(
            f"the frontier in schema {schema} has version {version}, this program reads {VERSION}: upgrade to open it"
        )
    return in_force(f"the frontier in schema {schema}", stored, rules)


async def _bring_forward(connection: Connection, version: int) -> None:
    for step in STEPS[version:]:
        await connection.execute(step)


async def _stored(connection: Connection) -> dict[str, str]:
    cursor = await connection.execute("SELECT name, value FROM meta")
    return dict(await cursor.fetchall())


async def _is_there(connection: Connection, schema: str) -> bool:
    cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{schema}.meta"])
    found = await cursor.fetchone()
    return found is not None and bool(found[0])

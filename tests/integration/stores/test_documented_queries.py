"""The questions of docs/how-to/query-the-records.md are ones that the tables understand."""

import re
import sqlite3
from pathlib import Path

from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "query-the-records.md"


async def test_every_documented_query_runs_on_the_file_of_a_crawl(tmp_path: Path) -> None:
    [block] = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    queries = [query for query in block.split(";") if query.strip()]
    place = f"sqlite://{tmp_path}/crawl.db"
    async with open_frontier(place, FrontierRules()), open_records(place):
        pass

    connection = sqlite3.connect(f"file:{tmp_path}/crawl.db?mode=ro", uri=True)
    try:
        answers = [connection.execute(query).fetchall() for query in queries]
    finally:
        connection.close()

    assert len(answers) >= 10

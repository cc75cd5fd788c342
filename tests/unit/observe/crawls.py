"""A crawl in full swing, for tests that tell of it."""

from outrider.model.activity import Activity
from outrider.model.ledger import Census
from outrider.model.progress import Counts, Progress
from outrider.model.reason import Reason

COUNTS = Counts(
    visits=15_000,
    pages=12_345,
    unchanged=100,
    moved=20,
    skipped=500,
    failed=300,
    retried=77,
    bytes=3_456_789_012,
    requests=16_001,
    links=900_000,
    urls=88_000,
    errors={
        Reason.HTTP_404: 200,
        Reason.READ_TIMEOUT: 50,
        Reason.UNSUPPORTED_CONTENT_TYPE: 20,
        Reason.TOO_MANY_REDIRECTS: 10,
        Reason.DNS_NOT_FOUND: 9,
        Reason.HTTP_500: 8,
        Reason.TLS_EXPIRED: 3,
    },
    activity={activity: 1_000.0 * number for number, activity in enumerate(Activity, 1)},
)
CENSUS = Census(
    discovered=88_000,
    pending=60_000,
    waiting=1_200,
    fetched=25_400,
    alias=100,
    skipped={Reason.OUT_OF_SCOPE: 1_000, Reason.ROBOTS_DISALLOWED: 100},
    dead={Reason.HTTP_404: 200},
    sites=2_500,
    leased=50,
)
BUSY = Progress(
    at=1_000_003_723.0,
    started_at=1_000_000_000.0,
    workers=4,
    in_flight=48,
    held=50,
    broken=3,
    census=CENSUS,
    counts=COUNTS,
    rate=98.23,
    limit_pages=20_000,
    memory=512 * 1024 * 1024,
    directory="/crawls/example",
)

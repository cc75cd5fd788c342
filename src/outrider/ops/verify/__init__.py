"""Do archive, index, records and events of a crawl say the same? Everything is read again and hashed again.

    index → ledger → events → records → archive     the order of reading

That is the order of writing turned round (body, records, events, settle, index): whatever is said later was written
before, so a crawl that runs meanwhile cannot make a sound directory look broken. What is not settled yet (an answer in
a file that is still open and that no index lists) is told apart, and is no violation.

Memory does not grow with the crawl: what has to be compared lies in a temporary SQLite database (see `tables`).
"""

from outrider.ops.verify.report import Check, Finding, Note, Remark, Report
from outrider.ops.verify.run import Home, Tell, verify

__all__ = ["Check", "Finding", "Home", "Note", "Remark", "Report", "Tell", "verify"]

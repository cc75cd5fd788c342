"""Was the crawl polite? Recomputed from what is on record, across all workers: nothing is asked of any site.

    ledger → requests → robots.txt → pages     the order of reading

What is promised on record is not believed: pauses are recomputed by the engine's own rules from the settings in force
(`Manners`), the robots.txt files and the answers. Requests are read in the order of their writing and sorted by site in
a temporary file, so memory grows with the number of sites and not with that of requests.

What cannot be seen: a request that a killed worker had sent and not yet written down. The pause behind it is kept all
the same, because a site rests after a lease that ran out; but no record can prove it.
"""

from outrider.ops.audit.report import Finding, Report, Rule, SiteLine, Violation
from outrider.ops.audit.run import Sources, Tell, audit

__all__ = ["Finding", "Report", "Rule", "SiteLine", "Sources", "Tell", "Violation", "audit"]

"""The keys of a whole crawl: how far it goes, what it follows, where it writes, and where it is looked at."""

from pydantic import Field

from outrider.settings import kinds
from outrider.settings.section import Section


class LimitKeys(Section):
    """Limits of a crawl"""

    max_pages: kinds.SomeCountOrNone = Field(default=None, description="Most pages fetched in all.")
    max_site_pages: kinds.SomeCountOrNone = Field(default=None, description="Most pages fetched from one site.")
    time_limit: kinds.SecondsOrNever = Field(default=None, description="Longest time that one run takes.")
    size_limit: kinds.SizeOrNone = Field(default=None, description="Most bytes of bodies, as sent, in all.")
    max_memory: kinds.MemoryOrNone = Field(default=None, description="Most memory of all processes together.")
    workers: kinds.CountOrAuto = Field(default=None, description="Worker processes; auto is one per core.")


class DiscoveryKeys(Section):
    """What is followed"""

    sitemaps: kinds.Switch = Field(default=True, description="Read the sitemaps that robots.txt names.")
    feeds: kinds.Switch = Field(default=True, description="Read the feeds that pages name.")
    follow_links: kinds.Switch = Field(
        default=True, description="Read pages for links; off, outrider extract does, or nobody."
    )
    respect_nofollow: kinds.Switch = Field(
        default=True, description="Do not follow links of which a page, a link or a header asks that."
    )
    trap_repeats: kinds.SomeCount = Field(
        default=3, description="A path that holds the same part more often is taken for a trap."
    )
    trap_segments: kinds.SomeCount = Field(default=20, description="Most parts of a path.")
    trap_parameters: kinds.SomeCount = Field(default=20, description="Most parameters of a query.")
    recrawl: kinds.Switch = Field(
        default=False, description="Visit fetched pages again, about as often as they change."
    )
    recrawl_sites: kinds.Intervals = Field(
        default={}, description="Time between two visits of a page, for single sites: example.org=3600."
    )


class PlaceKeys(Section):
    """Where a crawl writes"""

    frontier: kinds.StoreUrl = Field(default=None, description="The frontier; none is a file of the crawl's directory.")
    records: kinds.StoreUrl = Field(default=None, description="The records; none is a file of the crawl's directory.")
    contents: kinds.StoreUrl = Field(default=None, description="The contents; none is WARC files in the directory.")
    events: kinds.StoreUrl = Field(default=None, description="The events; none is JSON lines in the directory.")
    hosts: kinds.Addresses = Field(
        default={}, description="Addresses of names that the DNS does not know: *.test=127.0.0.1."
    )
    ca_file: kinds.FileOrNone = Field(
        default=None, description="Certificate authorities to trust, in place of the system's."
    )


class DashboardKeys(Section):
    """The dashboard"""

    serve_address: kinds.Listen = Field(
        default="127.0.0.1:8787",
        description="Where outrider serve listens; one that others can reach needs a token.",
    )
    serve_names: kinds.Hosts = Field(
        default=frozenset(), description="Names by which it may be asked for as well, as behind a proxy."
    )

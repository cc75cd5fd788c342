"""What becomes of proposed URLs?"""

# ruff: noqa: S101 - a contract asserts

from msgspec.structs import replace

from outrider.model.ledger import Added
from outrider.model.outcome import Hop, Validators
from outrider.model.reason import Reason
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, Base, page, task


class AddingContract(Base):
    async def test_a_url_is_admitted_once_whatever_the_batch(self, name: str, clock: FakeClock) -> None:
        """C26, S2-29, S2-31, H2-20: exact, also inside one batch, also under another spelling."""
        async with self.open(name, RULES, clock) as frontier:
            first = await frontier.add([page(1), page(2), page(1), task("http://EXAMPLE.com:80/%32")])
            again = await frontier.add([page(2), page(3)])
            census = await frontier.census()

        assert first == [Added.NEW, Added.NEW, Added.KNOWN, Added.KNOWN]
        assert again == [Added.KNOWN, Added.NEW]
        assert (census.discovered, census.pending, census.sites) == (3, 3, 1)
        assert census.adds_up

    async def test_what_admission_refused_is_in_the_ledger(self, name: str, clock: FakeClock) -> None:
        far, deep = Url("http://far.example.org/"), Url("http://example.com/1")
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)], refused=[(far, Reason.OUT_OF_SCOPE), (deep, Reason.TOO_DEEP)])
            again = await frontier.add([task(far)])
            census = await frontier.census()
            known = await frontier.knows([far, deep, Url("http://example.com/2")])

        assert again == [Added.KNOWN]
        assert census.skipped == {Reason.OUT_OF_SCOPE: 1}
        assert known == [True, True, False]
        assert census.adds_up

    async def test_a_site_has_a_quota(self, name: str, clock: FakeClock) -> None:
        """H2-4: exact, whatever the batch; what is over it is skipped and counted."""
        rules = FrontierRules(site_quota=3)
        async with self.open(name, rules, clock) as frontier:
            answers = await frontier.add([page(n) for n in range(5)])
            other = await frontier.add([page(1, "example.org"), page(9)])
            census = await frontier.census()

        assert answers == [Added.NEW] * 3 + [Added.OVER_QUOTA] * 2
        assert other == [Added.NEW, Added.OVER_QUOTA]
        assert (census.pending, census.skipped) == (4, {Reason.SITE_QUOTA: 3})
        assert census.adds_up

    async def test_a_task_comes_back_as_it_went_in(self, name: str, clock: FakeClock) -> None:
        """H2-18: any character, any field."""
        via = (Hop(Url("http://example.org/|"), 301, (("location", "x"),), "http://example.com/"),)
        strange = Task(
            Url("http://example.com/a|b|3?c='\"{}&d=%00%0a#"),
            depth=3,
            priority=-2,
            origin=Origin.REDIRECT,
            parent=Url("http://example.org/|"),
            via=via,
            validators=Validators('"é"', "yesterday"),
            changes=Changes(1.5, 0.5, 60.0, 1),
            visited_at=5.5,
            content_sha256="ab" * 32,
        )
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([strange])
            lent = await frontier.lease(sites=1, tasks=1, seconds=60)

        assert replace(lent.leases[0].tasks[0], sequence=0) == strange

"""A plan as a person reads it: what changes, then the URLs that flip, by rule, with examples."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import to_builtins
from rich.text import Text

from outrider.app.plan import Changed
from outrider.cli.document import dumped
from outrider.cli.terminal import GAP, hanging, labelled, shortened
from outrider.observe.words import counted, visible
from outrider.ops.plan import Group, Kind, Notes, Plan
from outrider.ops.plan_apply import Applied

_COUNT: Final = 9
_TITLES: Final = {
    Kind.REFUSED: "owed a visit, and would be refused",
    Kind.OWED: "refused, and would be owed a visit",
    Kind.FETCHED: "fetched, and would be refused today; they stay as they are",
}


def told(changed: Sequence[Changed], plan: Plan, width: int, *, has_other_rules: bool) -> Iterator[Text]:
    yield from labelled([(one.key, Text(visible(f"{one.before} → {one.after}"))) for one in changed], width)
    if not has_other_rules:
        same = "these settings change no rule about URLs: the ledger is judged by them" if changed else _TODAY
        yield from hanging(Text(), Text(same), 0, width)
    for kind in Kind:
        yield Text()
        yield Text(f"{plan.total(kind):,} {_TITLES[kind]}", "bold")
        yield from _groups(plan.of(kind), width)
    notes = list(_notes(plan.notes))
    if notes:
        yield Text()
    for note in notes:
        yield from hanging(Text(), Text(note, "dim"), 0, width)


_TODAY: Final = "no other settings are given: the ledger is judged by those of the last run"


def _groups(groups: Sequence[Group], width: int) -> Iterator[Text]:
    if groups:
        yield Text(f"{'COUNT':>{_COUNT}}{GAP}RULE", "dim")
    indent = _COUNT + len(GAP)
    for group in groups:
        rule = f"{group.reason}: {group.rule}" if group.rule != group.reason else str(group.reason)
        yield Text(f"{group.count:>{_COUNT},}{GAP}{shortened(rule, width - indent)}", "yellow")
        for flip in group.examples:
            yield Text(f"{'':>{indent}}{shortened(flip.url, width - indent)}")
        more = group.count - len(group.examples)
        if more and group.examples:
            yield Text(f"{'':>{indent}}and {more:,} more", "dim")


def _notes(notes: Notes) -> Iterator[str]:
    if notes.by_hash:
        yield f"{counted(notes.by_hash, 'URL')} cannot be judged: known by the hash alone"
    if notes.over_quota:
        yield f"{counted(notes.over_quota, 'URL')} over a quota not judged: it counts URLs as they come"
    if notes.without_depth:
        yield f"{counted(notes.without_depth, 'URL')} judged without the depth, which is not on record"
    if notes.already:
        yield (
            f"{counted(notes.already, 'more URL')} would flip by the settings of the last run already: "
            "outrider plan without other settings shows which"
        )


def outcome(done: Applied, home: str) -> Iterator[str]:
    yield ""
    yield f"applied: {done.refused:,} refused, {done.owed:,} owed a visit; the settings are kept"
    if done.left:
        yield f"{done.left:,} not: somebody else acted on them meanwhile, or a site has too much to do; plan again"
    if done.owed:
        yield f"outrider crawl -d {shlex.quote(visible(home))} visits what is owed"


def document(changed: Sequence[Changed], plan: Plan, done: Applied | None) -> str:
    return dumped(
        {
            "changes": to_builtins(changed),
            **{kind.value: [_group(group) for group in plan.of(kind)] for kind in Kind},
            "notes": to_builtins(plan.notes),
            "applied": None if done is None else to_builtins(done),
        }
    )


def _group(group: Group) -> dict[str, object]:
    examples = [{"url": flip.url, "evidence": flip.evidence} for flip in group.examples]
    return {"reason": group.reason.value, "rule": group.rule, "count": group.count, "examples": examples}

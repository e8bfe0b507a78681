"""How people see the trail of a permit: each transition, whether its link is whole, and what else speaks against the permit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apis.meta import Manifest
from apis.problems import Problem
from manager.permits.evidence import keys_in, keys_place, published
from manager.permits.glance import place_of, status_of, who
from manager.permits.proof import Finding, Part, check, key_ids
from manager.permits.view import Line
from manager.world import World


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check came to. `broken` names the permit and the first broken link; empty when everything is proved."""

    lines: tuple[Line, ...]
    broken: str


async def trail(world: World, permit: Manifest, keys_namespace: str) -> tuple[Line, ...]:
    """The trail, checked with the public keys of the cluster when they can be read."""
    if not status_of(permit).get("transitions"):
        return ()
    try:
        public = keys_in([await published(world, keys_namespace)], keys_place(keys_namespace))
    except Problem as problem:
        return (Line("trail", "bold"), *_links(permit, {}, "not checked"), Line(f"  not checked: {problem}", "yellow"))
    return verdict(permit, public).lines


def verdict(permit: Manifest, public: Mapping[str, bytes], *, known: str = "") -> Verdict:
    """Check a permit; `known` is the hash of a transition that must be in its trail. Pure."""
    # A broken trail comes first: nothing that it says proves anything.
    findings = sorted(check(permit, public, known=known), key=lambda each: each.part != Part.TRAIL)
    broken = next((each.index for each in findings if each.part == Part.TRAIL), None)
    count = len(_transitions(permit))
    words = {index: "ok" if broken is None or index < broken else "BROKEN" if index == broken else "-" for index in range(count)}
    lines = (Line("trail", "bold"), *_links(permit, words, "-"), *_summary(permit, findings))
    return Verdict(lines, f"{place_of(permit)}: {findings[0]}" if findings else "")


def _transitions(permit: Manifest) -> Sequence[Manifest]:
    found = status_of(permit).get("transitions")
    return found if isinstance(found, list) else ()


_STYLES: Mapping[str, str] = {"ok": "green", "BROKEN": "bold red"}


def _links(permit: Manifest, words: Mapping[int, str], other: str) -> Iterator[Line]:
    for index, one in enumerate(_transitions(permit)):
        word = words.get(index, other)
        yield Line(f"  {index:<3} {word:<7} {told(one)}", _STYLES.get(word, "dim"))


def told(transition: object) -> str:
    """One transition as a sentence. An archive may hold anything in its place."""
    if not isinstance(transition, dict):
        return "no transition"
    message = f": {transition['message']}" if transition.get("message") else ""
    by = who(transition["actor"] if isinstance(transition.get("actor"), dict) else None)
    return f"{transition.get('timestamp', '')} {transition.get('type', '')} by {by}: {transition.get('reason', '')}{message}"


def _summary(permit: Manifest, findings: Sequence[Finding]) -> Iterator[Line]:
    if findings:
        yield from (Line(f"  {each.part}: {each}", "bold red") for each in findings)
        return
    last = (_transitions(permit) or [{}])[-1]
    keys = ", ".join(sorted(key_ids(permit))) or "none"
    yield Line(f"  proved: {len(_transitions(permit))} transitions, the last is {last.get('hash', '-')}; keys {keys}", "green")

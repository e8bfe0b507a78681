"""What `copyhold up` shows: parents with their targets, verbs and reasons, who waits for what, and the last events.

    Watcher   is told what the manager does; keeps the last news of each target, and a line for each thing that happened
    rows()    the manager's picture of the parents as plain values
    board()   those values as something that rich can draw, cut to the height of the terminal

Nothing here reads a cluster or decides anything. Messages are shown as one line that a terminal does not obey.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from apis.copyhold.permitstatus import Phase
from apis.copyhold.resourcepermit import KIND
from apis.kind import Parent
from apis.meta import Key, Manifest
from apis.reasons import Reason
from apis.record import Record
from manager.console import plain
from manager.execute import Outcome
from manager.permits.glance import phase_of, who
from manager.tenure import Tenure
from policy.decide import Verb

LAST = 8
"""Events that are shown."""

FIXED = 4
"""Lines of the board beside parents, targets and events: where the cluster is, and rules."""

_QUIET = frozenset({(Verb.SKIP, Reason.UNCHANGED), (Verb.SKIP, Reason.ABSENT)})


@dataclass(frozen=True, slots=True)
class News:
    """The last thing that happened to a target, and when."""

    verb: Verb
    reason: Reason
    at: datetime


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened: when, to whom, one word for it, and what there is to say."""

    at: datetime
    subject: str
    word: str
    text: str
    good: bool

    def __str__(self) -> str:
        said = f": {self.text}" if self.text else ""
        return plain(f"{self.at:%H:%M:%S} {self.word} {self.subject}{said}")


@dataclass(frozen=True, slots=True)
class TargetRow:
    """One target: what was done last, and when; `message` says why it is not as it should be."""

    key: Key
    ok: bool
    verb: str
    reason: str
    message: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class ParentRow:
    """One parent: `ready` is True, False or Unknown, and `message` says what it waits for."""

    title: str
    ready: str
    reason: str
    message: str
    targets: tuple[TargetRow, ...]


@dataclass
class Watcher:
    """Is told what the manager does. `line` hears of each thing that happened, `changed` that the board may look different."""

    line: Callable[[Line], None] = lambda _line: None
    changed: Callable[[], None] = lambda: None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    news: dict[tuple[str, Key], News] = field(default_factory=dict)
    last: deque[Line] = field(default_factory=lambda: deque(maxlen=LAST))
    _said: dict[tuple[str, Key], tuple[Verb, Reason]] = field(default_factory=dict)

    def told(self, parent: Parent, type_: str, reason: Reason, note: str) -> None:
        """The manager says something about a parent."""
        self._add(Line(self.now(), str(parent), str(reason), note, good=type_ == "Normal"))

    def settled(self, tenure: Tenure, outcome: Outcome) -> None:
        """A decision about a target was carried out, or not."""
        if outcome.stale:  # the world moved, and it is decided again at once
            return
        decision, record = outcome.decision, outcome.record
        uid, key = tenure.parent.uid, decision.key
        reason = outcome.problem.reason if outcome.problem is not None else decision.reason
        done = (decision.verb, reason)
        if done in _QUIET and not outcome.wrote:
            self._said.pop((uid, key), None)
            return
        if not outcome.wrote and self._said.get((uid, key)) == done:
            return
        self._said[uid, key] = done
        self.news[uid, key] = News(*done, self.now())
        if record is None:
            self.news.pop((uid, key), None)
            self._said.pop((uid, key), None)
        message = str(outcome.problem) if outcome.problem is not None else decision.message
        good = outcome.problem is None and decision.verb != Verb.CONFLICT
        said = message if message.startswith(f"{reason}:") else f"{reason}: {message}" if message else str(reason)
        self._add(Line(self.now(), str(key), str(decision.verb), f"{said} ({tenure.parent})", good=good))

    def stepped(self, permit: Manifest, transition: Manifest) -> None:
        """A permit passed into a phase: why, by whom, and until when it gives what it gives."""
        until = f", until {transition['until']}" if transition.get("until") else ""
        said = f": {transition['message']}" if transition.get("message") else ""
        text = f"{transition['reason']} by {who(transition['actor'])}{until}{said}"
        good = transition["type"] not in (Phase.FAILED, Phase.DENIED)
        self._add(Line(self.now(), KIND.title(permit), transition["type"], text, good=good))

    def dropped(self, parent: Parent) -> None:
        """A parent is gone, or nobody's any more."""
        for known in (self.news, self._said):
            for place in [place for place in known if place[0] == parent.uid]:
                del known[place]
        self.changed()

    def _add(self, line: Line) -> None:
        self.last.append(line)
        self.line(line)
        self.changed()


# From what the manager knows to rows.


def rows(parents: Iterable[Parent], tenures: Mapping[str, Tenure], news: Mapping[tuple[str, Key], News]) -> list[ParentRow]:
    """All parents, by kind and name, each with its targets: first those that are not as they should be."""
    return [_row(parent, tenures.get(parent.uid), news) for parent in sorted(parents, key=str)]


def _row(parent: Parent, tenure: Tenure | None, news: Mapping[tuple[str, Key], News]) -> ParentRow:
    conditions = parent.status.get("conditions") or ()
    ready: Manifest = next((one for one in conditions if one.get("type") == "Ready"), {})
    records = tenure.records if tenure is not None else {}
    targets = [_target(record, news.get((parent.uid, key))) for key, record in records.items()]
    targets.sort(key=lambda target: (target.ok, target.key))
    status = "Unknown" if parent.deleting else ready.get("status", "Unknown")
    phase = phase_of(parent.object) if parent.kind.gated else ""
    reason = str(Reason.DELETING) if parent.deleting else phase or ready.get("reason", str(Reason.WAITING))
    said = (*_terms(parent), ready.get("message", ""))
    return ParentRow(str(parent), status, reason, ", ".join(filter(None, said)), tuple(targets))


def _terms(parent: Parent) -> Iterator[str]:
    """For whom a permit is, and until when; nothing for other parents."""
    if parent.kind.gated:
        yield f"for {who((parent.object.get('spec') or {}).get('requester'))}"
        until = (parent.status.get("active") or {}).get("until")
        yield f"until {until}" if until else ""


def _target(record: Record, news: News | None) -> TargetRow:
    verb, at = (str(news.verb), news.at) if news is not None else ("", None)
    reason = str(news.reason if news is not None and record.ok else record.reason)
    return TargetRow(record.key, record.ok, verb, reason, record.message, at)


# From rows to what is drawn.


def board(head: str, parents: Sequence[ParentRow], last: Iterable[Line], now: datetime, height: int) -> RenderableType:
    """The whole view. `height` is that of the terminal in lines."""
    lines = list(last)
    room = max(height - FIXED - len(lines) - len(parents), 0)
    share = room // max(len(parents), 1)
    shown = [part for parent in parents for part in _parent(parent, now, share)]
    return Group(
        Text(head, style="bold", no_wrap=True, overflow="ellipsis"),
        Rule(f"{len(parents)} parents", style="dim", align="left"),
        *(shown or [Text("no parents yet: kubectl apply -f ... , or start with --load DIR", style="dim")]),
        Rule("events", style="dim", align="left"),
        *(Text(str(line), style="" if line.good else "yellow", no_wrap=True, overflow="ellipsis") for line in lines),
    )


_STYLES = {"True": ("Ready", "green"), "False": ("not ready", "red"), "Unknown": ("working", "yellow")}


def _parent(parent: ParentRow, now: datetime, share: int) -> Iterator[RenderableType]:
    word, style = _STYLES.get(parent.ready, (parent.ready, "yellow"))
    said = f"{parent.reason}: {parent.message}" if parent.message else parent.reason
    line = Text(no_wrap=True, overflow="ellipsis").append(plain(parent.title), "bold").append(f"  {word}", style)
    yield line.append(f"  {plain(said)}", "dim")
    if not parent.targets or share < 1:
        return
    fits = parent.targets if len(parent.targets) <= share else parent.targets[: share - 1]
    table = Table.grid(padding=(0, 2), expand=True)
    for ratio in (None, None, None, None, 1):
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=ratio)
    for target in fits:
        age = short_age((now - target.at).total_seconds()) if target.at is not None else ""
        colour = "" if target.ok else "yellow"
        message = "" if target.ok else target.message
        cells = (f"  {target.verb or '-'}", str(target.key), target.reason, age, message)
        table.add_row(*(Text(plain(cell), style=colour) for cell in cells))
    yield table
    if len(fits) < len(parent.targets):
        yield Text(f"  ... and {len(parent.targets) - len(fits)} more", style="dim")


def short_age(seconds: float) -> str:
    """`5s`, `12m`, `3h`, `4d`."""
    whole = max(int(seconds), 0)
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{letter}"
    return f"{whole}s"

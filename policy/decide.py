"""The table: one target -> one verb and one reason.

| desired | live | ours? | verb, reason |
| --- | --- | --- | --- |
| yes, condition false | any | any | Skip ConditionNotMet (marks may change) |
| yes | no | - | Create Missing |
| yes | yes | no | Adopt Foreign under Merge (Conflict FieldTaken); Conflict Foreign under Owner; kin: as ours |
| yes | yes | yes | Apply Drifted or Changed; Conflict FieldTaken; Skip Unchanged, Terminating |
| no, Orphan | yes | yes | Orphan |
| no | yes | yes, created | Remove; Release while another parent holds it |
| no | yes | yes, adopted | Release |
| no | yes | not any more | Skip Replaced |
| no | no | - | Skip Absent |
| not known | any | any | Skip Unresolved |
"""

from dataclasses import dataclass
from enum import StrEnum

from apis.intent import Creation, Deletion
from apis.meta import Key, Manifest
from apis.problems import Problem
from apis.reasons import Reason
from apis.record import Record
from policy.ownership import Holding, Live
from policy.target import Desired, payload


class Verb(StrEnum):
    """What is done to one target."""

    CREATE = "Create"
    ADOPT = "Adopt"
    APPLY = "Apply"
    SKIP = "Skip"
    CONFLICT = "Conflict"
    REMOVE = "Remove"
    RELEASE = "Release"
    ORPHAN = "Orphan"


WRITES = frozenset({Verb.CREATE, Verb.ADOPT, Verb.APPLY, Verb.REMOVE, Verb.RELEASE, Verb.ORPHAN})
PRUNES = frozenset({Verb.REMOVE, Verb.RELEASE, Verb.ORPHAN})


FOREIGN = "it exists and was not created for this parent: delete it, or set policy.creation: Merge to adopt it"
"""What the author is told about an object that is not ours."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who decides: the parent's field manager, its UID, and the account ("namespace/name") that acts for it.

    What a `temporary` parent created is removed at its end, whoever has joined it meanwhile. `itself`: the manager acts with its
    own rights, which it does only to take back what it gave when the account cannot any more.
    """

    manager: str
    parent: str
    account: str
    temporary: bool = False
    itself: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """All that the decision about one target may look at."""

    key: Key
    desired: Desired | None
    live: Live | None
    record: Record | None
    condition: bool | Problem = True  # a Problem: the condition failed, or the object could not be looked at
    known: bool = True  # False: what would be desired could not be found out
    kin: bool = False  # another living parent of the family created it: its record says so and the object bears its proof
    held: tuple[Holding, ...] = ()  # the proven holds of other living parents
    namespace_terminating: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """One verb for one target, and why. `created` is what the mark says when something is applied."""

    item: Item
    verb: Verb
    reason: Reason
    message: str = ""
    created: bool = False
    remark: bool = False  # Skip by condition, but our marks on the object have to change

    @property
    def key(self) -> Key:
        """The identity of the target."""
        return self.item.key

    @property
    def joins(self) -> bool:
        """True when it takes hold of what kin created: its marks go on the object also while its content has to wait."""
        return self.verb == Verb.APPLY and self.item.kin

    @property
    def writes(self) -> bool:
        """True when carrying it out sends a write to the target."""
        return self.verb in WRITES or self.remark


def decide(item: Item, owner: Owner) -> Decision:
    """The verb for one target. Pure: the same item gives the same decision."""
    if item.desired is not None:
        return _keep(item, item.desired, owner)
    return _let_go(item, owner)


def _keep(item: Item, desired: Desired, owner: Owner) -> Decision:
    live, record = item.live, item.record
    if item.namespace_terminating:
        return Decision(item, Verb.SKIP, Reason.TERMINATING)
    if isinstance(item.condition, Problem):
        return Decision(item, Verb.SKIP, item.condition.reason, str(item.condition))
    if not item.condition:
        return _hold(item, desired, owner)
    if live is None:
        return Decision(item, Verb.CREATE, Reason.MISSING, created=True)
    if live.terminating:
        return Decision(item, Verb.SKIP, Reason.TERMINATING, "the object is being deleted")
    ours = _ours(item, owner)
    if not ours and not item.kin:
        return _claim(item, desired, live)
    created = _created(item, owner) if ours else True
    mine = live.held_by(owner.manager)
    if record is None or record.payload != desired.digest or record.uid != live.uid:
        changed = Decision(item, Verb.APPLY, Reason.CHANGED, created=created)
    elif mine is None or mine.fields != record.fields or (mine.mark == "created") != created:
        changed = Decision(item, Verb.APPLY, Reason.DRIFTED, created=created)
    else:
        return Decision(item, Verb.SKIP, Reason.UNCHANGED, created=created)
    return _refused(item, desired, live, created=created) or changed


def _refused(item: Item, desired: Desired, live: Live, *, created: bool) -> Decision | None:
    """Another manager holds a field with another value, and nothing has changed since it was tried."""
    record = item.record
    if record is None or record.reason != Reason.FIELD_TAKEN or record.seen != seen(desired, live):
        return None
    return Decision(item, Verb.CONFLICT, Reason.FIELD_TAKEN, record.message, created=created)


def _hold(item: Item, desired: Desired, owner: Owner) -> Decision:
    """The condition is false: content stays as it is, only marks may follow the policy."""
    mine = item.live.held_by(owner.manager) if item.live and not item.live.terminating else None
    stale = mine is not None and item.record is not None and item.record.policy.protect != desired.policy.protect
    created = _created(item, owner)
    return Decision(item, Verb.SKIP, Reason.CONDITION_NOT_MET, "ConditionNotMet: apply skipped", created=created, remark=stale)


def _claim(item: Item, desired: Desired, live: Live) -> Decision:
    """The object is there and not ours."""
    if desired.policy.creation == Creation.MERGE:
        return _refused(item, desired, live, created=False) or Decision(item, Verb.ADOPT, Reason.FOREIGN)
    return Decision(item, Verb.CONFLICT, Reason.FOREIGN, FOREIGN)


def _let_go(item: Item, owner: Owner) -> Decision:
    live, record = item.live, item.record
    if not item.known:
        return Decision(item, Verb.SKIP, Reason.UNRESOLVED, "its source could not be read: nothing is removed")
    if live is None:
        return Decision(item, Verb.SKIP, Reason.ABSENT)
    if not _ours(item, owner):
        return Decision(item, Verb.SKIP, Reason.REPLACED)
    if live.terminating or item.namespace_terminating:
        return Decision(item, Verb.SKIP, Reason.TERMINATING, "waiting until the object is gone")
    created = _created(item, owner)
    if record is not None and record.policy.deletion == Deletion.ORPHAN:
        return Decision(item, Verb.ORPHAN, Reason.NOT_WANTED, created=created)
    if created and item.held and not owner.temporary:
        return Decision(item, Verb.RELEASE, Reason.HELD_BY_ANOTHER, created=created)
    if created:
        return Decision(item, Verb.REMOVE, Reason.NOT_WANTED, created=True)
    return Decision(item, Verb.RELEASE, Reason.NOT_WANTED)


def _ours(item: Item, owner: Owner) -> bool:
    """Proven by managedFields, or by memory: the UID that the server answered when we wrote this very object."""
    assert item.live is not None  # noqa: S101 - the rows above have dealt with absence
    if item.live.held_by(owner.manager) is not None:
        return True
    return item.record is not None and bool(item.record.uid) and item.record.uid == item.live.uid


def _created(item: Item, owner: Owner) -> bool:
    """What the server answered, as recorded for this very object; without a record what our proven mark says."""
    if item.live is None:
        return False
    if item.record is not None and item.record.uid == item.live.uid and not item.record.pending:
        return item.record.created
    mine = item.live.held_by(owner.manager)
    return mine is not None and mine.mark == "created"


def seen(desired: Desired, live: Live) -> str:
    """What a Conflict was judged on: it waits until the object, the payload or `force` changes."""
    return f"{desired.digest}:{live.version}:{'force' if desired.policy.force else ''}"


def to_apply(decision: Decision, owner: Owner, *, pinned: bool) -> Manifest:
    """The payload of a Create, Adopt or Apply: create-only where nothing was seen, else only for the object that was seen.

    `pinned` also binds a conditional target to the state on which its condition was evaluated.
    """
    desired, live = decision.item.desired, decision.item.live
    assert desired is not None  # noqa: S101 - the table applies only what is desired
    if live is None:
        return payload(desired, owner.parent, owner.account, created=decision.created, version="1")
    version = live.version if pinned and desired.policy.condition else ""
    return payload(desired, owner.parent, owner.account, created=decision.created, uid=live.uid, version=version)

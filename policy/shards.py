"""How memory is stored: as status items while records are few, as deflated shards when they are many, and in which order.

A parent's records are either inline (`status.processedItems`) or in shards, of which the status keeps an index. One order serves
every change of memory:

    1. put the shards that changed     2. write the status     3. drop the shards that the status no longer counts

Guarantees, for a crash between any two of these writes:

- What was remembered before and after is remembered: within one layout a target has exactly one shard, which is replaced as
  a whole; another layout uses other names, so that the old shards stand untouched until the status names the new ones.
- A shard whose digest differs from the counted one was put after the status was written: the shard is right.
- A shard that is counted and absent, or that is damaged, is Unresolved. It never reads as empty.

Assumption: one writer at a time (the Lease of the parent's shard); every put carries the resourceVersion of what it replaces.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any
from zlib import compress, decompressobj
from zlib import error as ZlibError  # noqa: N812 - an exception, named as one

import orjson

from apis.intent import Creation, Deletion, Policy
from apis.meta import Key, Manifest, Ref
from apis.problems import Blocked
from apis.reasons import Reason
from apis.record import Record
from policy.members import stable_hash

INLINE = 200  # records that a status may hold
FAILED = 50  # failed items that a status shows beside its shards
SHARD = 1_000  # records that a shard is meant for
FULL = 2_000  # records at which a split by namespace has failed

MESSAGE = 1_024  # bytes of one message, as JSON
MESSAGES = 256 * 1_024  # bytes of all messages in one status or one shard
INFLATED = 32 * 1_024 * 1_024  # bytes that a shard may unfold to

FORMAT = 1
LEVEL = 3  # of deflate: as fast as 1, and 6 is half as fast again for 5 % less

REASONS = {reason.value: reason for reason in Reason}

Records = Mapping[Key, Record]


# As status items


def status_items(records: Iterable[Record]) -> list[Manifest]:
    """The items of `status.processedItems`, ordered by identity; empty values are left out and long messages are cut."""
    ordered = sorted(records, key=lambda record: record.key)
    limit = _message_limit(ordered)
    return [_item(record, limit) for record in ordered]


def records_of(items: Iterable[Manifest]) -> dict[Key, Record]:
    """The records that `status_items` wrote. Raises Blocked (Unresolved) for an item that it cannot have written."""
    try:
        return {record.key: record for record in map(_record_of, items)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise unresolved(f"status.processedItems holds an item that cannot be read ({type(error).__name__})") from error


def unresolved(what: str) -> Blocked:
    """The problem of a memory that cannot be read: nothing is concluded from it, least of all that it is empty."""
    remedy = "nothing is applied or removed until it is restored from a backup, or given up with `copyhold release`"
    return Blocked(Reason.UNRESOLVED, f"{what}; {remedy}")


def _item(record: Record, limit: int) -> Manifest:
    ref, policy = record.ref, record.policy
    item = _filled(
        group=ref.group,
        version=ref.version,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        tenant=record.tenant,
        uid=record.uid,
        resource=record.resource,
        unit=record.unit,
        payload=record.payload,
        fields=record.fields,
        seen=record.seen,
    )
    item["status"] = {"type": "Ready", "status": _verdict(record), "reason": str(record.reason)} | _filled(
        message=cut(record.message, limit),
        created=record.created,
        clusterScoped=record.cluster_scoped,
        lastApply=record.last_apply,
        pending=record.pending,
        gone=record.gone,
        account=record.account,
    )
    item["status"]["policy"] = {
        "creation": str(policy.creation),
        "protect": policy.protect,
        "force": policy.force,
        "deletion": str(policy.deletion),
    }
    return item


def _record_of(item: Manifest) -> Record:
    status, text = item["status"], item.get
    policy = status["policy"]
    return Record(
        ref=Ref(text("group", ""), text("version", ""), item["kind"], text("namespace", ""), item["name"]),
        resource=text("resource", ""),
        cluster_scoped=status.get("clusterScoped", False),
        unit=text("unit", ""),
        tenant=text("tenant", ""),
        policy=Policy(Creation(policy["creation"]), policy["protect"], policy["force"], Deletion(policy["deletion"])),
        account=status.get("account", ""),
        uid=text("uid", ""),
        created=status.get("created", False),
        pending=status.get("pending", False),
        payload=text("payload", ""),
        fields=text("fields", ""),
        seen=text("seen", ""),
        last_apply=status.get("lastApply", ""),
        ok=status["status"] == "True",
        reason=_reason(status["reason"]),
        message=status.get("message", ""),
        gone=status.get("gone", ""),
    )


def _filled(**values: str | bool) -> Manifest:
    return {name: value for name, value in values.items() if value}


def _verdict(record: Record) -> str:
    if record.ok:
        return "True"
    return "Unknown" if record.reason in (Reason.WAITING, Reason.UNRESOLVED) else "False"


def _reason(word: str) -> Reason:
    # A newer version may have written a word that this one does not know; it is a comment on the target, not its identity.
    return REASONS.get(word, Reason.WAITING)


# Messages


def cut(message: str, limit: int) -> str:
    """The message, or as much of its beginning as fits `limit` bytes of JSON with an ellipsis."""
    message = message.encode("utf-8", "replace").decode()
    if _weight(message) <= limit:
        return message
    low, high = 0, min(len(message), limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _weight(message[:middle] + "…") <= limit else (low, middle - 1)
    return message[:low] + "…"


def _weight(message: str) -> int:
    return len(orjson.dumps(message)) - 2


def _message_limit(records: Iterable[Record]) -> int:
    speaking = sum(1 for record in records if record.message)
    return min(MESSAGE, MESSAGES // max(speaking, 1))


# As shards


class By(StrEnum):
    """What decides in which shard a record is. `Namespace` keeps a namespace's work in one shard; `Name` always spreads."""

    NAMESPACE = "namespace"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Layout:
    """How many shards there are (a power of two, 0 for inline) and what spreads the records over them."""

    shards: int = 0
    by: By = By.NAMESPACE

    def number(self, key: Key) -> int:
        """The number of the shard that holds `key`: between `shards` and twice that, so that no two layouts share a number."""
        text = key.namespace if self.by is By.NAMESPACE else "\n".join(key)
        return self.shards + stable_hash(text) % self.shards

    def numbers(self) -> range:
        """The numbers of all shards."""
        return range(self.shards, 2 * self.shards)

    def name(self, uid: str, number: int) -> str:
        """The name of the TargetRecord of parent `uid`; layouts never share names either."""
        return f"{uid}-{number}" if self.by is By.NAMESPACE else f"{uid}-name-{number}"

    def names(self, uid: str) -> tuple[str, ...]:
        """The names of all shards of parent `uid`: they tell the layout."""
        return tuple(self.name(uid, number) for number in self.numbers())

    def split(self, records: Records) -> dict[int, dict[Key, Record]]:
        """The records of each shard; an empty shard is there, too."""
        parts: dict[int, dict[Key, Record]] = {number: {} for number in self.numbers()}
        known: dict[str, int] = {}
        for key, record in records.items():
            if self.by is By.NAME:
                parts[self.number(key)][key] = record
                continue
            number = known.get(key.namespace)
            if number is None:
                number = known[key.namespace] = self.number(key)
            parts[number][key] = record
        return parts


def choose(current: Layout, records: Records, *, inline: bool = True) -> Layout:
    """The layout for these records: shards double as they fill and are joined only when three quarters would be empty.

    `inline` False is for kinds whose status has no place for items: they have shards from the first record on.
    """
    count = len(records)
    if count <= (INLINE if inline else 0):
        return Layout()
    needed = _power_of_two(-(-count // SHARD))
    kept = needed <= current.shards and 4 * count >= SHARD * current.shards
    shards = current.shards if kept else needed
    # Back to a split by namespace only when it would be even: not to and fro at the border.
    bound = SHARD if current.by is By.NAME else FULL
    return Layout(shards, By.NAMESPACE if _largest(shards, records) <= bound else By.NAME)


def _largest(shards: int, records: Records) -> int:
    layout = Layout(shards)
    sizes: Counter[int] = Counter()
    for namespace, count in Counter(key.namespace for key in records).items():
        sizes[layout.number(Key("", "", namespace, ""))] += count
    return max(sizes.values())


def _power_of_two(at_least: int) -> int:
    return 1 << max(at_least - 1, 0).bit_length()


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard as it is stored. `digest` is over the inflated rows, so that another zlib gives the same."""

    name: str
    number: int
    count: int
    digest: str
    data: str = field(repr=False)


TABLED = (
    12  # the first columns of a row are indices into the table of strings: they repeat; the others are the strings themselves
)


def encode(name: str, number: int, records: Records) -> Shard:
    """The shard of these records; the same for the same records in any order."""
    ordered = [records[key] for key in sorted(records)]
    limit = _message_limit(ordered)
    table: dict[str, int] = {}
    rows = [_row(record, table, limit) for record in ordered]
    # By column, because like beside like deflates best.
    columns = [list(column) for column in zip(*rows, strict=True)]
    raw = orjson.dumps({"format": FORMAT, "strings": list(table), "columns": columns})
    return Shard(name, number, len(rows), _digest(raw), b64encode(compress(raw, LEVEL)).decode())


def decode(shard: Shard) -> dict[Key, Record]:
    """The records of a shard. Raises Blocked (Unresolved) unless it is whole: digest, count and form."""
    try:
        inflate = decompressobj()
        raw = inflate.decompress(b64decode(shard.data, validate=True), INFLATED)
    except (Base64Error, ZlibError, ValueError) as error:
        raise unresolved(f"TargetRecord {shard.name} is damaged: its data cannot be inflated") from error
    if not inflate.eof or _digest(raw) != shard.digest:
        raise unresolved(f"TargetRecord {shard.name} is damaged: its data does not match its digest")
    try:
        body = orjson.loads(raw)
        if body["format"] != FORMAT:
            raise unresolved(
                f"TargetRecord {shard.name} has format {body['format']!r}, which another version of the manager wrote"
            )
        strings = body["strings"]
        records = [_record(row, strings) for row in zip(*body["columns"], strict=True)]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise unresolved(f"TargetRecord {shard.name} holds rows that cannot be read ({type(error).__name__})") from error
    if len(records) != shard.count:
        raise unresolved(f"TargetRecord {shard.name} is damaged: it counts {shard.count} targets and holds {len(records)}")
    return {record.key: record for record in records}


Row = tuple[Any, ...]


def _row(record: Record, table: dict[str, int], limit: int) -> Row:
    ref, policy = record.ref, record.policy
    tabled = (
        ref.group,
        ref.version,
        ref.kind,
        ref.namespace,
        record.resource,
        record.unit,
        record.tenant,
        record.account,
        record.reason.value,
        policy.creation.value,
        policy.deletion.value,
        cut(record.message, limit) if record.message else "",
    )
    flags = (
        record.cluster_scoped
        | record.created << 1
        | record.pending << 2
        | record.ok << 3
        | policy.protect << 4
        | policy.force << 5
    )
    return (
        *[table.setdefault(text, len(table)) for text in tabled],
        flags,
        ref.name,
        record.uid,
        record.payload,
        record.fields,
        record.seen,
        record.last_apply,
        record.gone,
    )


def _record(row: Row, strings: list[str]) -> Record:
    group, version, kind, namespace, resource, unit, tenant, account, reason, creation, deletion, message = (
        strings[index] for index in row[:TABLED]
    )
    flags, name, uid, payload, fields, seen, last_apply, gone = row[TABLED:]
    return Record(
        ref=Ref(group, version, kind, namespace, name),
        resource=resource,
        cluster_scoped=bool(flags & 1),
        unit=unit,
        tenant=tenant,
        policy=Policy(Creation(creation), bool(flags & 16), bool(flags & 32), Deletion(deletion)),
        account=account,
        uid=uid,
        created=bool(flags & 2),
        pending=bool(flags & 4),
        payload=payload,
        fields=fields,
        seen=seen,
        last_apply=last_apply,
        ok=bool(flags & 8),
        reason=_reason(reason),
        message=message,
        gone=gone,
    )


def _digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:32]


# The index in the status


@dataclass(frozen=True, slots=True)
class Index:
    """What the status says about the shards: their layout and their names, in the order of their numbers."""

    layout: Layout
    names: tuple[str, ...] = ()


def index_of(uid: str, status: Manifest) -> Index:
    """The index that the status of parent `uid` holds; without one the records are inline.

    Raises Blocked (Unresolved) for an index that `plan_write` cannot have written.
    """
    index = status.get("records")
    if index is None:
        return Index(Layout())
    try:
        names = tuple(shard["name"] for shard in index["shards"])
    except (KeyError, TypeError) as error:
        raise unresolved("status.records cannot be read") from error
    for by in By:
        layout = Layout(len(names), by)
        if names and names == layout.names(uid):
            return Index(layout, names)
    raise unresolved("status.records counts shards that are not those of this parent")


# The plan of a write


@dataclass(frozen=True, slots=True)
class Part:
    """One shard as we know it to be stored."""

    records: Records = field(repr=False)
    digest: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Memory as it is stored: its layout, and each shard by name."""

    layout: Layout = field(default_factory=Layout)
    parts: Mapping[str, Part] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes of one change of memory, in the order of the fields; `status` holds the fields that memory has in the status."""

    puts: tuple[Shard, ...]
    status: Manifest
    drops: tuple[str, ...]
    stored: Stored = field(repr=False)  # what is true when all is written


def plan_write(uid: str, before: Stored, after: Records, *, inline: bool = True) -> Plan:
    """What must be written so that parent `uid` remembers `after`: of the shards only those whose records changed."""
    layout = choose(before.layout, after, inline=inline)
    drops = () if layout == before.layout else tuple(sorted(before.parts))
    if not layout.shards:
        return Plan((), _inline_status(after, inline=inline), drops, Stored())
    puts: list[Shard] = []
    parts: dict[str, Part] = {}
    listed: list[Manifest] = []
    for number, records in layout.split(after).items():
        name = layout.name(uid, number)
        known = before.parts.get(name)
        if known is not None and _same(known.records, records):
            parts[name] = known
        else:
            puts.append(encode(name, number, records))
            parts[name] = Part(records, puts[-1].digest)
        listed.append({"name": name, "count": len(records), "digest": parts[name].digest})
    ready = sum(record.ok for record in after.values())
    status: Manifest = {"size": len(after), "records": {"count": len(after), "ready": ready, "shards": listed}}
    if inline:
        status["processedItems"] = _failed_items(after)
    return Plan(tuple(puts), status, drops, Stored(layout, parts))


def _inline_status(records: Records, *, inline: bool) -> Manifest:
    items = {"processedItems": status_items(records.values())} if inline else {}
    return {"size": len(records)} | items


def _failed_items(records: Records) -> list[Manifest]:
    failed = sorted((record for record in records.values() if _verdict(record) == "False"), key=lambda record: record.key)
    return status_items(failed[:FAILED])


def _same(known: Records, wanted: Records) -> bool:
    # Identity first: most records of a pass are the very objects of the pass before.
    return len(known) == len(wanted) and all((old := known.get(key)) is record or old == record for key, record in wanted.items())

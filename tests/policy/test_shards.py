"""Memory in its stored forms: nothing is lost on the way there and back, or by a crash in between."""

from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apis.intent import Creation, Deletion, Policy
from apis.meta import Key, Ref
from apis.problems import Blocked
from apis.reasons import Reason
from apis.record import Record
from policy import shards
from policy.shards import (
    FAILED,
    INLINE,
    MESSAGE,
    By,
    Layout,
    Part,
    Stored,
    choose,
    cut,
    decode,
    encode,
    index_of,
    plan_write,
    records_of,
    status_items,
)

UID = "6f1de4d2-0b3e-4c3a-9a53-0d8f6a4f0001"

TEXT = st.text(max_size=12)
NAME = st.text(min_size=1, max_size=12)
RECORDS = st.builds(
    Record,
    ref=st.builds(Ref, TEXT, TEXT, NAME, TEXT, NAME),
    resource=TEXT,
    cluster_scoped=st.booleans(),
    unit=TEXT,
    tenant=TEXT,
    policy=st.builds(Policy, st.sampled_from(Creation), st.booleans(), st.booleans(), st.sampled_from(Deletion)),
    account=TEXT,
    uid=TEXT,
    created=st.booleans(),
    pending=st.booleans(),
    payload=TEXT,
    fields=TEXT,
    seen=TEXT,
    last_apply=TEXT,
    ok=st.booleans(),
    reason=st.sampled_from(Reason),
    message=TEXT,
    gone=TEXT,
)


def record(namespace: str, name: str, **fields) -> Record:
    """A ConfigMap that is as it should be, unless `fields` say otherwise."""
    given = {"ok": True, "reason": Reason.UNCHANGED} | fields
    return Record(
        Ref("", "v1", "ConfigMap", namespace, name), "configmaps", cluster_scoped=False, unit=namespace, tenant="", **given
    )


def many(count: int, *, each: int = 10, **fields) -> dict[Key, Record]:
    """So many ConfigMaps, `each` of them in a namespace."""
    return keyed(record(f"team-{n // each}", f"settings-{n % each}", **fields) for n in range(count))


def keyed(records: Iterator[Record]) -> dict[Key, Record]:
    """The records by their identity."""
    return {each.key: each for each in records}


class Store:
    """What a server holds for one parent, written one write at a time and read as the manager does after a crash."""

    def __init__(self) -> None:
        self.shards, self.status = {}, {}

    def write(self, after, *, stop: int = -1, inline: bool = True) -> int:
        """Write `after` up to the write number `stop`; the number of writes that the whole takes."""
        plan = plan_write(UID, self.stored(), after, inline=inline)
        writes = [
            *(lambda shard=shard: self.shards.__setitem__(shard.name, shard) for shard in plan.puts),
            lambda: setattr(self, "status", plan.status),
            *(lambda name=name: self.shards.pop(name, None) for name in plan.drops),
        ]
        for write in writes if stop < 0 else writes[:stop]:
            write()
        return len(writes)

    def stored(self) -> Stored:
        """What a manager that starts now knows to be stored."""
        index = index_of(UID, self.status)
        parts = {name: Part(decode(self.shards[name]), self.shards[name].digest) for name in index.names}
        return Stored(index.layout, parts)

    def read(self) -> dict[Key, Record]:
        """What a manager that starts now remembers."""
        stored = self.stored()
        if not stored.layout.shards:
            return records_of(self.status.get("processedItems", []))
        return {key: each for part in stored.parts.values() for key, each in part.records.items()}


# Forms


@given(st.lists(RECORDS, max_size=8))
def test_status_items_read_back_exactly(records):
    """Whatever a record holds survives the inline form, and a server that stores JSON."""
    wanted = keyed(records)
    assert records_of(orjson.loads(orjson.dumps(status_items(wanted.values())))) == wanted


@given(st.lists(RECORDS, max_size=8))
def test_a_shard_reads_back_exactly(records):
    """Whatever a record holds survives a shard."""
    wanted = keyed(records)
    assert decode(encode("shard", 1, wanted)) == wanted


@given(st.lists(RECORDS, max_size=8), st.randoms())
def test_the_same_records_in_any_order_give_the_same_bytes(records, random):
    """A second pass in another order writes nothing."""
    wanted = keyed(records)
    shuffled = dict(random.sample(list(wanted.items()), len(wanted)))
    assert encode("shard", 1, shuffled) == encode("shard", 1, wanted)
    assert status_items(shuffled.values()) == status_items(wanted.values())


def test_an_item_shows_what_its_readers_look_for():
    """The inline form is part of the API: names, nesting, and nothing that is empty."""
    item = record("solar", "settings", uid="u-1", created=True, last_apply="2026-01-01T00:00:00Z")
    assert status_items([item]) == [
        {
            "version": "v1",
            "kind": "ConfigMap",
            "namespace": "solar",
            "name": "settings",
            "uid": "u-1",
            "resource": "configmaps",
            "unit": "solar",
            "status": {
                "type": "Ready",
                "status": "True",
                "reason": "Unchanged",
                "created": True,
                "lastApply": "2026-01-01T00:00:00Z",
                "policy": {"creation": "Owner", "protect": True, "force": False, "deletion": "Remove"},
            },
        }
    ]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        pytest.param({"ok": True}, "True", id="as wanted"),
        pytest.param({"ok": False, "reason": Reason.FORBIDDEN}, "False", id="refused"),
        pytest.param({"ok": False, "reason": Reason.WAITING}, "Unknown", id="nothing tried yet"),
        pytest.param({"ok": False, "reason": Reason.UNRESOLVED}, "Unknown", id="source failed"),
    ],
)
def test_the_verdict_on_an_item(fields, status):
    """Unknown is what nobody has tried, False is what failed."""
    assert status_items([record("a", "b", **fields)])[0]["status"]["status"] == status


def test_a_reason_of_a_newer_version_is_read_as_waiting():
    """After a downgrade the word is lost, the target is not."""
    items = status_items([record("a", "b", ok=False, reason=Reason.FORBIDDEN)])
    items[0]["status"]["reason"] = "FromTheFuture"
    assert [each.reason for each in records_of(items).values()] == [Reason.WAITING]


@pytest.mark.parametrize("spoil", [{"kind": None}, {"status": {}}, {"status": None}], ids=str)
def test_an_item_that_nobody_can_have_written_is_unresolved(spoil):
    """A damaged item is a problem, not a missing target."""
    item = {key: value for key, value in (status_items([record("a", "b")])[0] | spoil).items() if value is not None}
    with pytest.raises(Blocked) as caught:
        records_of([item])
    assert caught.value.reason is Reason.UNRESOLVED


# Bounds


@given(st.text(max_size=200), st.integers(16, 64))
def test_a_cut_message_fits_and_keeps_its_beginning(message, limit):
    """The bound is on bytes of JSON, so that no character is dearer than it looks."""
    short = cut(message, limit)
    assert len(orjson.dumps(short)) - 2 <= limit
    assert short == message or message.startswith(short[:-1])


def test_ten_thousand_targets_with_long_errors_fit_one_parent():
    """Case 065: the parent stays far below the limit of a server, and so does each shard."""
    records = keyed(
        replace(each, ok=False, reason=Reason.REFUSED, message=f"{n} " + "\x01é" * 5_000)
        for n, each in enumerate(many(10_000).values())
    )
    plan = plan_write(UID, Stored(), records)
    assert len(orjson.dumps(plan.status)) < 300_000
    assert len(plan.status["processedItems"]) == FAILED
    assert plan.status["records"]["count"] == 10_000
    assert max(len(shard.data) for shard in plan.puts) < 1_000_000


def test_the_longest_inline_status_is_bounded():
    """200 targets, each with an error of the dearest characters, cost their cut messages and no more."""
    records = many(INLINE, ok=False, reason=Reason.REFUSED, message="\x01" * 5_000)
    size = len(orjson.dumps(plan_write(UID, Stored(), records).status))
    assert size < INLINE * (MESSAGE + 600)


# Layouts


@pytest.mark.parametrize(
    ("current", "count", "expected"),
    [
        pytest.param(Layout(), 200, Layout(), id="few are inline"),
        pytest.param(Layout(), 201, Layout(1), id="more are one shard"),
        pytest.param(Layout(1), 200, Layout(), id="few again"),
        pytest.param(Layout(1), 1_001, Layout(2), id="grows when full"),
        pytest.param(Layout(), 2_001, Layout(4), id="always a power of two"),
        pytest.param(Layout(4), 1_000, Layout(4), id="a quarter full: stays"),
        pytest.param(Layout(4), 999, Layout(1), id="less than a quarter: shrinks"),
    ],
)
def test_the_number_of_shards(current, count, expected):
    """Shards double when they are full and are joined only when three quarters would be empty."""
    assert choose(current, many(count)) == expected


def test_one_large_namespace_is_split_by_name():
    """A namespace that would make a shard too large is spread over all shards, and stays so until the split would be even."""
    large = many(4_500, each=4_500)
    assert choose(Layout(), large) == Layout(8, By.NAME)
    smaller = many(1_500, each=1_500)
    assert choose(Layout(2, By.NAME), smaller) == Layout(2, By.NAME)
    assert choose(Layout(2), smaller) == Layout(2)


def test_no_two_layouts_share_a_name():
    """A new layout never overwrites a shard that the status still counts."""
    layouts = [Layout(2**n, by) for n in range(8) for by in By]
    names = [name for layout in layouts for name in layout.names(UID)]
    assert len(names) == len(set(names))


def test_kinds_without_items_have_shards_from_the_first_record():
    """A published status of another project has no place for our items."""
    plan = plan_write(UID, Stored(), many(1), inline=False)
    assert [shard.count for shard in plan.puts] == [1]
    assert "processedItems" not in plan.status
    assert plan_write(UID, plan.stored, {}, inline=False).drops == (plan.puts[0].name,)


# Changes


def test_only_the_shard_that_changed_is_written():
    """A target's new state costs one shard, an unchanged memory none."""
    records = many(3_000)
    plan = plan_write(UID, Stored(), records)
    assert not plan_write(UID, plan.stored, dict(records)).puts
    key = next(iter(records))
    second = plan_write(UID, plan.stored, records | {key: replace(records[key], uid="new")})
    assert [shard.number for shard in second.puts] == [plan.stored.layout.number(key)]


SIZES = {
    "nothing": {},
    "inline": many(15),
    "one shard": many(30),
    "two shards": many(150),
    "four shards": many(250),
    "by name": many(250, each=250),
    "others": keyed(record(f"other-{n}", "x") for n in range(40)),
    "changed": {key: replace(each, pending=True) for key, each in many(160).items()},
}


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Shards of 100 instead of 1,000 records: the same layouts, ten times faster."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("INLINE", 20), ("SHARD", 100), ("FULL", 200)):
            patch.setattr(shards, name, value)
        yield


@pytest.mark.usefixtures("small")
def test_the_small_sizes_have_every_layout():
    """The crash tests go between all layouts that there are."""
    layouts = {choose(Layout(), records) for records in SIZES.values()}
    assert layouts == {Layout(), Layout(1), Layout(2), Layout(4), Layout(4, By.NAME)}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("inline", [True, False], ids=["inline", "shards only"])
@pytest.mark.parametrize("before", SIZES)
@pytest.mark.parametrize("after", SIZES)
def test_no_crash_between_two_writes_loses_a_record(before, after, inline):
    """Whatever was remembered before and after a write is remembered at every point of it, and the next write completes it."""
    old, new = SIZES[before], SIZES[after]
    start = Store()
    start.write(old, inline=inline)
    total = start.write(new, stop=0, inline=inline)
    for stop in range(total + 1):
        store = Store()
        store.shards, store.status = dict(start.shards), start.status
        store.write(new, stop=stop, inline=inline)
        found = store.read()
        assert old.keys() & new.keys() <= found.keys() <= old.keys() | new.keys()
        assert all(each in (old.get(key), new.get(key)) for key, each in found.items())
        if stop == 0:
            assert found == old
        if stop == total:
            assert found == new
            assert not store.stored().layout.shards or set(store.stored().parts) == set(store.shards)
        store.write(old, inline=inline)
        assert store.read() == old


@pytest.mark.usefixtures("small")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(SIZES)), st.integers(0, 8)), max_size=6), st.sampled_from(sorted(SIZES)))
def test_crash_after_crash_never_loses_what_stayed(steps, last):
    """A record that every state wanted survives any number of interrupted writes, and a write that is completed is exact."""
    store = Store()
    common = set(SIZES[steps[0][0]]) if steps else set()
    for n, (name, stop) in enumerate(steps):
        common &= SIZES[name].keys()
        store.write(SIZES[name], stop=-1 if n == 0 else stop)
        assert common <= store.read().keys()
    store.write(SIZES[last])
    assert store.read() == SIZES[last]


# Damage


def test_a_damaged_shard_is_unresolved():
    """Data, digest, count and form are checked: what is not whole is not read."""
    shard = encode("shard", 1, many(3))
    other = encode("shard", 1, many(4))
    broken = [
        replace(shard, data=shard.data[:-8]),
        replace(shard, data="not base64!"),
        replace(shard, data=""),
        replace(shard, data=other.data),
        replace(shard, digest=other.digest),
        replace(shard, count=2),
    ]
    for each in broken:
        with pytest.raises(Blocked, match="TargetRecord shard is damaged") as caught:
            decode(each)
        assert caught.value.reason is Reason.UNRESOLVED


@pytest.mark.parametrize(
    "index",
    [
        pytest.param({"count": 3}, id="no shards"),
        pytest.param({"shards": []}, id="an empty list"),
        pytest.param({"shards": [{"name": "another-1"}]}, id="another parent's"),
        pytest.param({"shards": [{"name": f"{UID}-{n}"} for n in (2, 3, 4)]}, id="three shards"),
    ],
)
def test_a_damaged_index_is_unresolved(index):
    """An index that cannot have been written is a problem, not an empty memory."""
    with pytest.raises(Blocked) as caught:
        index_of(UID, {"records": index})
    assert caught.value.reason is Reason.UNRESOLVED

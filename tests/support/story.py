"""The scenario of the six promises: two parents that create, change, shrink, move and delete, and the world after each step.

| target | in | policy | what happens to it |
| --- | --- | --- | --- |
| settings | every namespace | Owner, protected | changes; leaves with one namespace and arrives with another |
| extra | a | Owner, protected | goes when its parent shrinks |
| moved | a | Owner, protected | goes from parent one to parent two |
| joint | a | Owner, protected | belongs to both parents |
| theirs | a | Owner, protected | is there before, and foreign: a conflict, never touched |
| merged | a | Merge | is there before, and foreign: adopted, and given back |
| gated | a | a condition | is made once and never changed |
| kept | a | Orphan, protected | stays when its parent goes |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tests.support.api import Manifest, eventually, ref
from tests.support.marks import GROUP, hold_of, holders, marks
from tests.support.stage import VERSION, Stage, config_map, group

KIND = "GlobalTenantResource"
STAYS = {"theirs": "as it was"}


@dataclass(frozen=True, slots=True)
class Chapter:
    """What the users want after a step."""

    title: str
    text: str = "first"
    extra: bool = True
    movers: frozenset[str] = frozenset({"one"})  # the parents that want `moved`
    spaces: frozenset[str] = frozenset({"a", "b", "c"})
    over: bool = False


CREATED = Chapter("create")
CHANGED = replace(CREATED, title="change", text="second")
SHRUNK = replace(CHANGED, title="shrink", extra=False)
JOINED = replace(SHRUNK, title="move: the new parent takes it", movers=frozenset({"one", "two"}))
MOVED = replace(JOINED, title="move: the old parent lets go", movers=frozenset({"two"}))
RESCOPED = replace(MOVED, title="a namespace leaves, another joins", spaces=frozenset({"a", "c", "d"}))
DELETED = replace(RESCOPED, title="delete", over=True)
CHAPTERS = (CREATED, CHANGED, SHRUNK, JOINED, MOVED, RESCOPED, DELETED)


@dataclass(frozen=True, slots=True)
class Copy:
    """One ConfigMap as the story sees it: its content, and how each parent holds it."""

    data: Mapping[str, str]
    holds: Mapping[str, str] = field(default_factory=dict)


Sight = dict[str, Copy]
"""`<namespace>/<name>` -> what is there."""


def expected(chapter: Chapter) -> Sight:
    """All ConfigMaps of the story after a step."""
    if chapter.over:
        return {"a/theirs": Copy(STAYS), "a/merged": Copy(STAYS), "a/kept": Copy({"text": chapter.text})}
    made = {"one": "created"}
    sight = {f"{space}/settings": Copy({"text": f"{chapter.text} in {space}"}, made) for space in chapter.spaces}
    sight |= {
        "a/moved": Copy({"text": "moved"}, dict.fromkeys(chapter.movers, "created")),
        "a/joint": Copy({"text": "joint"}, {"one": "created", "two": "created"}),
        "a/theirs": Copy(STAYS),
        "a/merged": Copy({**STAYS, "ours": chapter.text}, {"one": "adopted"}),
        "a/gated": Copy({"text": "first"}, made),
        "a/kept": Copy({"text": chapter.text}, made),
    }
    return sight | ({"a/extra": Copy({"text": "extra"}, made)} if chapter.extra else {})


class Story:
    """One place where the story is told again and again: everything in it is put back at the end of each telling."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        red, blue = (stage.tenant(color, story=stage.mark) for color in ("red", "blue"))
        self.red, self._blue = red, blue
        self.within = f"story={stage.mark}"
        self.spaces = {
            "a": stage.namespace("a", red, story=stage.mark, stage="full"),
            "b": stage.namespace("b", red, story=stage.mark),
            "c": stage.namespace("c", blue, story=stage.mark),
            "d": stage.namespace("d", story=stage.mark),
        }
        self._letters = {name: letter for letter, name in self.spaces.items()}
        self._foreign = {name: self._create(self._plain(name, STAYS)) for name in ("theirs", "merged")}
        self._told = 0
        self.parents: dict[str, Manifest] = {}
        self._uids: dict[str, str] = {}

    # What users do. Each is called once per telling, in the order of CHAPTERS.

    def act(self, chapter: Chapter) -> None:
        """Do what leads to a chapter."""
        if chapter == CREATED:
            self._told += 1
            self._uids = {}
            self.parents = {word: self._parent(word, chapter) for word in ("one", "two")}
        elif chapter == RESCOPED:
            self._label("b", None)
            self._label("d", self.red)
        elif chapter.over:
            for parent in self.parents.values():
                self.stage.api.delete(parent).expect(200)
        else:
            self._edit("two" if chapter == JOINED else "one", chapter)

    def _parent(self, word: str, chapter: Chapter) -> Manifest:
        account = self.stage.account
        spec = {
            "tenantSelector": {"matchLabels": {"story": self.stage.mark}},
            "serviceAccount": {"name": account.name, "namespace": account.namespace},
            "resources": self._resources(word, chapter),
        }
        parent = ref(VERSION, KIND, self.stage.name(f"{word}-{self._told}")) | {"spec": spec}
        parent["metadata"]["labels"] = {"story": self.stage.mark}
        return self._create(parent)

    def _edit(self, word: str, chapter: Chapter) -> None:
        self.stage.edit(self.parents[word], resources=self._resources(word, chapter))

    def _label(self, letter: str, tenant: str | None) -> None:
        change = {"metadata": {"labels": {f"{GROUP}/tenant": tenant}}}
        self.stage.api.merge_patch(ref("v1", "Namespace", self.spaces[letter]), change).expect(200)

    def _create(self, manifest: Manifest) -> Manifest:
        body: Manifest = self.stage.api.create(manifest).expect(201).body
        return body

    def _plain(self, name: str, data: Mapping[str, str]) -> Manifest:
        return self._target(name, data) | {"metadata": {**self._target(name, data)["metadata"], "namespace": self.spaces["a"]}}

    def _target(self, name: str, data: Mapping[str, str]) -> Manifest:
        return config_map(name, dict(data), labels={"story": self.stage.mark})

    def _resources(self, word: str, chapter: Chapter) -> list[Manifest]:
        full: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"stage": "full"}}}
        own = [self._target("joint", {"text": "joint"})]
        own += [self._target("moved", {"text": "moved"})] if word in chapter.movers else []
        if word == "two":
            return [group(*own, **full)]
        own += [self._target("extra", {"text": "extra"})] if chapter.extra else []
        own += [self._target("theirs", {"theirs": "taken"})]
        here = "{{ namespace.metadata.name.split('-')[0] }}"
        gated = {"policy": {"condition": "object == null", "protect": False}}
        return [
            group(self._target("settings", {"text": f"{chapter.text} in {here}"})),
            group(*own, **full),
            group(self._target("merged", {"ours": chapter.text}), **full, policy={"creation": "Merge", "protect": False}),
            group(self._target("gated", {"text": chapter.text}), **full, **gated),
            group(self._target("kept", {"text": chapter.text}), **full, policy={"deletion": "Orphan"}),
        ]

    # What is there.

    def difference(self, chapter: Chapter) -> str:
        """What is not yet as it must be; empty when all is."""
        parents = {word: self.stage.api.get(parent) for word, parent in self.parents.items()}
        objects = self._objects()
        sight = {place: self._copy(found) for place, found in objects.items()}
        wanted = expected(chapter)
        if sight != wanted:
            wrong = {place for place in sight.keys() | wanted.keys() if sight.get(place) != wanted.get(place)}
            return "; ".join(f"{place}: {sight.get(place)} instead of {wanted.get(place)}" for place in sorted(wrong))
        if chapter.over:
            return "".join(f"{word} is still there; " for word, reply in parents.items() if reply.status != 404)
        late = [self._parent_difference(word, reply.expect(200).body, chapter) for word, reply in parents.items()]
        late += [self._tenant_difference(name, chapter.spaces) for name in (self.red, self._blue)]
        return "".join(late)

    def _tenant_difference(self, name: str, spaces: frozenset[str]) -> str:
        tenant = self.stage.read(ref(VERSION, "Tenant", name))
        wanted = sorted(self.spaces[letter] for letter in (spaces & {"c"} if name == self._blue else spaces - {"c"}))
        found = (tenant.get("status") or {}).get("namespaces")
        return "" if found == wanted else f"tenant {name} says {found}; "

    def _parent_difference(self, word: str, parent: Manifest, chapter: Chapter) -> str:
        status = parent.get("status") or {}
        if status.get("observedGeneration") != parent["metadata"]["generation"]:
            return f"{word} has not been looked at; "
        conditions = {one["type"]: one["status"] for one in status["conditions"]}
        ready = "False" if word == "one" else "True"
        if (conditions["Ready"], conditions["Reconciling"]) != (ready, "False"):
            return f"{word} says {status['conditions']}; "
        remembered = {self._place(item): _remembered(item["status"]) for item in status["processedItems"]}
        holds = {place: copy.holds[word] for place, copy in expected(chapter).items() if word in copy.holds}
        wanted = {place: ("", how == "created") for place, how in holds.items()}
        wanted |= {"a/theirs": ("Foreign", False)} if word == "one" else {}
        return "" if remembered == wanted else f"{word} remembers {remembered} instead of {wanted}; "

    def check(self, chapter: Chapter) -> None:
        """What must hold beside the expected world: nothing was made anew, and what is foreign was not touched."""
        objects = self._objects()
        for place, found in objects.items():
            uid = found["metadata"]["uid"]
            assert self._uids.setdefault(place, uid) == uid, f"{place} was replaced"
        assert objects["a/theirs"] == self._foreign["theirs"]
        merged = objects["a/merged"]["metadata"]
        assert merged["uid"] == self._foreign["merged"]["metadata"]["uid"]
        if chapter.over:
            kept = objects["a/kept"]
            for given_back in (objects["a/merged"], kept):
                assert marks(given_back) == set()
                assert holders(given_back) == set()
            assert kept["metadata"]["labels"] == {"story": self.stage.mark}
            assert not kept["metadata"].get("annotations")
            assert self._records() == []

    def _objects(self) -> dict[str, Manifest]:
        items = self.stage.api.list("v1", "ConfigMap", labelSelector=self.within).expect(200).body["items"]
        whole = [{"apiVersion": "v1", "kind": "ConfigMap"} | item for item in items]
        return {self._place(item | item["metadata"]): item for item in whole}

    def _place(self, item: Mapping[str, str]) -> str:
        return f"{self._letters[item['namespace']]}/{item['name']}"

    def _copy(self, found: Manifest) -> Copy:
        """A hold counts when label and managedFields agree; anything else of ours shows up as a hold of its own."""
        holds: dict[str, str] = {}
        left = holders(found)
        for word, parent in self.parents.items():
            manager = f"{GROUP}/{KIND.lower()}/{parent['metadata']['uid']}"
            how = hold_of(found, parent)
            if how is not None and manager in left:
                holds[word] = how
                left.discard(manager)
        holds |= dict.fromkeys(left, "an entry that is left over")
        if not holds:
            holds |= dict.fromkeys(marks(found), "a mark that is left over")
        return Copy(found.get("data") or {}, holds)

    def _records(self) -> list[Manifest]:
        uids = ",".join(parent["metadata"]["uid"] for parent in self.parents.values())
        listing = self.stage.api.list(VERSION, "TargetRecord", labelSelector=f"{GROUP}/record-of in ({uids})")
        items: list[Manifest] = listing.expect(200).body["items"]
        return items

    # Between two tellings, and after the last.

    def put_back(self) -> None:
        """Make the place as it was before the first chapter."""
        self._label("b", self.red)
        self._label("d", None)
        kept = ref("v1", "ConfigMap", "kept", self.spaces["a"])
        self.stage.api.delete(kept).expect(200)
        self.parents = {}

    def close(self) -> None:
        """Clear the place, also when a telling ended in the middle."""
        for parent in self.parents.values():
            self.stage.api.delete(parent).expect(200, 404)
            eventually(partial(self._let_go, parent))
        self.stage.close()

    def _let_go(self, parent: Manifest) -> bool:
        reply = self.stage.api.get(parent)
        if reply.status == 200:
            self.stage.api.merge_patch(parent, {"metadata": {"finalizers": None}}).expect(200, 404, 409)
        return reply.status == 404


def _remembered(status: Mapping[str, Any]) -> tuple[str, bool]:
    """Why a target failed ("" when it did not), and whether its parent created it."""
    return "" if status["status"] == "True" else status["reason"], status.get("created", False)

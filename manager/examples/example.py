"""An example folder as data: what is there before, the parents, and the steps of its expect.yaml; read and judged, nothing run.

    README.md       what it shows (for people)
    cluster/*.yaml  what is there before: namespaces, accounts, Tenants ...
    parent.yaml     the parents
    expect.yaml     steps: apply, edit, delete, advance, expect

The format of expect.yaml is documented in docs/examples.md; the models below are its only definition.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from apis.copyhold.duration import checked
from apis.invalid import explain
from apis.meta import GROUP, Manifest, Model, Ref, split_api_version
from apis.problems import Invalid
from apis.reasons import Reason
from manager.files import Found, read
from manager.render.text import Unreadable, document
from policy.plan import rank

EXPECT, PARENT, CLUSTER = "expect.yaml", "parent.yaml", "cluster"
LARGEST = 4 * 1024 * 1024
"""Characters of an expect.yaml, aliases expanded."""

WITHIN = "20s"
"""How long an expectation may take to come true, unless it says otherwise."""


# The format.


def _listed(value: Any) -> Any:
    """One entry may stand without its list."""
    return [value] if isinstance(value, Mapping | str) else value


def _named(manifest: Manifest) -> Manifest:
    metadata = manifest.get("metadata")
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]
    if not named or not all(isinstance(manifest.get(field), str) and manifest[field] for field in ("apiVersion", "kind")):
        raise ValueError("apiVersion, kind and metadata.name say which object is meant: add them")
    return manifest


def _appliable(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError("must be a manifest, or the name of a file in the folder")
    return _named(value)


Named = Annotated[dict[str, Any], AfterValidator(_named)]
Duration = Annotated[str, AfterValidator(checked)]


class Place(Model):
    """Which object is meant. `namespace` is omitted for cluster-scoped kinds."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str

    @property
    def ref(self) -> Ref:
        """The same as a reference."""
        return Ref(*split_api_version(self.api_version), self.kind, self.namespace, self.name)


class Impersonate(Model):
    """Who does a step. The request impersonates this user."""

    user: str
    groups: tuple[str, ...] = ()


class ConditionIs(Model):
    """A condition of an object's status, of the present generation. `message` is a text that it contains."""

    api_version: str = f"{GROUP}/v1alpha1"
    kind: str
    namespace: str = ""
    name: str
    type: str = "Ready"
    status: str = "True"
    reason: str | None = None
    message: str | None = None

    @property
    def ref(self) -> Ref:
        """The object."""
        return Ref(*split_api_version(self.api_version), self.kind, self.namespace, self.name)


class Owners(Model):
    """Which field managers own fields of an object: field path -> manager, or Kind/name or Kind/namespace/name of a parent."""

    of: Place
    fields: dict[str, Annotated[tuple[str, ...], BeforeValidator(_listed)]]


class Value(Model):
    """A value that is kept under a name, or compared with one that was kept: for what templates draw by lot."""

    of: Place
    field: str
    keep: str | None = None
    same: str | None = None
    differs: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(word is not None for word in (self.keep, self.same, self.differs)) != 1:
            raise ValueError("say one of keep, same and differs, each with the name of a kept value")
        return self


class Expect(Model):
    """What must come true within `within`, all of it at the same time."""

    objects: Annotated[tuple[Named, ...], BeforeValidator(_listed)] = ()
    absent: Annotated[tuple[Place, ...], BeforeValidator(_listed)] = ()
    ready: Annotated[tuple[ConditionIs, ...], BeforeValidator(_listed)] = ()
    owners: Annotated[tuple[Owners, ...], BeforeValidator(_listed)] = ()
    values: Annotated[tuple[Value, ...], BeforeValidator(_listed)] = ()
    within: Duration = WITHIN

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.objects or self.absent or self.ready or self.owners or self.values):
            raise ValueError("expects nothing: add objects, absent, ready, owners or values")
        return self


class Step(Model):
    """One of apply, edit, delete, advance and expect. `refused`: the server must say no, with this text in its answer."""

    title: str = ""
    apply: Annotated[tuple[Annotated[Any, AfterValidator(_appliable)], ...], BeforeValidator(_listed)] = ()
    edit: Named | None = None
    delete: Annotated[tuple[Place, ...], BeforeValidator(_listed)] = ()
    advance: Duration | None = None
    expect: Expect | None = None
    person: Annotated[Impersonate | None, Field(alias="as")] = None
    manager: str = ""
    force: bool = False
    refused: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        done = self.verbs
        if len(done) != 1:
            what = f"has {' and '.join(done)}: make each a step of its own" if done else "does nothing"
            raise ValueError(f"{what}: a step is one of apply, edit, delete, advance and expect")
        if done[0] in ("advance", "expect") and (self.person or self.manager or self.refused is not None):
            raise ValueError(f"as, manager and refused say how a request goes, and {done[0]} is none: remove them")
        if self.force and not self.apply:
            raise ValueError("force belongs to apply: remove it")
        return self

    @property
    def verbs(self) -> tuple[str, ...]:
        """What it does: one word."""
        words = ("apply", "edit", "delete", "advance", "expect")
        return tuple(word for word in words if getattr(self, word) not in ((), None))


class Script(Model):
    """An expect.yaml."""

    title: str = ""
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


# The folder.


@dataclass(frozen=True, slots=True)
class Setup:
    """What a folder puts into a cluster: `cluster/*.yaml` in the order in which it can be applied, then `parent.yaml`."""

    folder: Path
    cluster: tuple[Manifest, ...]
    parents: tuple[Manifest, ...]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.resolve().name

    @property
    def objects(self) -> tuple[Manifest, ...]:
        """All of it, in order."""
        return (*self.cluster, *self.parents)


@dataclass(frozen=True, slots=True)
class Example:
    """A setup and its script. `applied` has the objects of each step's `apply`, files read in."""

    setup: Setup
    script: Script
    applied: Mapping[int, tuple[Manifest, ...]]

    @property
    def title(self) -> str:
        """The script's, or the folder's name."""
        return self.script.title or self.setup.name

    def makes(self) -> Iterator[Ref]:
        """Every object that the folder and its steps would create, in order, each once."""
        manifests = [*self.setup.objects, *(manifest for step in self.applied.values() for manifest in step)]
        yield from dict.fromkeys(Ref.of(manifest) for manifest in manifests)


def setup(folder: Path) -> Setup:
    """Read what a folder puts into a cluster. Raises Invalid, naming file and line and the remedy."""
    if not folder.is_dir():
        raise _wrong(f"{folder}: no such folder: name a folder that holds {PARENT} and {CLUSTER}/*.yaml")
    parent = folder / PARENT
    if not parent.is_file():
        raise _wrong(f"{folder}: {PARENT} is missing: a folder holds {PARENT}, and in {CLUSTER}/ what must be there before it")
    before = folder / CLUSTER
    found = read([str(before)]) if before.is_dir() else []
    ordered = sorted(_manifests(found), key=lambda manifest: rank(Ref.of(manifest).key))
    return Setup(folder, tuple(ordered), tuple(_manifests(read([str(parent)]))))


def example(folder: Path) -> Example:
    """Read a whole example. Raises Invalid, naming file, line, step, field and remedy."""
    place = folder / EXPECT
    setting = setup(folder)
    if not place.is_file():
        raise _wrong(f"{folder}: {EXPECT} is missing: it says what shall come true (docs/examples.md)")
    written = script(str(place), _text(place))
    applied = {number: tuple(_applied(folder, place, number, step)) for number, step in enumerate(written.steps) if step.apply}
    return Example(setting, written, applied)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(f"{file}: is not text in UTF-8") from error
    except OSError as error:
        raise _wrong(f"{file}: cannot be read: {error.strerror}") from error


def script(name: str, text: str) -> Script:
    """The script of a text that stands in the file `name`. Raises Invalid."""
    try:
        value = document(text, LARGEST)
    except Unreadable as error:
        raise _wrong(f"{name} line {error.line}: {error.message}") from error
    if not isinstance(value, dict):
        raise _wrong(f"{name}: must be a map with `steps`, a list")
    try:
        return Script.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]["loc"]
        raise _wrong(explain(_where(name, text, value, first), error)) from error


def _manifests(found: list[Found]) -> Iterator[Manifest]:
    for item in found:
        yield item.manifest


def _applied(folder: Path, place: Path, number: int, step: Step) -> Iterator[Manifest]:
    for each in step.apply:
        if not isinstance(each, str):
            yield each
            continue
        file = folder / each
        if not file.resolve().is_relative_to(folder.resolve()) or not file.exists():
            raise _wrong(f"{place}: step {number + 1}: apply: {each}: no such file in the folder: correct the name")
        yield from _manifests(read([str(file)]))


def _wrong(message: str) -> Invalid:
    return Invalid(Reason.INVALID, message)


# Where an error stands.


def _where(name: str, text: str, value: Any, place: tuple[int | str, ...]) -> str:
    """`expect.yaml line 12: step 3 (the quota is there)`."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    where = f"{name} line {_line(root, place)}"
    if len(place) < 2 or place[0] != "steps" or not isinstance(place[1], int):
        return where
    step = value["steps"][place[1]]
    title = step.get("title") if isinstance(step, dict) else None
    return f"{where}: step {place[1] + 1}" + (f" ({title})" if isinstance(title, str) else "")


def _line(node: Any, place: tuple[int | str, ...]) -> int:
    """The line of the deepest node on the way; the index of an entry that stands without its list leads nowhere."""
    line = int(node.start_mark.line) + 1
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, item) for key, item in node.value if key.value == part), None)
            if found is not None:
                line, node = int(found[0].start_mark.line) + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = int(node.start_mark.line) + 1
    return line

"""An example folder as data: what is there before, the parents, and the steps of its expect.yaml; read and judged, nothing run.

    README.md       what it shows (for people)
    cluster/*.yaml  what is there before: namespaces, accounts, Tenants ...
    parent.yaml     the parents
    expect.yaml     steps: requests, time that passes, and expectations

The format of expect.yaml is manager.examples.script.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from apis.copyhold import globalresourcepermittemplate, resourcepermit, resourcepermittemplate
from apis.invalid import explain
from apis.meta import Manifest, Ref
from apis.problems import Invalid
from apis.reasons import Reason
from manager.examples.script import Script, Step
from manager.files import Found, read
from manager.render.text import Unreadable, document
from policy.plan import rank

EXPECT, PARENT, CLUSTER = "expect.yaml", "parent.yaml", "cluster"
LARGEST = 4 * 1024 * 1024
"""Characters of an expect.yaml, aliases expanded."""

_PERMITS = {
    (kind.group, kind.kind) for kind in (resourcepermit.KIND, resourcepermittemplate.KIND, globalresourcepermittemplate.KIND)
}


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

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that it makes."""
        return tuple(ref.name for ref in self.makes() if (ref.group, ref.kind) == ("", "Namespace"))

    @property
    def permits(self) -> bool:
        """Are there permits in it, so that admission must be served for its namespaces?"""
        return any((ref.group, ref.kind) in _PERMITS for ref in self.makes())


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

"""Which resources are served: the built-in ones, and those of definitions as they come and go."""

import re
from collections.abc import Iterable, Iterator, Sequence

from manager.embedded.convert import STORED
from manager.embedded.served import Served


class Registry:
    """The served kinds. `version` grows with each change: what was computed from them is then stale."""

    def __init__(self, builtin: Iterable[Served]) -> None:
        self.builtin = tuple(builtin)
        self.version = 0
        self._by_path: dict[tuple[str, str, str], Served] = {}
        self._by_kind: dict[tuple[str, str, str], Served] = {}
        self._definitions: dict[str, tuple[Served, ...]] = {}
        for served in self.builtin:
            self._add(served)

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The kind behind a path."""
        return self._by_path.get((group, version, plural))

    def of_kind(self, group: str, version: str, kind: str) -> Served | None:
        """The kind that an object names."""
        return self._by_kind.get((group, version, kind))

    def named(self, api_version: str, kind: str) -> Served | None:
        """The kind that an owner reference names. Any version of a group means the same objects."""
        group, _, version = api_version.rpartition("/")
        exact = self.of_kind(group, version, kind)
        if exact is not None:
            return exact
        return next((served for served in self if served.group == group and served.kind == kind), None)

    def define(self, definition: str, served: Sequence[Served]) -> None:
        """Serve the versions of a definition, instead of those it had; none of them takes it away."""
        for old in self._definitions.pop(definition, ()):
            self._by_path.pop((old.group, old.version, old.plural), None)
            self._by_kind.pop((old.group, old.version, old.kind), None)
        if served:
            self._definitions[definition] = tuple(served)
        for new in served:
            self._add(new)
        self.version += 1

    def of_definition(self, definition: str) -> tuple[Served, ...]:
        """What is served for a definition."""
        return self._definitions.get(definition, ())

    def __iter__(self) -> Iterator[Served]:
        return iter(self._by_path.values())

    def stored(self) -> list[Served]:
        """One version of each resource of which objects are kept and can be deleted."""
        found: dict[str, Served] = {}
        for served in self:
            if "delete" in served.verbs:
                found.setdefault(place_of(served), served)
        return list(found.values())

    def defined(self, group: str, version: str) -> list[Served]:
        """The kinds of definitions in a group version."""
        return [served for served in self if served.custom and (served.group, served.version) == (group, version)]

    def groups(self) -> dict[str, list[str]]:
        """The versions of each group, the preferred one first; built-in groups before those of definitions."""
        found: dict[str, list[str]] = {}
        for served in self:
            versions = found.setdefault(served.group, [])
            if served.version not in versions:
                versions.append(served.version)
        return {group: sorted(versions, key=priority) for group, versions in found.items()}

    def _add(self, served: Served) -> None:
        self._by_path[served.group, served.version, served.plural] = served
        self._by_kind[served.group, served.version, served.kind] = served


def place_of(served: Served) -> str:
    """What the objects of a kind are kept under."""
    return STORED.get(served.resource, served.resource)


_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")


def priority(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as Kubernetes does: v2, v1, v2beta1, v1beta2, v1alpha1, then others by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return stage, -int(found[1]), -int(found[3] or 0), version

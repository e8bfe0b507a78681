"""CustomResourceDefinitions: their defaults, whose names they take, and what is served for them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apis.meta import Manifest
from manager.embedded.causes import quote
from manager.embedded.definition_checks import stored_versions, validate_crd
from manager.embedded.served import Column, Served
from manager.embedded.structural import from_crd_version

__all__ = ["Naming", "columns_of", "default_crd", "naming", "served_of", "stored_versions", "validate_crd"]

VERBS = frozenset({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"})
NAME_COLUMN = Column("Name", "string", ".metadata.name", 0, "name")
AGE_COLUMN = Column("Age", "date", ".metadata.creationTimestamp")


def default_crd(crd: Manifest) -> Manifest:
    """With the defaults of its kind: singular, listKind, no conversion, and the storage version as the one stored."""
    spec = dict(crd.get("spec") or {})
    names = dict(spec.get("names") or {})
    if not names.get("singular"):
        names["singular"] = (names.get("kind") or "").lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    spec["names"] = names
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    return crd | {"spec": spec}


def served_of(crd: Manifest) -> list[Served]:
    """What is served for a definition, the versions in its order; under the names that it was given, if it was given any."""
    spec = crd["spec"]
    accepted = (crd.get("status") or {}).get("acceptedNames") or {}
    names = accepted if accepted.get("plural") else spec["names"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    return [_served(crd, version, names, storage) for version in spec["versions"] if version.get("served")]


def _served(crd: Manifest, version: Manifest, names: Manifest, storage: str) -> Served:
    subresources = version.get("subresources") or {}
    return Served(
        group=crd["spec"]["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=crd["spec"]["scope"] == "Namespaced",
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        subresources=frozenset(name for name in ("status", "scale") if subresources.get(name) is not None),
        scale=subresources.get("scale"),
        storage=storage,
        schema=from_crd_version(version),
        columns=columns_of(version),
        definition=crd["metadata"]["name"],
        selectable=tuple(each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()),
    )


def _column(column: Manifest) -> Column:
    return Column(
        column["name"],
        column["type"],
        column["jsonPath"],
        column.get("priority") or 0,
        column.get("format") or "",
        column.get("description") or "",
    )


def columns_of(version: Manifest) -> tuple[Column, ...]:
    """The columns of a version: the name, then its own, or the age where it has none."""
    own = tuple(_column(column) for column in version.get("additionalPrinterColumns") or ())
    return (NAME_COLUMN, *(own or (AGE_COLUMN,)))


@dataclass(frozen=True, slots=True)
class Naming:
    """Which names a definition has been given, and whether it got all that it asked for."""

    accepted: Manifest
    reason: str = "NoConflicts"
    message: str = "no conflicts found"

    @property
    def all(self) -> bool:
        """Did it get all of them?"""
        return self.reason == "NoConflicts"


def naming(crd: Manifest, others: Iterable[Manifest]) -> Naming:
    """Which names are free: a name that another definition of the group was given before is not."""
    group = crd["spec"]["group"]
    taken = [(other.get("status") or {}).get("acceptedNames") or {} for other in others if other["spec"]["group"] == group]
    resources = {name for each in taken for name in (each.get("plural"), each.get("singular"), *(each.get("shortNames") or ()))}
    kinds = {name for each in taken for name in (each.get("kind"), each.get("listKind"))}
    wanted, had = crd["spec"]["names"], dict((crd.get("status") or {}).get("acceptedNames") or {})
    accepted, why = dict(had), ("NoConflicts", "no conflicts found")
    for name, reason, used in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        clash = _clash(wanted.get(name), had.get(name), used)
        if clash:
            why = (reason, clash)
        elif wanted.get(name):
            accepted[name] = wanted[name]
        else:
            accepted.pop(name, None)
    accepted.pop("categories", None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return Naming(accepted, *why)


def _clash(wanted: Any, had: Any, used: set[Any]) -> str:
    if isinstance(wanted, list):
        problems = [problem for each in wanted if each not in (had or ()) and (problem := _clash(each, None, used))]
        return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""
    return f"{quote(wanted)} is already in use" if wanted and wanted != had and wanted in used else ""

"""What is rendered and what comes out: jobs, copies, documents, and the two pure clean-ups on the way in."""

from dataclasses import dataclass, field
from typing import Any

from apis.intent import Group
from apis.meta import GROUP, Manifest

Path = tuple[str | int, ...]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# What the server or another owner keeps: a copy has its own.
_SERVER_SET = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "ownerReferences",
        "managedFields",
        "finalizers",
        "namespace",
    }
)


@dataclass(frozen=True, slots=True)
class Copy:
    """An existing object that was read for `namespacedItems[query]`."""

    manifest: Manifest
    query: int


@dataclass(frozen=True, slots=True)
class Job:
    """One group for one unit of its scope.

    `variables`: `tenant`, `namespace`, `parent` (objects, see `visible`), `context` (index -> list of objects), and `params` and
    `request` for permits. Objects that several jobs of a batch share travel once when they are the same Python object.
    """

    group: Group
    variables: Manifest
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest and where it came from: `targets[0]`, `template[2] line 14` (of the rendered text), `namespacedItems[0]/name`.

    `scalars` are the paths at which a whole expression gave a number or a boolean: the only places where a server's schema
    may ask for a string instead (`manager.schemas`).
    """

    manifest: Manifest
    source: str
    scalars: tuple[Path, ...] = field(default=())


def visible(manifest: Manifest) -> Manifest:
    """The object as templates see it: without managedFields, resourceVersion and status, whose churn must render nothing anew."""
    metadata = manifest.get("metadata")
    seen = {key: value for key, value in manifest.items() if key != "status"}
    if isinstance(metadata, dict):
        seen["metadata"] = {key: value for key, value in metadata.items() if key not in ("managedFields", "resourceVersion")}
    return seen


def copied(manifest: Manifest, selected: frozenset[str] = frozenset()) -> Manifest:
    """The object as it is copied: content and meaning, without what belongs to the original.

    `selected` are the label keys of the query that found it; they go, so that a copy is not found by it.
    """
    metadata = manifest.get("metadata") or {}
    kept: dict[str, Any] = {key: value for key, value in metadata.items() if key not in _SERVER_SET}
    for marks, dropped in (("labels", selected), ("annotations", frozenset({LAST_APPLIED}))):
        if marks in kept:
            kept[marks] = {key: value for key, value in (kept[marks] or {}).items() if key not in dropped and not _ours(key)}
            if not kept[marks]:
                del kept[marks]
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": kept}


def _ours(key: str) -> bool:
    """Is it a mark of ours? All of them have our domain, or one below it, as prefix."""
    domain = key.partition("/")[0]
    return "/" in key and (domain == GROUP or domain.endswith(f".{GROUP}"))

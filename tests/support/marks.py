"""What a target says about its parents: our marks and managedFields, spelled out apart from the code under test."""

from tests.support.api import Manifest

GROUP = "copyhold.dev"


def manager_of(parent: Manifest) -> str:
    """The field manager of a parent."""
    return f"{GROUP}/{parent['kind'].lower()}/{parent['metadata']['uid']}"


def hold_of(target: Manifest, parent: Manifest) -> str | None:
    """How this parent holds the target: `created`, `adopted`, or None when it does not."""
    hold: str | None = (target["metadata"].get("labels") or {}).get(f"parent.{GROUP}/{parent['metadata']['uid']}")
    return hold


def marks(target: Manifest) -> set[str]:
    """The keys of all labels and annotations of ours."""
    metadata = target["metadata"]
    keys = [*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})]
    return {key for key in keys if key.partition("/")[0].endswith(GROUP)}


def holders(target: Manifest) -> set[str]:
    """The field managers of parents that have an entry in managedFields."""
    entries = target["metadata"].get("managedFields") or []
    return {entry["manager"] for entry in entries if entry["manager"].startswith(f"{GROUP}/")}


def owns(target: Manifest, manager: str, *path: str) -> bool:
    """Does this field manager own the field at this path (`data`, `a`) by an apply?"""
    for entry in target["metadata"].get("managedFields") or []:
        if entry["manager"] == manager and entry["operation"] == "Apply":
            fields = entry["fieldsV1"]
            for part in path:
                fields = fields.get(f"f:{part}")
                if fields is None:
                    break
            else:
                return True
    return False

"""A permit outside of its cluster: what is exported, and what is read back to be verified without one.

An export is a `List` of the permit and of the ConfigMap with the public keys, so that kubectl and jq know it. The keys in it say
who signed only to those who got the file from somebody they trust; `verify` takes them from where it is told, and nowhere else.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from apis.copyhold.resourcepermit import KIND
from apis.meta import Manifest
from apis.problems import Gone, Invalid
from apis.reasons import Reason
from manager.permits.keys import CONFIG_MAPS, NAME, public_keys
from manager.render.text import Unreadable, documents
from manager.world import World

LARGEST = 16_000_000
"""Characters of a file."""

STANDARD_INPUT = "-"


def is_file(word: str) -> bool:
    """Is a word of the command line a file, and not the name of a permit?"""
    return word == STANDARD_INPUT or "/" in word or Path(word).is_file()


def read(path: str) -> tuple[Manifest, ...]:
    """The objects of a file, also those within lists. Raises Gone and Invalid."""
    try:
        text = sys.stdin.read() if path == STANDARD_INPUT else Path(path).read_text()
    except FileNotFoundError as error:
        raise Gone(f"{path}: no such file: correct the path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error.strerror if isinstance(error, OSError) and error.strerror else "it is not text") from error
    try:
        found = [orjson.loads(text)] if text.lstrip().startswith("{") else [each for _, each in documents(text, LARGEST)]
    except orjson.JSONDecodeError as error:
        raise _unreadable(path, f"line {error.lineno}: it is not JSON") from error
    except Unreadable as error:
        raise _unreadable(path, f"line {error.line}: {error.message}") from error
    return tuple(each for one in found for each in _flat(one))


def _unreadable(path: str, why: str) -> Invalid:
    return Invalid(Reason.INVALID, f"{path} cannot be read: {why}")


def _flat(value: Any) -> Iterator[Manifest]:
    if isinstance(value, dict):
        items = value.get("items") if str(value.get("kind", "")).endswith("List") else None
        yield from (each for item in items for each in _flat(item)) if isinstance(items, list) else (value,)


def permit_in(objects: Sequence[Manifest], source: str) -> Manifest:
    """The one permit among objects. Raises Invalid."""
    found = [one for one in objects if one.get("kind") == KIND.kind and isinstance(one.get("metadata"), dict)]
    if len(found) != 1:
        raise _holds(source, f"{len(found)} ResourcePermits", "give a file with one, such as `permit export` writes")
    return found[0]


def keys_in(objects: Sequence[Manifest], source: str) -> Mapping[str, bytes]:
    """The public keys among objects, by id. Raises Invalid when there are none."""
    maps = [one for one in objects if one.get("kind") == "ConfigMap"]
    found = {name: key for one in maps for name, key in public_keys(one).items()}
    if not found:
        raise _holds(source, "no public keys", f"give the ConfigMap {NAME} of the manager's namespace, or an export")
    return found


def _holds(source: str, what: str, remedy: str) -> Invalid:
    return Invalid(Reason.INVALID, f"{source} holds {what}: {remedy}")


def keys_place(namespace: str) -> str:
    """How messages call the ConfigMap with the public keys."""
    return f"ConfigMap {namespace}/{NAME}"


async def published(world: World, namespace: str) -> Manifest:
    """The ConfigMap with the public keys. Raises Gone, Forbidden, Unavailable."""
    found = await world.get(CONFIG_MAPS, namespace, NAME)
    if found is None:
        remedy = "name the manager's namespace with --keys-namespace"
        raise Gone(f"{keys_place(namespace)}, with the public keys of permits, is not there: {remedy}")
    return found


def exported(permit: Manifest, config_map: Manifest) -> Manifest:
    """A permit and the public keys as one object."""
    return {"apiVersion": "v1", "kind": "List", "items": [_plain(permit), _plain(config_map)]}


def _plain(manifest: Manifest) -> Manifest:
    """Without who owns which field, which proves nothing here."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return manifest | {"metadata": metadata}

"""Secrets: texts become data, and some types demand certain keys. Nothing here shows what a Secret holds."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names
from manager.embedded.status import Cause

MOST_DATA = 1024 * 1024
"""Bytes in all values together, of a Secret or a ConfigMap."""

FIXED = "field is immutable when `immutable` is set"
ACCOUNT_NAME = "kubernetes.io/service-account.name"


def merge_texts(obj: Manifest) -> Manifest:
    """A Secret with its `stringData` as `data`; whatever is no Secret stays as it is."""
    if obj["kind"] != "Secret" or obj["apiVersion"] != "v1" or "stringData" not in obj:
        return obj
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in obj["stringData"].items()}
    rest = {key: value for key, value in obj.items() if key != "stringData"}
    return rest | {"data": obj.get("data", {}) | encoded}


def mend(new: Manifest, old: Manifest) -> None:
    """A Secret without a type keeps the one that it had."""
    if not new.get("type"):
        new["type"] = old["type"]


def check(secret: Manifest) -> Iterator[Cause]:
    """Keys, size, and what the type demands."""
    data: Mapping[str, str] = secret.get("data", {})
    for key in data:
        yield from config_key(key, "data")
    if sum(size(value) for value in data.values()) > MOST_DATA:
        yield causes.too_long("data", MOST_DATA)
    demand = _DEMANDS.get(secret.get("type", ""))
    if demand is not None:
        yield from demand(data)
    if secret.get("type") == "kubernetes.io/service-account-token" and not _annotation(secret, ACCOUNT_NAME):
        yield causes.required(f"metadata.annotations[{ACCOUNT_NAME}]")


def check_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The type never changes, and nothing of an immutable Secret does."""
    yield from metadata.immutable(new.get("type", ""), old.get("type", ""), "type")
    yield from check_fixed(new, old, "data")
    yield from metadata.standard_finalizers(new)
    yield from check(new)


def check_fixed(new: Manifest, old: Manifest, *fields: str) -> Iterator[Cause]:
    """What `immutable: true` means, for a Secret or a ConfigMap."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield causes.forbidden("immutable", FIXED)
    for field in fields:
        if new.get(field) != old.get(field):
            yield causes.forbidden(field, FIXED)


def config_key(key: str, path: str) -> Iterator[Cause]:
    """The rules for a key of `data`."""
    for why in names.config_key(key):
        yield causes.invalid(f"{path}[{key}]", key, why)


def size(encoded: str) -> int:
    """The bytes that a canonical base64 text stands for."""
    return len(encoded) // 4 * 3 - encoded.count("=", -2) if encoded else 0


def _annotation(secret: Manifest, key: str) -> Any:
    return secret["metadata"].get("annotations", {}).get(key)


def _docker(key: str) -> Callable[[Mapping[str, str]], Iterator[Cause]]:
    def demand(data: Mapping[str, str]) -> Iterator[Cause]:
        if key not in data:
            yield causes.required(f"data[{key}]")
        elif why := _no_object(base64.b64decode(data[key])):
            yield causes.invalid(f"data[{key}]", "<secret contents redacted>", why)

    return demand


def _no_object(text: bytes) -> str:
    """Why a text is no JSON object. Go names the character at fault; only that one is told."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc):
            return "unexpected end of JSON input"
        return f"invalid character {_character(error.doc[error.pos])} looking for beginning of value"
    except UnicodeDecodeError:
        return "invalid character 'ÿ' looking for beginning of value"
    kinds = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}
    found = kinds.get(type(value))
    return f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}" if found else ""


def _character(char: str) -> str:
    return {"'": "'\\''", '"': "'\"'"}.get(char, f"'{char}'")


def _basic(data: Mapping[str, str]) -> Iterator[Cause]:
    if "username" not in data and "password" not in data:
        yield causes.required("data[username]")
        yield causes.required("data[password]")


def _ssh(data: Mapping[str, str]) -> Iterator[Cause]:
    if not data.get("ssh-privatekey"):
        yield causes.required("data[ssh-privatekey]")


def _tls(data: Mapping[str, str]) -> Iterator[Cause]:
    for key in ("tls.crt", "tls.key"):
        if key not in data:
            yield causes.required(f"data[{key}]")


_DEMANDS = {
    "kubernetes.io/dockercfg": _docker(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _docker(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _basic,
    "kubernetes.io/ssh-auth": _ssh,
    "kubernetes.io/tls": _tls,
}

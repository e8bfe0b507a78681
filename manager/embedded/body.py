"""The body of a request: JSON or YAML, and of the kind that the path is about."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import yaml
import yaml.scanner

from apis.meta import Manifest, split_api_version
from manager.embedded import protobuf
from manager.embedded.gojson import fault
from manager.embedded.kinds.types import facts
from manager.embedded.request import JSON
from manager.embedded.served import Served
from manager.embedded.status import Cause, Named, StatusError, bad_request, invalid, too_large, unsupported
from manager.embedded.target import APPLY

LIMIT = 3 * 1024 * 1024
"""Bytes of a body, as the real server takes them."""

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
PATCHES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")
OBJECTS = (JSON, "application/yaml", protobuf.MEDIA)


def media_type(content_type: str) -> str:
    """`application/json; charset=utf-8` -> `application/json`; JSON when nothing is said."""
    return content_type.partition(";")[0].strip().lower() or JSON


def read(body: bytes, content_type: str, kind: str = "") -> Any:
    """The body of a create, an update or (without `kind`) the options of a deletion. Raises 400, 413, 415."""
    media = media_type(content_type)
    if media not in (JSON, protobuf.MEDIA, *YAML_TYPES):
        raise unsupported(OBJECTS)
    _bound(body)
    if media == protobuf.MEDIA:
        return _protobuf(body, kind)
    if media in YAML_TYPES:
        return _yaml(body, kind)
    value = _json(body, kind)
    _check_depth(value, body, kind)
    _check_floats(value, body, kind)
    return value


def _check_depth(value: Any, body: bytes, kind: str) -> None:
    """What is read must be written again, and the writer takes some 250 levels."""
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise _unrecognized(f"{_NO_HEAD}exceeded max depth", body, kind) from error


def _check_floats(value: Any, body: bytes, kind: str) -> None:
    """A number beyond what a float can be is 400."""
    found = _HUGE.search(body)
    if found is None or not _has_infinity(value):
        return
    version = str(value.get("apiVersion") or "").rpartition("/")[2] if isinstance(value, dict) else ""
    said = f"json: cannot unmarshal number {found[0].decode()} into Go value of type float64"
    raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {said}')


# Looked for from the first digit of a number on, and never back: a number of many digits takes no longer than it is.
_HUGE = re.compile(rb"(?<!\d)-?\d++(?:\.\d++)?[eE]\+?\d{3,}")


def _has_infinity(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_infinity, value.values()))
    if isinstance(value, list):
        return any(map(_has_infinity, value))
    return isinstance(value, float) and math.isinf(value)


def read_patch(body: bytes, media: str, accepted: Sequence[str]) -> Any:
    """The body of a patch. Raises 400, 413, 415."""
    if media not in PATCHES:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    if media not in accepted:
        raise unsupported(accepted)
    _bound(body)
    if media == APPLY:
        return _applied(body)
    try:
        return loads(body)
    except ValueError as error:
        raise bad_request(str(error) if media == STRATEGIC else f"error decoding patch: {error}") from error


def _bound(body: bytes) -> None:
    if len(body) > LIMIT:
        raise too_large(f"Request entity too large: limit is {LIMIT}")


def _json(body: bytes, kind: str) -> Any:
    try:
        return loads(body)
    except ValueError as error:
        raise _unrecognized(f"{_NO_HEAD}{error}", body, kind) from error


def loads(body: bytes) -> Any:
    """JSON as Go reads it: broken characters become U+FFFD, numbers may have any length. Raises ValueError in Go's words."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        why = fault(body)
        if why:
            raise ValueError(why) from error
    try:
        return _without_surrogates(json.loads(body.decode("utf-8", "replace"), parse_int=_number))
    except RecursionError as error:
        raise ValueError("exceeded max depth") from error


def _number(text: str) -> int | float:
    """A number of any length: Python refuses to read very long ones as integers."""
    return int(text) if len(text) < _LONG else float(text)


_LONG = 4000


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _protobuf(body: bytes, kind: str) -> Any:
    try:
        return protobuf.read(body)
    except protobuf.Malformed as error:
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {error}") from error


def _yaml(body: bytes, kind: str) -> Any:
    try:
        return load_yaml(body)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _unrecognized(_yaml_fault(error), body, kind) from error


def _unrecognized(said: str, body: bytes, kind: str) -> StatusError:
    if not kind:
        return bad_request(said)
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {said} ({_shown(body)})")


_NO_HEAD = "couldn't get version/kind; json parse error: "
_SHOWN = 30
"""Bytes of a body that an error shows."""


def _shown(body: bytes) -> str:
    """The beginning of a body in an error: as text when it is JSON, else in hexadecimal."""
    if not body.strip():
        return "<empty>"
    more = " ..." if len(body) > _SHOWN else ""
    text = body[:_SHOWN]
    return (text.decode("utf-8", "replace") if text.lstrip()[:1] == b"{" else body[:_SHOWN].hex()) + more


def _applied(body: bytes) -> Any:
    """Most clients apply JSON, which is YAML; the rest is read as such."""
    try:
        return _object(orjson.loads(body))
    except orjson.JSONDecodeError:
        pass  # it is YAML then
    try:
        return _object(load_yaml(body))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {_yaml_fault(error)}") from error


def _object(config: Any) -> Any:
    if config is None or isinstance(config, dict):
        return config or {}
    said = f"json: cannot unmarshal {_go_type(config)} into Go value of type map[string]interface {{}}"
    raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {said}")


def _yaml_fault(error: Exception) -> str:
    """As Go's YAML has it: scanners count lines from one, parsers from zero, and line zero is not told."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return f"yaml: {' '.join(str(error).split())}"
    line = mark.line + isinstance(error, yaml.scanner.ScannerError) if mark.line else 0
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem}"


def duplicates(body: bytes, value: Any) -> tuple[str, ...]:
    """What strict validation says of keys that a text has twice. JSON that is as long as it need be has none."""
    if len(orjson.dumps(value)) == len(body.strip()) or body.startswith(protobuf.MAGIC):
        return ()
    if not body.lstrip().startswith((b"{", b"[")):
        return _twice_in_yaml(body)
    try:
        pairs = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return _twice_in_yaml(body)  # it may be YAML that begins like JSON
    return tuple(f'duplicate field "{path}"' for path in _twice(pairs, ""))


def _twice_in_yaml(body: bytes) -> tuple[str, ...]:
    try:
        root = yaml.compose(body, Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return ()
    found = [f'  line {line}: key "{key}" already set in map' for line, key in _twice_below(root)]
    return ("\n".join(["yaml: unmarshal errors:", *found]),) if found else ()


def _twice_below(node: Any) -> Iterator[tuple[int, str]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    yield key.start_mark.line + 1, key.value
                seen.add(key.value)
            yield from _twice_below(value)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _twice_below(each)


class _Pairs(list[tuple[str, Any]]):
    """An object, key by key."""


def _twice(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, each in value:
            inner = f"{path}.{key}" if path else key
            if key in seen:
                yield inner
            seen.add(key)
            yield from _twice(each, inner)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _twice(each, f"{path}[{index}]")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as JSON has it: dates are text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(body: bytes) -> Any:
    """One YAML document as JSON would have it. Raises YAMLError, UnicodeDecodeError."""
    return _with_text_keys(yaml.load(body.decode(), Loader=_Loader))  # noqa: S506 - a safe loader


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key): _with_text_keys(each) for key, each in value.items()}
    return [_with_text_keys(each) for each in value] if isinstance(value, list) else value


def _text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def check_kind(given: Any, served: Served) -> Manifest:
    """The body as an object of the kind of its path. Raises 400."""
    if given is None:
        given = {}
    if not isinstance(given, dict):
        said = f"json: cannot unmarshal {_go_type(given)} into Go value of type {_HEAD}"
        raise _unrecognized(_NO_HEAD + said, orjson.dumps(given), served.kind)
    for field in ("apiVersion", "kind"):
        if not isinstance(given.get(field, ""), str | None):
            said = f"json: cannot unmarshal {_go_type(given[field])} into Go struct field .{field} of type string"
            raise _unrecognized(_NO_HEAD + said, orjson.dumps(given), served.kind)
    api_version, kind = given.get("apiVersion") or "", given.get("kind") or ""
    if served.custom:
        return _check_custom(given, served, api_version, kind)
    if (api_version or served.api_version) == served.api_version and (kind or served.kind) == served.kind:
        return given if api_version and kind else given | {"apiVersion": served.api_version, "kind": served.kind}
    raise _another_kind(api_version or served.api_version, kind or served.kind, served)


_HEAD = r"""struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"""


def registered(api_version: str, kind: str) -> bool:
    """Is it a built-in kind?"""
    return "/".join((*split_api_version(api_version), kind)) in facts().kinds


def _another_kind(api_version: str, kind: str, served: Served) -> StatusError:
    version = split_api_version(api_version)[1]
    if registered(api_version, kind):
        internal = served.group.partition(".")[0] or "core"
        said = f"converting ({version}.{kind}) to ({internal}.{served.kind}): unknown conversion"
    else:
        said = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {served.kind}: {said}')


def _check_custom(given: Manifest, served: Served, api_version: str, kind: str) -> Manifest:
    if not kind:
        shown = orjson.dumps(given)[:200].decode("utf-8", "replace")
        said = f"Object 'Kind' is missing in '{shown}' ({shown})"
        raise bad_request(f"the object provided is unrecognized (must be of type {served.kind}): {said}")
    if api_version != served.api_version:
        said = f"the API version in the data ({api_version}) does not match the expected API version ({served.api_version})"
        raise bad_request(said)
    if kind != served.kind:
        name = (given.get("metadata") or {}).get("name") or ""
        cause = Cause("FieldValueInvalid", f'Invalid value: "{kind}": must be {served.kind}', "kind")
        raise invalid(Named(served.group, kind, name), [cause])
    return given


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "null")

"""What a patch makes of an object, and how Go shows such things in its errors."""

from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import patch
from manager.embedded.body import JSON_PATCH, MERGE, STRATEGIC
from manager.embedded.served import Served
from manager.embedded.status import bad_request


def patched(media: str, live: Manifest, change: Any, served: Served) -> Any:
    """An object after a patch of this media type; not yet known to be one. Raises 400, 422."""
    if media == JSON_PATCH:
        if not isinstance(change, list):
            said = f"json: cannot unmarshal {_go_type(change)} into Go value of type []handlers.jsonPatchOp"
            raise bad_request(f"error decoding patch: {said}")
        return patch.json_patch(live, change)
    if not isinstance(change, dict):
        said = f"json: cannot unmarshal {_go_type(change)} into Go value of type map[string]interface {{}}"
        raise bad_request(said if media == STRATEGIC else f"error decoding patch: {said}")
    if media == MERGE:
        return patch.merge_patch(live, change)
    return patch.strategic_merge_patch(live, change, served.schema)


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def with_metadata(new: Manifest, given: Manifest) -> Manifest:
    """The decoded object with what decoding left out and still means something: metadata, and an empty managedFields."""
    metadata = new.get("metadata")
    if not isinstance(metadata, dict):
        return new | {"metadata": {}}
    told = given.get("metadata")
    if isinstance(told, dict) and told.get("managedFields") == []:
        return new | {"metadata": metadata | {"managedFields": []}}
    return new


def go_json(patched: Any) -> str:
    """The JSON of a patched object, as Go writes a map."""
    ordered = dict(sorted(patched.items())) if isinstance(patched, dict) else patched
    return orjson.dumps(ordered).decode()


def go_text(value: Any) -> str:
    """A value as Go prints it: `map[data:map[a:1]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(each)}' for key, each in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "<nil>", True: "true", False: "false"}[value]
    return str(value)

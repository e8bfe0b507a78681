"""kubectl's annotation of what it applied on the client's side, and how that becomes a server-side apply without conflicts."""

import orjson

from apis.meta import Manifest
from manager.embedded.comparison import compare
from manager.embedded.coverage import field_set
from manager.embedded.entries import metadata_of
from manager.embedded.fields import Tree, difference, json_text
from manager.embedded.fitting import validate
from manager.embedded.typed import Type

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATIONS = 256 * 1024  # bytes, keys and values of all annotations


def applied_before(live: Manifest, of: Type, api_version: str) -> Tree | None:
    """The fields of kubectl's annotation that still have the value which it gave them; None when there is no such annotation."""
    text = (metadata_of(live).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return None
    try:
        applied = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(applied, dict) or applied.get("apiVersion") != api_version or validate(applied, of):
        return None
    change = compare(applied, live, of)
    tree = field_set(applied, of)
    for other in change:
        tree = difference(tree, other)
    return tree


def kept_up(result: Manifest, config: Manifest) -> Manifest:
    """Keep kubectl's annotation at what was applied, where it is there at all, as long as annotations may be that large."""
    metadata = metadata_of(result)
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return result
    applied = config
    if metadata_of(config).get("annotations") is not None:
        rest = {key: value for key, value in config["metadata"]["annotations"].items() if key != LAST_APPLIED}
        applied = {**config, "metadata": {**config["metadata"], "annotations": rest}}
    text = f"{json_text(applied)}\n"
    others = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    wanted = {**others, LAST_APPLIED: text}
    size = sum(len(key.encode()) + len(value.encode()) for key, value in wanted.items())
    return {**result, "metadata": {**metadata, "annotations": wanted if size <= MAX_ANNOTATIONS else others}}

"""How an answer looks: the object as it is, its metadata, or a table; as JSON or YAML.

https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

import orjson
import yaml

from apis.meta import Manifest
from manager.embedded import convert
from manager.embedded.request import JSON
from manager.embedded.served import Column, Served
from manager.embedded.status import StatusError, not_acceptable
from manager.embedded.store import Stored

YAML = "application/yaml"
OFFERED = (JSON, YAML, "application/vnd.kubernetes.protobuf")
"""As the real server lists them. Protobuf is not spoken here, and all clients fall back to JSON."""

META = "meta.k8s.io"


class Shape(StrEnum):
    """What a client wants to see of objects."""

    WHOLE = ""
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"
    TABLE = "Table"


@dataclass(frozen=True, slots=True)
class View:
    """What the Accept header came to. `include` is a table's includeObject: None, Metadata or Object."""

    shape: Shape = Shape.WHOLE
    media: str = JSON
    version: str = "v1"
    include: str = "Metadata"

    def including(self, include: str) -> "View":
        """The same, with another includeObject; "" is the usual one."""
        return replace(self, include=include) if include else self


@lru_cache(maxsize=512)
def accepted(header: str) -> View:
    """The first of the accepted media types that is spoken here. Raises 406."""
    known = False
    for clause in _clauses(header or "*/*"):
        media, _, rest = clause.partition(";")
        media = {"*/*": JSON, "application/*": JSON, "application/yml": YAML}.get(media.strip(), media.strip())
        wanted = dict(part.strip().partition("=")[::2] for part in rest.split(";") if part)
        known = known or media in OFFERED
        if media not in (JSON, YAML) or wanted.get("as", "") not in set(Shape):
            continue
        if wanted.get("as") and (wanted.get("g") != META or wanted.get("v") not in ("v1", "v1beta1")):
            continue
        return View(Shape(wanted.get("as", "")), media, wanted.get("v", "v1"))
    if known:
        raise not_acceptable(OFFERED)
    listed = ", ".join((*OFFERED, *(f"{media};stream=watch" for media in (OFFERED[0], OFFERED[2]))))
    raise _unfit(f"406: Not Acceptable\n\nAvailable representations: {listed}")


def _clauses(header: str) -> list[str]:
    """The parts of an Accept header, best first."""
    parts = [part.strip() for part in header.split(",") if part.strip()]
    return sorted(parts, key=lambda part: -_quality(part))


def _quality(clause: str) -> float:
    for part in clause.split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


class Rows(Protocol):
    """What a table needs to know of a kind."""

    def row(self, obj: Manifest, now: datetime) -> list[Any]:
        """The cells of an object, one for each of the columns that are served."""


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list, or all of it: as of `revision`."""

    items: Sequence[Stored]
    revision: int
    token: str = ""
    remaining: int | None = None


class Decoder(Protocol):
    """Where the decoded form of a state comes from."""

    def decode(self, stored: Stored) -> Manifest:
        """It is shared."""


@dataclass(frozen=True, slots=True)
class Presenter:
    """Makes the answers of one request."""

    served: Served
    view: View
    rows: Rows
    decoder: Decoder
    now: datetime

    def one(self, stored: Stored) -> bytes:
        """A stored object."""
        if self.view.shape is Shape.WHOLE and self.view.media == JSON:
            return versioned(stored.raw, self.served)
        return self.manifest(self._named(self.decoder.decode(stored)))

    def manifest(self, manifest: Manifest) -> bytes:
        """An object that is not stored as it is: a dry run, a subresource."""
        if self.view.shape is Shape.METADATA_LIST:
            raise _unfit(f"you requested PartialObjectMetadataList, but the requested object is not a list ({self._go_type()})")
        if self.view.shape is Shape.TABLE:
            return self._dumps(self._table([manifest], {"resourceVersion": manifest["metadata"].get("resourceVersion", "")}))
        return self._dumps(self.partial(manifest) if self.view.shape is Shape.METADATA else manifest)

    def page(self, page: Page) -> bytes:
        """A list."""
        metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
        if page.token or self.served.custom:
            metadata |= {"continue": page.token}
        if page.remaining is not None:
            metadata |= {"remainingItemCount": page.remaining}
        if self.view.shape is Shape.METADATA:
            raise _unfit(f"you requested PartialObjectMetadata, but the requested object is a list ({self._go_type('List')})")
        if self.view.shape is Shape.WHOLE and self.view.media == JSON:
            return self._whole(page.items, metadata)
        items = [self._named(self.decoder.decode(each)) for each in page.items]
        if self.view.shape is Shape.TABLE:
            return self._dumps(self._table(items, metadata))
        if self.view.shape is Shape.METADATA_LIST:
            head = {"kind": Shape.METADATA_LIST, "apiVersion": f"{META}/{self.view.version}", "metadata": metadata}
            # As the real server has it: an empty list of metadata is null.
            return self._dumps(head | {"items": [self.partial(item) for item in items] or None})
        head = {"kind": f"{self.served.kind}List", "apiVersion": self.served.api_version, "metadata": metadata}
        return self._dumps(head | {"items": items})

    def event(self, kind: str, stored: Stored, *, first: bool) -> bytes:
        """A line of a watch. Only the `first` table of a stream has its columns."""
        if self.view.shape is Shape.WHOLE:
            return b'{"type":"%s","object":%s}\n' % (kind.encode(), versioned(stored.raw, self.served))
        manifest = self._named(self.decoder.decode(stored))
        if self.view.shape is Shape.TABLE:
            seen: Manifest = self._table([manifest], {"resourceVersion": str(stored.revision)}, head=first)
        else:
            seen = self.partial(manifest)
        return orjson.dumps({"type": kind, "object": seen}) + b"\n"

    def bookmark(self, revision: int, *, initial: bool) -> bytes:
        """A line that says how far a watch is; `initial` closes the initial state."""
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        shown: Manifest = {"kind": self.served.kind, "apiVersion": self.served.api_version, "metadata": metadata}
        if self.view.shape is Shape.TABLE:
            shown = {"kind": Shape.TABLE, "apiVersion": f"{META}/{self.view.version}", "metadata": metadata, "rows": []}
        elif self.view.shape is not Shape.WHOLE:
            shown |= {"kind": Shape.METADATA, "apiVersion": f"{META}/{self.view.version}"}
        return orjson.dumps({"type": "BOOKMARK", "object": shown}) + b"\n"

    def partial(self, manifest: Manifest) -> Manifest:
        """The metadata of an object alone."""
        return {"kind": Shape.METADATA, "apiVersion": f"{META}/{self.view.version}", "metadata": manifest["metadata"]}

    # Parts.

    def _whole(self, items: Sequence[Stored], metadata: Manifest) -> bytes:
        kind, api_version = f"{self.served.kind}List", self.served.api_version
        if self.served.custom:
            listed = b",".join(versioned(each.raw, self.served) for each in items)
            head = orjson.dumps({"apiVersion": api_version})[:-1]
            tail = orjson.dumps({"kind": kind, "metadata": metadata})[1:]
            return head + b',"items":[' + listed + b"]," + tail
        # Items of a built-in kind do not repeat what they are.
        skip = len(_head(self.served.group, self.served.storage or self.served.version, self.served.kind))
        if self.served.resource in convert.STORED:
            listed = b",".join(versioned(each.raw, self.served) for each in items)
        else:
            listed = b",".join(b"{" + each.raw[skip:] for each in items)
        return orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})[:-1] + b',"items":[' + listed + b"]}"

    def _go_type(self, suffix: str = "") -> str:
        if self.served.custom:
            return f"*unstructured.Unstructured{suffix}"
        return f"*{self.served.group.partition('.')[0] or 'core'}.{self.served.kind}{suffix}"

    def _named(self, manifest: Manifest) -> Manifest:
        return in_version(manifest, self.served)

    def _table(self, items: Iterable[Manifest], metadata: Manifest, *, head: bool = True) -> Manifest:
        columns = [_column(each) for each in self.served.columns] if head else None
        return {
            "kind": Shape.TABLE,
            "apiVersion": f"{META}/{self.view.version}",
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": [{"cells": self.rows.row(item, self.now)} | self._included(item) for item in items],
        }

    def _included(self, item: Manifest) -> Manifest:
        match self.view.include:
            case "None":
                return {"object": None}
            case "Object":
                return {"object": item}
        return {"object": self.partial(item)}

    def _dumps(self, value: Any) -> bytes:
        return dumps(value, self.view.media)


def dumps(value: Any, media: str) -> bytes:
    """A value as JSON or YAML."""
    if media == YAML:
        text: str = yaml.dump(value, Dumper=_Plain, default_flow_style=False, allow_unicode=True, width=1 << 20)
        return text.encode()
    return orjson.dumps(value)


class _Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """YAML without aliases: decoded objects share parts."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


_Plain.add_multi_representer(StrEnum, lambda dumper, value: dumper.represent_str(str(value)))


def in_version(kept: Manifest, served: Served) -> Manifest:
    """A stored object in the version that is asked for."""
    if kept["apiVersion"] == served.api_version:
        return kept
    if served.resource in convert.STORED:
        return convert.shown(kept, served.api_version)
    return kept | {"apiVersion": served.api_version}


def versioned(raw: bytes, served: Served) -> bytes:
    """The same, of its JSON: all versions of a kind have one shape and differ by their name, except for Events."""
    if served.resource in convert.STORED:
        return orjson.dumps(in_version(orjson.loads(raw), served))
    if served.storage in ("", served.version):
        return raw
    kept = _head(served.group, served.storage, served.kind)
    return _head(served.group, served.version, served.kind) + raw[len(kept) :]


@lru_cache(maxsize=1024)
def _head(group: str, version: str, kind: str) -> bytes:
    """How the JSON of an object begins (`Store.put` writes it so)."""
    api_version = f"{group}/{version}" if group else version
    return orjson.dumps({"apiVersion": api_version, "kind": kind})[:-1] + b","


def _column(column: Column) -> Manifest:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _unfit(message: str) -> StatusError:
    return StatusError(406, "NotAcceptable", message)

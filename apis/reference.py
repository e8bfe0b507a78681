"""The reference of a kind as Markdown, from the same schema that the API server gets: one home per fact."""

from collections.abc import Iterable, Iterator
from typing import Any

from apis.crd import crd
from apis.kind import Kind

Schema = dict[str, Any]

INTRODUCTION = """# Reference

Every field of every kind, as `kubectl explain` shows it. Written from the models by `make docs`; edit those, not this page.
"""
_TOP = ("apiVersion", "kind", "metadata")


def reference(kinds: Iterable[Kind]) -> str:
    """The whole page, one chapter per kind, in their order."""
    return "\n".join([INTRODUCTION, *(_chapter(kind) for kind in kinds)])


def _chapter(kind: Kind) -> str:
    definition = crd(kind)["spec"]
    names = definition["names"]
    schema = definition["versions"][0]["schema"]["openAPIV3Schema"]
    short = f", short {', '.join(f'`{name}`' for name in names['shortNames'])}" if names.get("shortNames") else ""
    scope = "namespaced" if kind.namespaced else "cluster-scoped"
    rows = [row for part in schema["properties"] if part not in _TOP for row in _field(schema, part, "")]
    rules = [f"- `{path or '.'}`: {message}" for path, message in _rules(schema, "")]
    return "\n".join(
        [
            f"## {kind.kind}",
            "",
            f"`{kind.api_version}`, {scope}{short}. {schema.get('description', '')}",
            "",
            "| field | type | default | |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            *(["Rules that the server checks:", "", *rules, ""] if rules else []),
        ]
    )


def _field(parent: Schema, name: str, prefix: str) -> Iterator[str]:
    schema = parent["properties"][name]
    path = f"{prefix}{name}"
    needed = " (required)" if name in parent.get("required", ()) else ""
    default = f"`{_yaml(schema['default'])}`" if "default" in schema and schema["default"] != {} else ""
    yield f"| `{path}` | {_type(schema)}{needed} | {default} | {_cell(schema.get('description', ''))} |"
    inner, mark = _inner(schema)
    for child in inner.get("properties", {}):
        yield from _field(inner, child, f"{path}{mark}.")


def _inner(schema: Schema) -> tuple[Schema, str]:
    """The node whose fields are listed below a field, and how the path says that there are several."""
    if schema.get("type") == "array":
        inner, mark = _inner(schema["items"])
        return inner, f"[]{mark}"
    if isinstance(schema.get("additionalProperties"), dict):
        inner, mark = _inner(schema["additionalProperties"])
        return inner, f".*{mark}"
    return schema, ""


def _type(schema: Schema) -> str:
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map to {_type(schema['additionalProperties'])}"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    return str(schema.get("type") or "anything")


def _rules(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path, _cell(rule.get("message") or rule["rule"])
    for name, child in schema.get("properties", {}).items():
        yield from _rules(child, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from _rules(schema[key], f"{path}{mark}")


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    """Text inside a table: one line, and no bar that would end the cell."""
    return " ".join(text.split()).replace("|", "\\|")

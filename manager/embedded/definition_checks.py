"""What is wrong with a CustomResourceDefinition, in the order and the words of the real server.

The server moves what all versions have in common out of the versions before it checks, and names it there: the schema of a
definition with one version is `spec.validation`.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from apis.meta import Manifest
from manager.embedded import definition_schema, gostruct
from manager.embedded.causes import child, duplicate, forbidden, index, invalid, key, not_supported, quote, required, too_many
from manager.embedded.fieldpath import WrongPath, field_path
from manager.embedded.kinds.names import label_1035, subdomain
from manager.embedded.resources import kind_problem
from manager.embedded.status import Cause

APPROVED = "api-approved.kubernetes.io"
MOST_SELECTABLE = 8
PAGE = "see https://github.com/kubernetes/enhancements/pull/1111"
IMMUTABLE = "field is immutable"

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_PER_VERSION = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")


def stored_versions(crd: Manifest) -> list[str]:
    """`status.storedVersions` as the server writes it: those that were, and the one that is stored now."""
    stored = list((crd.get("status") or {}).get("storedVersions") or ())
    now = [version["name"] for version in crd["spec"].get("versions") or () if version.get("storage")][:1]
    return stored + [version for version in now if version not in stored]


def validate_crd(crd: Manifest, old: Manifest | None = None) -> list[Cause]:
    """Why a definition (with its defaults) is refused; with `old`, an update of it. Its metadata is checked by others, except
    that it is named after its plural and group.
    """
    spec, metadata = crd.get("spec") or {}, crd["metadata"]
    causes: list[Cause] = []
    names = spec.get("names") or {}
    if old is None and metadata.get("name") != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
        causes.append(invalid("metadata.name", metadata.get("name") or "", 'must be spec.names.plural+"."+spec.group'))
    causes += _spec(spec)
    if old is not None:
        causes += _unchanged(spec, old)
    causes += _stored(stored_versions(crd), spec.get("versions") or [])
    causes += _approval(crd, old)
    was_open = old is not None and bool(old["spec"].get("preserveUnknownFields"))
    if spec.get("preserveUnknownFields") and not was_open:
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        causes.append(invalid("spec.preserveUnknownFields", True, why))
    return causes


def _spec(spec: Manifest) -> list[Cause]:
    """The parts in the order of the server, which moves what all versions have in common out of them."""
    versions = spec.get("versions") or []
    common = {word for word in _PER_VERSION if versions and all(each.get(word) == versions[0].get(word) for each in versions)}
    shared = {word: versions[0].get(word) for word in common}
    causes = [*_group(spec.get("group") or ""), *_scope(spec.get("scope") or "")]
    for place, version in enumerate(versions):
        if ((version.get("schema") or {}).get("openAPIV3Schema")) is None:
            causes.append(required(f"spec.versions[{place}].schema.openAPIV3Schema"))
    if spec.get("preserveUnknownFields") and any(_has_default(version.get("schema")) for version in versions):
        causes.append(invalid("spec.preserveUnknownFields", True, "must be false in order to use defaults in the schema"))
    for place, version in enumerate(versions):
        path = f"spec.versions[{place}]"
        problems = label_1035(version.get("name") or "")
        causes += [invalid(child(path, "name"), version.get("name") or "", ",".join(problems))] if problems else []
        own = {word: value for word, value in version.items() if word not in common}
        causes += _version(own, path, status=_status(version))
        causes += _selectable(own, version, path)
    causes += _storage(versions, common)
    first = versions[0].get("name") if versions else ""
    if first and (problems := label_1035(first)):
        causes.append(invalid("spec.version", first, ",".join(problems)))
    causes += _required_names(spec.get("names") or {})
    causes += list(_names(spec.get("names") or {}, "spec.names"))
    causes += _shared(shared, status=any(_status(version) for version in versions))
    causes += _selectable(shared, shared, "spec")
    return causes + list(_conversion(spec.get("conversion") or {}))


def _group(group: str) -> list[Cause]:
    if not group:
        return [required("spec.group")]
    problems = subdomain(group)
    if problems:
        return [invalid("spec.group", group, ",".join(problems))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _scope(scope: str) -> list[Cause]:
    if not scope:
        return [required("spec.scope")]
    known = ("Cluster", "Namespaced")
    return [] if scope in known else [not_supported("spec.scope", scope, known)]


def _status(version: Manifest) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _has_default(node: Any) -> bool:
    if isinstance(node, list):
        return any(map(_has_default, node))
    if not isinstance(node, dict):
        return False
    return node.get("default") is not None or any(map(_has_default, node.values()))


def _version(version: Mapping[str, Any], path: str, *, status: bool) -> list[Cause]:
    causes = [
        invalid(child(path, "deprecationWarning"), version["deprecationWarning"], why)
        for why in _warning(version)
        if version.get("deprecationWarning") is not None
    ]
    causes += _validation(version.get("schema"), child(path, "schema"), status=status)
    causes += list(_subresources(version.get("subresources") or {}, child(path, "subresources")))
    return causes + list(_columns(version.get("additionalPrinterColumns") or [], child(path, "additionalPrinterColumns")))


def _shared(shared: Mapping[str, Any], *, status: bool) -> list[Cause]:
    causes = _validation(shared.get("schema"), "spec.validation", status=status)
    causes += list(_subresources(shared.get("subresources") or {}, "spec.subresources"))
    return causes + list(_columns(shared.get("additionalPrinterColumns") or [], "spec.additionalPrinterColumns"))


def _warning(version: Mapping[str, Any]) -> Iterator[str]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield "can only be set for deprecated versions"
        return
    if len(warning.encode()) > 256:
        yield "must be <= 256 characters long"
    if not warning:
        yield "must not be an empty string"
    for place, each in enumerate(warning):
        if not each.isprintable():
            at = len(warning[:place].encode())
            yield f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            return


def _validation(validation: Any, path: str, *, status: bool) -> list[Cause]:
    raw = (validation or {}).get("openAPIV3Schema")
    return [] if raw is None else definition_schema.problems(raw, child(path, "openAPIV3Schema"), status=status)


def _subresources(subresources: Manifest, path: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for word, roots in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        place, given = f"{path}.scale.{word}", scale.get(word) or ""
        yield from _simple_path(given, place, roots) if given else [required(place)]
    selector = scale.get("labelSelectorPath") or ""
    if selector:
        yield from _simple_path(selector, f"{path}.scale.labelSelectorPath", (".spec.", ".status."))


def _simple_path(given: str, place: str, roots: tuple[str, ...] = ()) -> Iterator[Cause]:
    if not given.startswith("."):
        yield invalid(place, given, "must be a simple json path starting with .")
    elif roots and not given.startswith(roots):
        wanted = roots[0].rstrip(".") if len(roots) == 1 else "either .spec or .status"
        yield invalid(place, given, f"should be a json path under {wanted}")


def _columns(columns: list[Manifest], path: str) -> Iterator[Cause]:
    for place, column in enumerate(columns):
        at = index(path, place)
        if not column.get("name"):
            yield required(child(at, "name"))
        kind, one_of = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            yield required(child(at, "type"), one_of)
        elif kind not in _COLUMN_TYPES:
            yield invalid(child(at, "type"), kind, one_of)
        form = column.get("format") or ""
        if form and form not in _COLUMN_FORMATS:
            yield invalid(child(at, "format"), form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        given = column.get("jsonPath") or ""
        yield from _simple_path(given, child(at, "JSONPath")) if given else [required(child(at, "JSONPath"))]


def _selectable(holder: Mapping[str, Any], version: Mapping[str, Any], path: str) -> list[Cause]:
    fields = holder.get("selectableFields") or []
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    place = child(path, "selectableFields")
    if fields and schema is None:
        why = (
            "may only be set when validations.schema is included"
            if path == "spec"
            else "may only be set when `version.schema.openAPIV3Schema` is not included"
        )
        return [invalid(place, "", why)]
    causes, seen = [], set[str]()
    for at, each in enumerate(fields):
        given = each.get("jsonPath") or ""
        causes += list(_selected(given, schema or {}, child(index(place, at), "jsonPath"), seen))
        seen.add(given)
    return causes + ([too_many(place, len(seen), MOST_SELECTABLE)] if len(seen) > MOST_SELECTABLE else [])


def _selected(given: str, schema: Manifest, place: str, seen: set[str]) -> Iterator[Cause]:
    if not given:
        yield required(place)
        return
    try:
        path = field_path(given, schema, keys=False)
    except WrongPath as error:
        yield invalid(place, given, f"is an invalid path: {error}")
        return
    if path.split(".")[0] == "metadata":
        yield invalid(place, given, "must not point to fields in metadata")
    node: Any = schema
    for name in path.split("."):
        node = (node.get("properties") or {}).get(name) or {}
    if node.get("type") not in ("string", "boolean", "integer"):
        why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
        yield invalid(place, given, why)
    if given in seen:
        yield duplicate(place, given)


def _storage(versions: list[Manifest], common: set[str]) -> list[Cause]:
    names = [version.get("name") for version in versions]
    shown = [gostruct.version(version, common) for version in versions]
    causes = []
    if len(set(names)) != len(names):
        causes.append(invalid("spec.versions", shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        causes.append(invalid("spec.versions", shown, "must have exactly one version marked as storage version"))
    return causes


def _required_names(names: Manifest) -> list[Cause]:
    return [required(f"spec.names.{name}") for name in ("plural", "singular", "kind", "listKind") if not names.get(name)]


def _names(names: Manifest, path: str) -> Iterator[Cause]:
    for name in ("plural", "singular"):
        problems = label_1035(names[name]) if names.get(name) else []
        if problems:
            yield invalid(child(path, name), names[name], ",".join(problems))
    for name in ("kind", "listKind"):
        problem = kind_problem(names[name]) if names.get(name) else ""
        if problem:
            yield invalid(child(path, name), names[name], problem)
    yield from _labels(names.get("shortNames") or [], child(path, "shortNames"))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(child(path, "listKind"), names["listKind"], "kind and listKind may not be the same")
    yield from _labels(names.get("categories") or [], child(path, "categories"))


def _labels(labels: list[str], path: str) -> Iterator[Cause]:
    for place, each in enumerate(labels):
        problems = label_1035(each)
        if problems:
            yield invalid(index(path, place), each, ",".join(problems))


def _conversion(conversion: Manifest) -> Iterator[Cause]:
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    config = webhook.get("clientConfig")
    known = ("None", "Webhook")
    if not strategy:
        yield required("spec.conversion.strategy")
    elif strategy not in known:
        yield not_supported("spec.conversion.strategy", strategy, known)
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if config is not None:
            yield forbidden("spec.conversion.webhookClientConfig", why)
        if webhook.get("conversionReviewVersions"):
            yield forbidden("spec.conversion.conversionReviewVersions", why)
        return
    if config is None:
        yield required("spec.conversion.webhookClientConfig", "required when strategy is set to Webhook")
    elif (config.get("url") is None) == (config.get("service") is None):
        yield required("spec.conversion.webhookClientConfig", "exactly one of url or service is required")
    if not webhook.get("conversionReviewVersions"):
        yield required("spec.conversion.conversionReviewVersions")


def _unchanged(spec: Manifest, old: Manifest) -> list[Cause]:
    before = old["spec"]
    conditions = (old.get("status") or {}).get("conditions") or []
    established = any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
    fixed = [("scope",), ("names", "kind")] if established else []
    fixed += [("group",), ("names", "plural")]
    return [
        invalid(f"spec.{'.'.join(path)}", _at(spec, path), IMMUTABLE) for path in fixed if _at(spec, path) != _at(before, path)
    ]


def _at(spec: Manifest, path: tuple[str, ...]) -> Any:
    value: Any = spec
    for name in path:
        value = (value or {}).get(name)
    return value or ""


def _stored(stored: list[str], versions: list[Manifest]) -> list[Cause]:
    path, names = "status.storedVersions", [version.get("name") for version in versions]
    if not stored:
        return [invalid(path, None, "must have at least one stored version")]
    unstored = [version["name"] for version in versions if version.get("storage") and version.get("name") not in stored]
    causes = [invalid(path, stored, f"must have the storage version {each}") for each in unstored]
    return causes + [invalid(index(path, at), each, _missing(each)) for at, each in enumerate(stored) if each not in names]


def _missing(version: str) -> str:
    return (
        f"missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions until a "
        f"storage migration ensures no data remains persisted in {version} and removes {version} from status.storedVersions"
    )


def _approval(crd: Manifest, old: Manifest | None) -> list[Cause]:
    """Groups of Kubernetes itself need an annotation that says who approved them."""
    group: str = (crd.get("spec") or {}).get("group") or ""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    given = _approved(crd)
    if old is not None and _state(_approved(old)) == _state(given):
        return []
    place = key("metadata.annotations", APPROVED)
    match _state(given):
        case "missing":
            return [required(place, f"protected groups must have approval annotation {quote(APPROVED)}, {PAGE}")]
        case "invalid":
            why = f"protected groups must have approval annotation {quote(APPROVED)} with either a URL or a reason starting with"
            return [invalid(place, given, f'{why} "unapproved", {PAGE}')]
    return []


def _approved(crd: Manifest) -> str:
    approved: str = (crd["metadata"].get("annotations") or {}).get(APPROVED) or ""
    return approved


def _state(annotation: str) -> str:
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    parts = urlsplit(annotation)
    return "approved" if parts.scheme and parts.netloc else "invalid"

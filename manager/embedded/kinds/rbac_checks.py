"""The rules for Roles and bindings (pkg/apis/rbac/validation)."""

from collections.abc import Iterator

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

GROUP = "rbac.authorization.k8s.io"
_KINDS = ("ServiceAccount", "User", "Group")


def role(obj: Manifest) -> Iterator[Cause]:
    """A Role."""
    for index, each in enumerate(obj.get("rules") or ()):
        yield from _rule(each, f"rules[{index}]", namespaced=True)


def cluster_role(obj: Manifest) -> Iterator[Cause]:
    """A ClusterRole."""
    for index, each in enumerate(obj.get("rules") or ()):
        yield from _rule(each, f"rules[{index}]", namespaced=False)
    if "aggregationRule" not in obj:
        return
    path, selectors = "aggregationRule.clusterRoleSelectors", obj["aggregationRule"].get("clusterRoleSelectors", ())
    if not selectors:
        yield causes.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, each in enumerate(selectors):
        yield from metadata.selector(each, f"{path}[{index}]")


def role_binding(obj: Manifest) -> Iterator[Cause]:
    """A RoleBinding."""
    yield from _binding(obj, ("Role", "ClusterRole"), namespaced=True)


def role_binding_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The role that a binding gives never changes."""
    yield from metadata.standard_finalizers(new)
    yield from role_binding(new)
    yield from _same_role(new, old)


def cluster_role_binding(obj: Manifest) -> Iterator[Cause]:
    """A ClusterRoleBinding."""
    yield from _binding(obj, ("ClusterRole",), namespaced=False)


def cluster_role_binding_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The role that a binding gives never changes."""
    yield from metadata.standard_finalizers(new)
    yield from cluster_role_binding(new)
    yield from _same_role(new, old)


def _rule(rule: Manifest, path: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield causes.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs", [])
    if urls:
        if namespaced:
            yield causes.invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(each) for each in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield causes.invalid(f"{path}.nonResourceURLs", urls, why)
        return
    if not rule.get("apiGroups"):
        yield causes.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield causes.required(f"{path}.resources", "resource rules must supply at least one resource")


def _binding(obj: Manifest, kinds: tuple[str, ...], *, namespaced: bool) -> Iterator[Cause]:
    given = obj["roleRef"]
    if given["apiGroup"] != GROUP:
        yield causes.not_supported("roleRef.apiGroup", given["apiGroup"], (GROUP,))
    if given["kind"] not in kinds:
        yield causes.not_supported("roleRef.kind", given["kind"], kinds)
    yield from values.required_name(given["name"], "roleRef.name", names.path_segment)
    for index, each in enumerate(obj.get("subjects", ())):
        yield from _subject(each, f"subjects[{index}]", namespaced=namespaced)


def _subject(subject: Manifest, path: str, *, namespaced: bool) -> Iterator[Cause]:
    group = subject.get("apiGroup", "")
    if not subject["name"]:
        yield causes.required(f"{path}.name")
    if subject["kind"] not in _KINDS:
        yield causes.not_supported(f"{path}.kind", subject["kind"], _KINDS)
    elif subject["kind"] != "ServiceAccount":
        if group != GROUP:
            yield causes.not_supported(f"{path}.apiGroup", group, (GROUP,))
    else:
        if subject["name"]:
            yield from values.named(subject["name"], f"{path}.name", names.subdomain)
        if group:
            yield causes.not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield causes.required(f"{path}.namespace")


def _same_role(new: Manifest, old: Manifest) -> Iterator[Cause]:
    given = new["roleRef"]
    if given != old["roleRef"]:
        shown = ",".join(f'"{name}":{causes.to_json(given[key])}' for key, name in _ROLE_FIELDS)
        yield causes.invalid("roleRef", causes.OMITTED, f"{{{shown}}}: cannot change roleRef")


_ROLE_FIELDS = (("apiGroup", "APIGroup"), ("kind", "Kind"), ("name", "Name"))

"""Custom kinds of one test: made and unmade while a manager runs, and unknown to everybody else."""

from functools import partial
from typing import Any

from tests.support.api import Manifest, eventually, ref
from tests.support.names import fresh
from tests.support.stage import RBAC, Stage

OBJECT = {"type": "object"}
WATCHERS = "rbac.copyhold.dev/aggregate-to-watch"


def definition(stage: Stage, *versions: Manifest, scope: str = "Namespaced", **spec: Any) -> Manifest:
    """A CustomResourceDefinition of kind Widget in a group that is this test's own; `versions` are made by `version`."""
    group = f"{stage.mark}.test"
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
    manifest = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"widgets.{group}")
    return manifest | {"spec": {"group": group, "scope": scope, "names": names, "versions": list(versions), **spec}}


def version(name: str = "v1", *, storage: bool = True, served: bool = True, spec: Manifest | None = None) -> Manifest:
    """One version of a definition; `spec` is the schema of the field of that name, by default a map of strings."""
    inner = spec or OBJECT | {"additionalProperties": {"type": "string"}}
    schema = {"openAPIV3Schema": OBJECT | {"properties": {"spec": inner}}}
    return {"name": name, "served": served, "storage": storage, "schema": schema}


def widget(stage: Stage, name: str, spec: Manifest, namespace: str | None = None, *, version: str = "v1") -> Manifest:
    """A Widget of this test's group."""
    return ref(f"{stage.mark}.test/{version}", "Widget", name, namespace) | {"spec": spec}


def install(stage: Stage, manifest: Manifest) -> Manifest:
    """Create a definition and wait until it is served."""
    made = stage.create(manifest)
    served(stage, manifest)
    return made


def served(stage: Stage, manifest: Manifest) -> None:
    """Wait until every served version of a definition answers."""
    spec = manifest["spec"]
    for one in spec["versions"]:
        eventually(partial(_answers, stage, f"/apis/{spec['group']}/{one['name']}/widgets", served=one["served"]))


def _answers(stage: Stage, path: str, *, served: bool) -> bool:
    return (stage.api.request("GET", path).status == 200) == served


def watchable(stage: Stage) -> None:
    """Give the manager the right to watch the Widgets, as an administrator does for a kind that it should see at once."""
    role = ref(f"{RBAC}/v1", "ClusterRole", fresh(stage.name("watch")))
    role["metadata"]["labels"] = {WATCHERS: "true"}
    rule = {"apiGroups": [f"{stage.mark}.test"], "resources": ["widgets"], "verbs": ["get", "list", "watch"]}
    stage.create(role | {"rules": [rule]})
    whole = ref(f"{RBAC}/v1", "ClusterRole", "copyhold-watch")
    eventually(lambda: rule["apiGroups"] in [one["apiGroups"] for one in stage.read(whole)["rules"]])

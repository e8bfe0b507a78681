"""A folder of manifests as a World, alone and on top of another World."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest, Ref
from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from apis.selector import Requirement, Selector
from manager.files import Folder, Found, Overlaid, openapi, read, selector_of, updated
from manager.schemas import Schemas
from manager.wellknown import plural, well_known
from manager.world import Resource
from policy.place import NEEDED_VERBS
from tests.support.api import Api

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", True)
WIDGET = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {"name": "v1beta1", "served": True, "storage": False},
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"size": {"type": "string"}}}}}},
            },
            {"name": "v1alpha1", "served": False, "storage": False},
        ],
    },
}


def config_map(name: str = "settings", namespace: str = "solar-dev", **metadata: Any) -> Manifest:
    """A ConfigMap as a file holds it."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, **metadata}}


def namespace(name: str, **labels: str) -> Manifest:
    """A Namespace as a file holds it."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def folder(*manifests: Manifest) -> Folder:
    """A World of these objects."""
    return Folder(Found(manifest, f"file line {number}") for number, manifest in enumerate(manifests, 1))


# Reading.


def test_files_folders_and_lists_are_read_in_order(tmp_path: Path) -> None:
    """A folder with all below it, several documents in a file, Lists taken apart; other files and hidden ones are left alone."""
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.yaml").write_text("not: ours")
    (tmp_path / "README.md").write_text("# hello")
    (tmp_path / "a.yaml").write_text("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n---\n# nothing\n---\n" * 1)
    (tmp_path / "b" / "c.json").write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [namespace("two")]}))
    found = read([str(tmp_path), str(tmp_path / "a.yaml")])
    assert [item.manifest["metadata"]["name"] for item in found] == ["one", "two", "one"]
    assert found[0].where == f"{tmp_path / 'a.yaml'} line 2"
    assert found[1].where == f"{tmp_path / 'b' / 'c.json'} line 1 items[0]"


def test_times_and_words_are_read_as_kubectl_reads_them(tmp_path: Path) -> None:
    """A time stays text, `yes` is true."""
    file = tmp_path / "a.yaml"
    file.write_text("apiVersion: v1\nkind: X\nmetadata: {name: a, creationTimestamp: 2026-01-01T00:00:00Z}\nspec: {on: yes}\n")
    assert read([str(file)])[0].manifest["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert read([str(file)])[0].manifest["spec"] == {"true": True}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("a: b", r"a\.yaml line 1: is no Kubernetes object", id="no object"),
        pytest.param("\n- 1", r"a\.yaml line 2: is no Kubernetes object", id="a list"),
        pytest.param("a: [", r"a\.yaml line \d", id="no YAML"),
        pytest.param("{apiVersion: v1, kind: Pod, metadata: {}}", r"metadata\.name is missing", id="no name"),
        pytest.param(
            "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}", "kustomize build", id="kustomize's input"
        ),
        pytest.param("{apiVersion: v1, kind: List, items: [1]}", r"items\[0\]: is no Kubernetes object", id="inside a List"),
    ],
)
def test_what_is_no_object_is_refused_by_its_place(tmp_path: Path, text: str, says: str) -> None:
    """File and line, and what to do."""
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(Invalid, match=says):
        read([str(tmp_path)])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda place: place / "nope", "no such file or folder", id="absent"),
        pytest.param(lambda place: place, "holds no file that ends in", id="empty"),
        pytest.param(lambda place: _written(place / "a.yaml", b"\xff\xfe\x00"), "not text in UTF-8", id="binary"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, make: Callable[[Path], Path], says: str) -> None:
    """An absent file must not look like an empty one."""
    with pytest.raises(Invalid, match=says):
        read([str(make(tmp_path))])


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# The World.


async def test_objects_of_the_files_are_what_is_there() -> None:
    """With a UID, a resourceVersion above 1, and the namespace that they live in."""
    world = folder(config_map(labels={"share": "yes"}), config_map("other"))
    found = await world.get(CONFIG_MAP, "solar-dev", "settings")
    assert found is not None
    assert found["metadata"]["uid"]
    assert found["metadata"]["resourceVersion"] == "2"
    assert await world.get(CONFIG_MAP, "solar-dev", "absent") is None
    listed = await world.list(CONFIG_MAP, labels="share=yes")
    assert [item["metadata"]["name"] for item in listed.items] == ["settings"]
    spaces = await world.list(await world.resource("v1", "Namespace"))
    assert [item["metadata"]["labels"] for item in spaces.items] == [{"kubernetes.io/metadata.name": "solar-dev"}]


async def test_the_same_files_are_the_same_world() -> None:
    """Made-up UIDs come from the identity, so that two runs agree."""
    uids = [(await folder(config_map()).get(CONFIG_MAP, "solar-dev", "settings") or {})["metadata"]["uid"] for _ in range(2)]
    assert uids[0] == uids[1]


async def test_what_a_server_said_is_kept() -> None:
    """An export keeps its UID, resourceVersion and managedFields."""
    live = config_map(uid="u1", resourceVersion="77", managedFields=[{"manager": "x"}])
    assert await folder(live).get(CONFIG_MAP, "solar-dev", "settings") == live | {
        "metadata": {"generation": 1} | live["metadata"]
    }


@pytest.mark.parametrize(
    ("manifests", "says"),
    [
        pytest.param(
            [config_map(), config_map()], r"file line 2: ConfigMap solar-dev/settings stands in file line 1", id="twice"
        ),
        pytest.param([config_map(namespace="")], r"metadata\.namespace is missing", id="no namespace"),
    ],
)
def test_a_world_that_cannot_be_is_refused(manifests: list[Manifest], says: str) -> None:
    """By the place in the files."""
    with pytest.raises(Invalid, match=says):
        folder(*manifests)


async def test_a_cluster_scoped_object_has_no_namespace() -> None:
    """Whatever its file says, as with kubectl."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r", "namespace": "x"}}
    world = folder(role)
    found = await world.get(await world.resource("rbac.authorization.k8s.io/v1", "ClusterRole"), "", "r")
    assert found is not None
    assert "namespace" not in found["metadata"]


async def test_case_110_custom_kinds_come_from_definitions_in_the_files() -> None:
    """Served versions only, the stored one preferred."""
    world = folder(WIDGET)
    assert (await world.any_version("example.com", "Widget")).version == "v1"
    assert (await world.resource("example.com/v1beta1", "Widget")).path("a", "b") == (
        "/apis/example.com/v1beta1/namespaces/a/widgets/b"
    )
    with pytest.raises(Blocked):
        await world.resource("example.com/v1alpha1", "Widget")


async def test_case_110_an_unknown_kind_is_never_assumed_namespaced() -> None:
    """The remedy is in the message; its objects in the files disturb nobody."""
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
    with pytest.raises(Blocked, match="add its CustomResourceDefinition to -f") as caught:
        await folder(gadget).resource("example.com/v1", "Gadget")
    assert caught.value.reason == Reason.KIND_UNKNOWN


def test_a_broken_definition_is_named() -> None:
    """Which field is missing."""
    broken = {**WIDGET, "spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [{"name": "v1"}]}}
    with pytest.raises(Invalid, match=r"CustomResourceDefinition widgets\.example\.com: field 'plural' is missing"):
        folder(broken)


@pytest.mark.parametrize(
    ("api_version", "kind", "manifest", "path", "value"),
    [
        pytest.param("v1", "ConfigMap", {"data": {"n": 20}}, ("data", "n"), "20", id="data of a ConfigMap"),
        pytest.param(
            "apps/v1", "Deployment", {"metadata": {"labels": {"n": True}}}, ("metadata", "labels", "n"), "true", id="a label"
        ),
        pytest.param("apps/v1", "Deployment", {"spec": {"replicas": 3}}, ("spec", "replicas"), 3, id="a number"),
        pytest.param("example.com/v1", "Widget", {"spec": {"size": 3}}, ("spec", "size"), "3", id="a field of a CRD"),
    ],
)
async def test_strings_are_known_without_a_server(
    api_version: str, kind: str, manifest: Manifest, path: tuple[str, ...], value: Any
) -> None:
    """As far as definitions in the files and the commonest fields go."""
    schemas = Schemas(openapi(folder(WIDGET)))
    ref = Ref.of({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}})
    found: Any = await schemas.coerce(ref, manifest, [path])
    for step in path:
        found = found[step]
    assert found == value


# Selectors.

_WORD = st.from_regex(r"[a-z]([a-z./-]{0,8}[a-z])?", fullmatch=True)
_REQUIREMENT = st.one_of(
    st.builds(Requirement, _WORD, st.sampled_from(["In", "NotIn"]), st.lists(_WORD, min_size=1, max_size=3).map(tuple)),
    st.builds(Requirement, _WORD, st.sampled_from(["Exists", "DoesNotExist"])),
)


@given(st.lists(_REQUIREMENT, max_size=4).map(tuple))
def test_a_selector_is_read_back_from_its_text(requirements: tuple[Requirement, ...]) -> None:
    """Whatever Selector writes."""
    assert selector_of(str(Selector(requirements))).requirements == requirements


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        pytest.param("", (), id="everything"),
        pytest.param("a=b, c!=d", (Requirement("a", "In", ("b",)), Requirement("c", "NotIn", ("d",))), id="signs"),
        pytest.param("a==b", (Requirement("a", "In", ("b",)),), id="two signs"),
    ],
)
def test_short_forms_of_selectors_are_read(text: str, requirements: tuple[Requirement, ...]) -> None:
    """As kubectl takes them."""
    assert selector_of(text).requirements == requirements


@pytest.mark.parametrize("text", ["a b c d", "a near (b)"])
def test_a_selector_that_cannot_be_read_is_refused(text: str) -> None:
    """It must not select everything."""
    with pytest.raises(Invalid, match="label selector"):
        selector_of(text)


# On top of another World.


async def test_parents_tenants_and_namespaces_of_the_files_count_as_applied() -> None:
    """Their specs and labels; identity, status and other labels stay."""
    below = folder(
        namespace("solar-dev", old="1") | {"status": {"phase": "Active"}},
        {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": "wind"}},
    )
    above = folder(
        namespace("solar-dev", stage="dev"),
        {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": "solar"}},
    )
    world = Overlaid(below, above)
    spaces = await world.resource("v1", "Namespace")
    (space,) = (await world.list(spaces, labels="stage=dev,old")).items
    assert space["status"] == {"phase": "Active"}
    assert await world.get(spaces, "", "solar-dev") == space
    tenants = await world.list(await world.resource("copyhold.dev/v1alpha1", "Tenant"))
    assert [item["metadata"]["name"] for item in tenants.items] == ["solar", "wind"]


async def test_other_objects_of_the_files_are_left_out_where_there_is_a_server() -> None:
    """What is live is what the server says."""
    world = Overlaid(folder(), folder(config_map()))
    assert await world.get(CONFIG_MAP, "solar-dev", "settings") is None
    assert (await world.list(CONFIG_MAP)).items == []


async def test_a_kind_that_the_files_declare_is_known_before_the_server_has_it() -> None:
    """So that a change which brings both can be planned; a kind that nobody declares stays unknown."""
    world = Overlaid(folder(), folder(WIDGET))
    assert (await world.resource("example.com/v1", "Widget")).namespaced
    assert (await world.any_version("example.com", "Widget")).version == "v1"
    with pytest.raises(Blocked):
        await world.resource("example.com/v1", "Gadget")
    with pytest.raises(Blocked):
        await world.any_version("example.com", "Gadget")


def test_an_update_keeps_what_the_server_set() -> None:
    """A changed spec is a new generation."""
    live = {"metadata": {"name": "a", "uid": "u", "generation": 3, "labels": {"a": "1"}}, "spec": {"x": 1}, "status": {"s": 1}}
    wanted = {"metadata": {"name": "a", "uid": "made up", "labels": {"b": "2"}}, "spec": {"x": 2}, "status": {"s": 9}}
    assert updated(live, wanted) == {
        "metadata": {"name": "a", "uid": "u", "generation": 4, "labels": {"a": "1", "b": "2"}},
        "spec": {"x": 2},
        "status": {"s": 1},
    }


# The table of well-known kinds.


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        pytest.param("ConfigMap", "configmaps", id="plain"),
        pytest.param("NetworkPolicy", "networkpolicies", id="y"),
        pytest.param("Ingress", "ingresses", id="s"),
        pytest.param("Endpoints", "endpoints", id="a plural already"),
        pytest.param("Gateway", "gateways", id="y after a vowel"),
    ],
)
def test_plurals_follow_english(kind: str, word: str) -> None:
    """As far as Kubernetes' own kinds need it."""
    assert plural(kind) == word


def test_every_well_known_kind_is_as_the_server_says(api: Api) -> None:
    """Plural and scope of each, and no kind of Kubernetes' own that can be managed is missing."""
    documents = [
        api.request("GET", path, accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").expect(200).body
        for path in ("/api", "/apis")
    ]
    served = {
        (group["metadata"].get("name", ""), version["version"], entry["responseKind"]["kind"]): (
            entry["resource"],
            entry["scope"] == "Namespaced",
        )
        for document in documents
        for group in document["items"]
        for version in group["versions"]
        for entry in version["resources"]
        if set(entry["verbs"]) >= NEEDED_VERBS
    }
    known = {(one.group, one.version, one.kind): (one.plural, one.namespaced) for one in well_known()}
    assert {key: known[key] for key in known.keys() & served.keys()} == {key: served[key] for key in known.keys() & served.keys()}
    builtin = {key for key in served if "." not in key[0] or key[0].endswith(".k8s.io")}
    assert {key for key in builtin if "alpha" not in key[1] and "beta" not in key[1]} <= known.keys()

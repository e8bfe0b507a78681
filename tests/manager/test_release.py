"""Freeing one object: whose marks they are, who sends the request, and what is left on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from apis.meta import ACCOUNT_PREFIX, MANAGED, PARENT_PREFIX, PROTECTED, TARGET_PREFIX, Manifest
from apis.problems import Forbidden, Invalid
from manager.cli import main
from manager.release import Administrator, candidates, free, judged, kind_named, marked, the_one, whoami
from manager.world import Resource
from tests.manager.admission.bench import Bench, field_manager
from tests.realserver.access import Access
from tests.support.api import Api
from tests.support.build import applied, entry, stored
from tests.support.names import fresh
from tests.support.policies import refused
from tests.support.real import connect
from tests.support.stage import Stage, config_map, group

# Whose marks.


def test_marks_and_entries_name_the_parents() -> None:
    """Proven or not: what a backup restored has marks and no entry."""
    live = stored(
        applied("u1"),
        entry("copyhold.dev/admission", {}),
        entry("kubectl", {}),
        labels={MANAGED: "true", f"{PARENT_PREFIX}u1": "created", f"{PARENT_PREFIX}u2": "created"},
        annotations={f"{ACCOUNT_PREFIX}u3": "system:serviceaccount:a:b", "note": "x"},
    )
    assert marked(live) == {
        "u1": "copyhold.dev/globaltenantresource/u1",
        "u2": "copyhold.dev/unknown/u2",
        "u3": "copyhold.dev/unknown/u3",
    }


def test_the_dead_are_told_from_the_living() -> None:
    """And who holds the object by proof."""
    live = stored(applied("u1"), labels={f"{PARENT_PREFIX}u1": "created", f"{PARENT_PREFIX}u2": "created"})
    held = judged(live, {"u1": "GlobalTenantResource baseline", "u9": "TenantResource a/b"})
    assert (held.living, held.dead, held.proven) == ({"u1": "GlobalTenantResource baseline"}, ("u2",), frozenset({"u1"}))


# Who sends.


def test_an_administrator_impersonates_themselves() -> None:
    """With all groups, and the parent beside them."""
    assert Administrator("jane@example.com", ("ops", "system:authenticated")).headers("u1") == (
        "Impersonate-User: jane@example.com\r\n"
        "Impersonate-Group: ops\r\n"
        "Impersonate-Group: system:authenticated\r\n"
        "Impersonate-Extra-copyhold.dev%2Fparent: u1\r\n"
    )


@pytest.mark.parametrize("name", ["jane\r\nX-Evil: 1", "jané"])
def test_a_name_that_is_no_header_is_refused(name: str) -> None:
    """Nothing is spliced into a request."""
    with pytest.raises(Invalid, match="cannot be written into a header"):
        Administrator(name, ()).headers("u1")


# Kinds as kubectl takes them.


def served(kind: str, plural: str, *short: str, scope: str = "Namespaced") -> Manifest:
    """A resource of aggregated discovery."""
    return {
        "resource": plural,
        "responseKind": {"kind": kind},
        "singularResource": kind.lower(),
        "scope": scope,
        "shortNames": list(short),
        "verbs": ["get"],
    }


DISCOVERY: list[Manifest] = [
    {"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [served("Service", "services", "svc")]}]}]},
    {
        "items": [
            {
                "metadata": {"name": "apps"},
                "versions": [
                    {"version": "v1", "resources": [served("Deployment", "deployments", "deploy")]},
                    {"version": "v1beta1", "resources": [served("Deployment", "deployments", "deploy")]},
                ],
            },
            {
                "metadata": {"name": "serving.knative.dev"},
                "versions": [{"version": "v1", "resources": [served("Service", "services", "ksvc")]}],
            },
        ]
    },
]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        pytest.param("Deployment", "apps/v1 Deployment", id="kind"),
        pytest.param("deployments", "apps/v1 Deployment", id="plural"),
        pytest.param("deploy", "apps/v1 Deployment", id="short name"),
        pytest.param("deployment.apps", "apps/v1 Deployment", id="with its group"),
        pytest.param("deployments.v1beta1.apps", "apps/v1beta1 Deployment", id="with version and group"),
        pytest.param("svc", "v1 Service", id="a short name that is clear"),
        pytest.param("Service.v1", "v1 Service", id="of the core group"),
        pytest.param("service.serving.knative.dev", "serving.knative.dev/v1 Service", id="of another group"),
    ],
)
def test_a_kind_is_found_as_kubectl_finds_it(word: str, found: str) -> None:
    """By any of its names, in the preferred version."""
    names = [one for one in candidates(word, DISCOVERY) if word != "Service.v1" or not one.group]
    assert f"{the_one(word, names).api_version} {the_one(word, names).kind}" == found


@pytest.mark.parametrize(
    ("word", "says"),
    [
        pytest.param("service", r"is ambiguous: say Service\.serving\.knative\.dev or Service\.v1", id="two groups"),
        pytest.param("gadget", "no such kind", id="none"),
        pytest.param("deployment.batch", "no such kind", id="another group"),
    ],
)
def test_a_kind_that_is_not_clear_is_refused(word: str, says: str) -> None:
    """With the forms that are."""
    with pytest.raises(Invalid, match=says):
        the_one(word, candidates(word, DISCOVERY))


# On a real server.


@pytest.fixture
def bench(api: Api, policies: tuple[Manifest, ...]) -> Iterator[Bench]:
    """A namespace with people in it, under our policies."""
    made = Bench.build(api)
    yield made
    made.clear()


def call(*words: str, stdin: str | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, list(words), input=stdin, prog_name="copyhold")


def thing(bench: Bench) -> Manifest:
    """A ConfigMap with content."""
    return bench.object(data={"a": "1"})


def ours(manifest: Manifest) -> list[str]:
    """The marks and entries of ours that an object bears."""
    metadata = manifest["metadata"]
    keys = [*metadata.get("labels", {}), *metadata.get("annotations", {})]
    managers = [one["manager"] for one in metadata.get("managedFields", [])]
    return [word for word in (*keys, *managers) if "copyhold.dev/" in word]


def test_an_object_of_a_dead_parent_is_freed(bench: Bench, api: Api, kubeconfig: str) -> None:
    """Protection lets nobody else in; afterwards everybody may write, and the content is what it was."""
    held = bench.held(thing(bench), parent="dead-1")
    name = held["metadata"]["name"]
    refused(api.merge_patch(held, {"data": {"a": "2"}}), "copyhold-protection")
    result = call("release", "cm", name, "-n", bench.namespace, "--kubeconfig", kubeconfig, "--yes")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"ConfigMap {bench.namespace}/{name}: drops the marks of parent dead-1, which does not exist",
        f"ConfigMap {bench.namespace}/{name}: freed",
    ]
    free_now = api.get(held).expect(200).body
    assert ours(free_now) == []
    assert free_now["data"] == {"a": "1"}
    api.merge_patch(held, {"data": {"a": "2"}}).expect(200)


def test_several_dead_parents_let_go_at_once(bench: Bench, api: Api, kubeconfig: str) -> None:
    """Each mark and each entry."""
    body = thing(bench)
    held = bench.held(body, parent="dead-1")
    bench.held(body, parent="dead-2")
    assert (
        call(
            "release", "ConfigMap", body["metadata"]["name"], "-n", bench.namespace, "--kubeconfig", kubeconfig, "--yes"
        ).exit_code
        == 0
    )
    assert ours(api.get(held).expect(200).body) == []


def test_releasing_twice_is_done(bench: Bench, kubeconfig: str) -> None:
    """There is nothing to drop, and that is no error."""
    body = bench.admin.create(thing(bench)).expect(201).body
    result = call("release", "configmaps", body["metadata"]["name"], "-n", bench.namespace, "--kubeconfig", kubeconfig)
    assert (result.exit_code, result.stdout) == (0, f"ConfigMap {bench.namespace}/{body['metadata']['name']}: nothing to drop\n")


def test_without_a_terminal_a_yes_is_needed(bench: Bench, api: Api, kubeconfig: str) -> None:
    """Nothing is changed, and the exit code says so."""
    held = bench.held(thing(bench), parent="dead-1")
    result = call("release", "cm", held["metadata"]["name"], "-n", bench.namespace, "--kubeconfig", kubeconfig, stdin="y\n")
    assert result.exit_code == 2
    assert "give --yes" in result.stderr
    assert ours(api.get(held).expect(200).body) == ours(held)


def test_living_parents_keep_their_marks_unless_forced(bench: Bench, api: Api, kubeconfig: str, stage: Stage) -> None:
    """The marks that both share stay for the living one."""
    parent = stage.global_resource("alive", group(config_map("x")), scope="None")
    uid = parent["metadata"]["uid"]
    body = thing(bench)
    held = bench.held(body, parent="dead-1")
    bench.held(body, parent=uid)
    words = ("release", "cm", held["metadata"]["name"], "-n", bench.namespace, "--kubeconfig", kubeconfig, "--yes")
    result = call(*words)
    assert result.exit_code == 0, result.output
    assert f"keeps the marks of GlobalTenantResource {parent['metadata']['name']}" in result.stdout
    kept = api.get(held).expect(200).body
    assert kept["metadata"]["labels"] == {MANAGED: "true", PROTECTED: "true", f"{PARENT_PREFIX}{uid}": "created"}
    assert kept["metadata"]["annotations"].keys() == {f"{ACCOUNT_PREFIX}{uid}", f"{TARGET_PREFIX}{uid}"}
    assert [word for word in ours(kept) if "/dead-1" in word] == []
    assert call(*words).exit_code == 0
    assert call(*words, "--force").exit_code == 0
    assert ours(api.get(held).expect(200).body) == []


def test_an_object_that_is_not_there_is_an_error(bench: Bench, kubeconfig: str) -> None:
    """By its name."""
    result = call("release", "cm", "absent", "-n", bench.namespace, "--kubeconfig", kubeconfig, "--yes")
    assert result.exit_code == 1
    assert result.stderr == f"copyhold: ConfigMap {bench.namespace}/absent is not there: correct the name or the namespace\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param(("gadget", "x"), 1, "gadget: the server has no such kind", id="no kind"),
        pytest.param(("configmap", "x"), 2, "ConfigMap has a namespace: give it with -n", id="no namespace"),
    ],
)
def test_what_is_meant_must_be_clear(server: Access, kubeconfig: str, words: tuple[str, str], code: int, says: str) -> None:
    """Nothing is guessed."""
    result = call("release", *words, "--kubeconfig", kubeconfig, "--yes")
    assert result.exit_code == code
    assert says in result.stderr


def test_who_may_not_impersonate_is_told_what_it_needs(bench: Bench, server: Access, tmp_path: Path, stage: Stage) -> None:
    """Whatever else it may do."""
    held = bench.held(thing(bench), parent="dead-1")
    account = stage.service_account("deployer")
    stage.grant(account, [{"apiGroups": ["copyhold.dev"], "resources": ["*"], "verbs": ["list"]}])
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}])
    token = server.account_token(account.namespace, account.name)
    config = str(server.kubeconfig(tmp_path / "deployer", token=token))
    result = call("release", "cm", held["metadata"]["name"], "-n", bench.namespace, "--kubeconfig", config, "--yes")
    assert result.exit_code == 1, result.output
    assert "impersonate on users, groups and userextras/copyhold.dev/parent" in result.stderr
    assert ours(bench.admin.get(held).expect(200).body) == ours(held)


async def test_a_secret_is_freed_without_being_read(bench: Bench, server: Access, api: Api) -> None:
    """Marks are metadata."""
    secret = bench.object(kind="Secret", data={"a": "eA=="})
    held = bench.held(secret, parent="dead-1")
    cluster = connect(server)
    try:
        administrator = await whoami(cluster)
        assert administrator.user == "admin"
        assert "system:masters" in administrator.groups
        resource = await kind_named(cluster, "secrets")
        name = held["metadata"]["name"]
        assert await free(cluster, administrator, resource, bench.namespace, name, ["dead-1"], lambda _: False)
        assert not await free(cluster, administrator, resource, bench.namespace, name, ["dead-1"], lambda _: False)
    finally:
        await cluster.client.close()
    assert ours(api.get(held).expect(200).body) == []


async def test_what_protection_forbids_names_the_rights(bench: Bench, server: Access) -> None:
    """When impersonation is refused."""
    held = bench.held(thing(bench), parent="dead-1")
    cluster = connect(server)
    try:
        nobody = Administrator("nobody-at-all", ())
        resource = Resource("", "v1", "ConfigMap", "configmaps", True)
        with pytest.raises(Forbidden, match="impersonate on users, groups and userextras"):
            await free(cluster, nobody, resource, bench.namespace, held["metadata"]["name"], ["dead-1"], lambda _: False)
    finally:
        await cluster.client.close()


def test_the_field_manager_of_the_bench_is_one_of_ours() -> None:
    """What these tests stand on."""
    assert marked(stored(entry(field_manager(fresh()), {}))) != {}

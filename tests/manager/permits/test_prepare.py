"""From a created permit to its snapshot, on a server: what is rendered, tried, shown, and what keeps it from that."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

import pytest

from apis.intent import Identity
from apis.kind import Kind
from apis.meta import Key, Manifest
from apis.problems import Blocked, Invalid, Unavailable
from apis.reasons import Reason
from manager.cluster import ApiCluster
from manager.permits import vault
from manager.permits.growth import grown
from manager.permits.prepare import Stuck, look_again, prepare
from manager.permits.trial import preview_again
from policy.account import Accounts
from tests.manager.permits.preparing import ACCOUNTS, NOW, UID, bench, everywhere, local, parent_of, permit, rows
from tests.realserver.access import Access
from tests.support.api import Api, ref
from tests.support.stage import RBAC, Stage, config_map, group

PASSWORD = "correct horse battery staple"
WORD = "{{ context.source[0].data.word | b64decode }}"


@pytest.fixture
def stage(api: Api, server: Access, crds: tuple[Kind, ...]) -> Iterator[Stage]:
    """A stage whose `runner` may do everything; nothing but the tests writes to it."""
    made = Stage(api, server)
    yield made
    made.close()


def role(namespace: str | None = None) -> tuple[Manifest, Manifest]:
    """A Role that reads Pods, and its binding to the user of the parameters."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    return (
        ref(f"{RBAC}/v1", "Role", "pods-{{ params.user }}", namespace) | {"rules": rules},
        ref(f"{RBAC}/v1", "RoleBinding", "pods-{{ params.user }}", namespace)
        | {
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "pods-{{ params.user }}"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "{{ params.user }}"}],
        },
    )


def secret(name: str, namespace: str | None = None, **data: str) -> Manifest:
    """A Secret with these clear values."""
    return ref("v1", "Secret", name, namespace) | {
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    }


USER = {
    "type": "object",
    "required": ["user"],
    "properties": {"user": {"type": "string"}, "size": {"type": "number", "default": 2}},
}


# What comes out.


async def test_a_permit_becomes_a_snapshot_and_nothing_is_written(stage: Stage, server: Access) -> None:
    """Terms, account, rendered targets in their namespace, what would happen, which rights it gives; defaults count."""
    note = """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: note}
        data: {who: "{{ request.username }} {{ request.groups[0] }}", when: "{{ request.timestamp }}", size: "{{ params.size }}"}
    """
    template = local(
        stage.home,
        stage.account.name,
        group(*role(), name="rights"),
        group(template=note, policy={"deletion": "Orphan"}),
        paramSchema=USER,
        defaultDuration="30m",
        maxDuration="8h",
        keepFor="30d",
    )
    asked = permit(stage.home, template, {"user": "bob"}, startTime="2026-02-01T10:00:00+01:00")
    async with bench(server) as at:
        prepared = await at.prepare(template, asked)
    request = prepared.snapshot.request
    assert prepared.failure == ""
    assert request["template"] == {"kind": template["kind"], "name": "access", "uid": "template-uid", "generation": 3}
    assert request["impersonation"] == {"namespace": stage.home, "name": stage.account.name}
    assert request["approvals"] == {
        "auto": False,
        "required": 1,
        "selfApproval": "Deny",
        "validFor": "24h",
        "requireDigest": False,
    }
    terms = {key: request[key] for key in ("duration", "maxDuration", "keepFor", "startTime")}
    assert terms == {"duration": "30m", "maxDuration": "8h", "keepFor": "30d", "startTime": "2026-02-01T09:00:00Z"}
    rights, noted = request["resources"]
    assert (rights["name"], [target["metadata"] for target in rights["targets"]]) == (
        "rights",
        [{"name": "pods-bob", "namespace": stage.home}] * 2,
    )
    assert noted["policy"] == {"creation": "Owner", "protect": True, "force": False, "deletion": "Orphan"}
    assert noted["targets"][0]["data"] == {"who": "alice dev", "when": "2026-01-31T07:59:58Z", "size": "2"}
    assert [row["verb"] for row in prepared.snapshot.preview] == ["Create"] * 3
    assert [(row["subject"], row["resources"]) for row in prepared.snapshot.grants] == [("User/bob", ["pods"])]
    assert "secret" not in request
    assert stage.api.get(config_map("note", namespace=stage.home)).status == 404


async def test_preparing_needs_no_more_than_the_managers_own_rights(stage: Stage, manager_access: Access) -> None:
    """Bodies are read and dry runs made as the account; the manager reads metadata and RBAC, and keeps the clear values."""
    stage.create(secret("source", stage.home, word="hush"))
    context = {"resources": [{"index": "source", "apiVersion": "v1", "kind": "Secret", "name": "source"}]}
    copy = ref("v1", "Secret", "copy") | {"data": {"word": "{{ context.source[0].data.word }}"}}
    template = local(stage.home, stage.account.name, group(*role()), group(copy, context=context), paramSchema=USER)
    asked = permit(stage.home, template, {"user": "bob"})
    asked["metadata"]["uid"] = str(uuid4())  # its values are kept where all tests have theirs
    home = ACCOUNTS.manager_namespace
    async with bench(manager_access) as at:
        prepared = await at.prepare(template, asked)
        assert prepared.failure == ""
        assert [row["subject"] for row in prepared.snapshot.grants] == ["User/bob"]
        assert await vault.keep(at.cluster, home, asked, prepared.clear) == prepared.snapshot.request["secret"]
        stored = parent_of(asked, prepared).object
        assert await vault.read(at.cluster, home, stored) == list(prepared.clear)
        assert (await look_again(at.cluster, at.around, stored, prepared.clear, NOW)).failure == ""
        await vault.drop(at.cluster, home, asked)


async def test_what_is_there_already_is_judged_by_its_policy(stage: Stage, server: Access) -> None:
    """Owner: a conflict. Merge: adopted with the paths that change, in conflict with who holds a field, or with force over it."""
    for name in ("foreign", "adopted", "held", "forced"):
        stage.api.apply(config_map(name, {"a": "theirs"}, stage.home), manager="somebody").expect(201)
    merge = {"creation": "Merge"}
    template = local(
        stage.home,
        stage.account.name,
        group(config_map("foreign", {"b": "ours"})),
        group(config_map("adopted", {"a": "theirs", "b": "ours"}), config_map("held", {"a": "ours"}), policy=merge),
        group(config_map("forced", {"a": "ours"}), policy={**merge, "force": True}),
    )
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template))
    found = {row["name"]: row for row in prepared.snapshot.preview}
    assert rows(prepared) == {"foreign": "Conflict", "adopted": "Adopt", "held": "Conflict", "forced": "Adopt"}
    assert found["adopted"]["paths"] == [".data.b"]
    assert (found["forced"]["paths"], found["forced"]["taken"]) == ([".data.a"], [".data.a"])
    assert found["held"]["taken"] == [".data.a"]
    assert "somebody" in found["held"]["message"]
    assert prepared.failure == found["foreign"]["message"]
    assert f"ConfigMap {stage.home}/foreign: it exists" in prepared.failure


async def test_what_the_account_may_not_do_fails_the_preflight_and_leaves_the_snapshot(stage: Stage, server: Access) -> None:
    """The retry tries what was rendered, once the rights are there; not as an account that is gone."""
    weak = stage.service_account("weak")
    template = local(stage.home, weak.name, group(*role()), paramSchema=USER)
    asked = permit(stage.home, template, {"user": "bob"})
    rules = [
        {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    ]
    async with bench(server) as at:
        prepared = await at.prepare(template, asked)
        assert {row["verb"] for row in prepared.snapshot.preview} == {"Forbidden"}
        assert f"Role {stage.home}/pods-bob" in prepared.failure
        assert "weak" in prepared.failure
        stage.grant(weak, rules, stage.home)
        stored = parent_of(asked, prepared).object
        again = await look_again(at.cluster, at.around, stored, prepared.clear, NOW)
        assert (again.failure, [row["verb"] for row in again.snapshot.preview]) == ("", ["Create", "Create"])
        assert again.snapshot.digest == prepared.snapshot.digest
        stage.api.delete(ref("v1", "ServiceAccount", "weak", stage.home)).expect(200)
        gone = await look_again(at.cluster, at.around, stored, prepared.clear, NOW)
    assert f"ServiceAccount {stage.home}/weak is not there" in gone.failure


async def test_a_condition_is_tried_with_the_rest(stage: Stage, server: Access) -> None:
    """False: skipped, and nothing is wrong. One that cannot be evaluated fails the preflight without telling the object."""
    stage.create(config_map("there", {"word": PASSWORD}, stage.home))
    absent = group(config_map("there", {"a": "b"}), policy={"condition": "object == null"})
    broken = group(config_map("there", {"a": "b"}), policy={"condition": "int(object.data.word) > 1"})
    async with bench(server) as at:
        skipped = await at.prepare(template := local(stage.home, stage.account.name, absent), permit(stage.home, template))
        failed = await at.prepare(template := local(stage.home, stage.account.name, broken), permit(stage.home, template))
    assert (rows(skipped), skipped.failure) == ({"there": "Skip"}, "")
    assert skipped.snapshot.request["resources"][0]["policy"]["condition"] == "object == null"
    assert "ConditionEvaluationFailed" in failed.failure
    assert PASSWORD not in failed.failure


async def test_what_the_same_snapshot_makes_is_not_missed(stage: Stage, server: Access) -> None:
    """A namespace and a kind that come with it are fine; a namespace that nobody makes is not."""
    plural, made, group_name = "widgets", stage.name("made"), f"{stage.mark}.example.com"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group_name}"},
        "spec": {
            "group": group_name,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }
    widget = ref(f"{group_name}/v1", "Widget", "one")
    inside, lost = config_map("inside", namespace=made), config_map("lost", namespace="nowhere-at-all")
    template = everywhere(stage.account, group(definition, widget, ref("v1", "Namespace", made), inside))
    without = everywhere(stage.account, group(lost))
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template))
        missing = await at.prepare(without, permit(stage.home, without))
    assert prepared.failure == ""
    assert rows(prepared) == dict.fromkeys([f"{plural}.{group_name}", "one", made, "inside"], "Create")
    by_name = {row["name"]: row for row in prepared.snapshot.preview}
    assert by_name["one"]["namespace"] == stage.home
    assert "namespace" not in by_name[made]
    assert "namespace nowhere-at-all is not there" in missing.failure


async def test_a_binding_to_a_role_of_the_same_snapshot_needs_no_right_to_bind(stage: Stage, server: Access) -> None:
    """The account has what the role gives and no more; a binding to a role that nobody makes is named."""
    giver = stage.service_account("giver")
    stage.grant(
        giver, [{"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["get", "create", "patch"]}], stage.home
    )
    stage.grant(giver, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}], stage.home)
    template = local(stage.home, giver.name, group(*role()), paramSchema=USER)
    alone = local(stage.home, giver.name, group(role()[1]), paramSchema=USER)
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template, params={"user": "alice"}))
        missing = await at.prepare(alone, permit(stage.home, alone, params={"user": "alice"}))
    assert prepared.failure == ""
    assert [row["verb"] for row in prepared.snapshot.preview] == ["Create", "Create"]
    assert "Role.rbac.authorization.k8s.io" in missing.failure
    assert "pods-alice, which its roleRef names, is not there" in missing.failure


async def test_a_later_look_tells_what_has_grown(stage: Stage, server: Access) -> None:
    """Somebody makes an object that the reviewer was told is absent."""
    template = local(stage.home, stage.account.name, group(config_map("a", {"k": "v"}), policy={"creation": "Merge"}))
    asked = permit(stage.home, template)
    async with bench(server) as at:
        prepared = await at.prepare(template, asked)
        parent = parent_of(asked, prepared)
        same = await preview_again(at.cluster, at.around, parent, prepared.clear, NOW)
        stage.create(config_map("a", {"mine": "yes"}, stage.home))
        other = await preview_again(at.cluster, at.around, parent, prepared.clear, NOW)
    assert grown(prepared.snapshot.preview, same.rows) == ""
    assert grown(prepared.snapshot.preview, other.rows) == f"ConfigMap {stage.home}/a: was absent, and is there now"


@dataclass
class Down:
    """A cluster that answers no apply."""

    cluster: ApiCluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cluster, name)

    async def apply(self, *_: Any, **__: Any) -> Any:
        """No answer."""
        raise Unavailable("the server does not answer")


async def test_a_server_that_does_not_answer_fails_no_permit(stage: Stage, server: Access) -> None:
    """Nobody has to mend that: it is looked at again."""
    template = local(stage.home, stage.account.name, group(config_map("a", {"k": "v"})))
    async with bench(server) as at:
        await at.look()
        down = cast(ApiCluster, Down(at.cluster))
        with pytest.raises(Unavailable):
            await prepare(down, at.around, template, permit(stage.home, template), NOW)


# Context and secrets.


async def test_context_is_read_as_the_account_from_the_own_namespace(stage: Stage, server: Access) -> None:
    """By template and group, with parameters in the names; status and resourceVersions are not seen."""
    stage.create(config_map("source-a", {"word": "first"}, stage.home))
    stage.create(config_map("other", {"word": "second"}, stage.home, labels={"pick": "me"}))
    shared = {"resources": [{"index": "named", "apiVersion": "v1", "kind": "ConfigMap", "name": "source-{{ params.which }}"}]}
    picked = {"index": "picked", "apiVersion": "v1", "kind": "ConfigMap", "selector": {"matchLabels": {"pick": "me"}}}
    words = "{{ context.named[0].data.word }} {{ context.picked[0].data.word }} {{ 'status' in context.named[0] }}"
    target = config_map("copy", {"text": words + " {{ namespace.metadata.name }}"})
    schema = {"type": "object", "properties": {"which": {"type": "string"}}}
    template = local(
        stage.home,
        stage.account.name,
        group(target, context={"resources": [picked]}),
        context=shared,
        paramSchema=schema,
    )
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template, {"which": "a"}))
    assert prepared.clear[0]["data"]["text"] == f"first second false {stage.home}"


async def test_a_secret_is_masked_in_the_snapshot_and_clear_beside_it(stage: Stage, server: Access) -> None:
    """Nothing that is stored in the status holds a value; the digest is over what is seen."""
    stage.create(secret("source", stage.home, password=PASSWORD, user="postgres"))
    context = {"resources": [{"index": "source", "apiVersion": "v1", "kind": "Secret", "name": "source"}]}
    copy = ref("v1", "Secret", "copy") | {
        "stringData": {"url": "{{ 'pg://' ~ (context.source[0].data.password | b64decode) }}"},
        "data": {"raw": "{{ context.source[0].data.password }}"},
    }
    copy["metadata"]["labels"] = {"app": "postgres"}
    template = local(stage.home, stage.account.name, group(copy, context=context))
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template))
    assert prepared.failure == ""
    shown = json.dumps(prepared.snapshot.into({}))
    assert PASSWORD not in shown
    assert base64.b64encode(PASSWORD.encode()).decode() not in shown
    assert base64.b64decode(prepared.clear[0]["data"]["url"]).decode() == f"pg://{PASSWORD}"
    assert set(prepared.snapshot.request["resources"][0]["targets"][0]["data"]) == {"url", "raw"}
    assert prepared.snapshot.request["secret"] == f"permit-{UID}"


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(config_map("plain", {"fixed": "text"}), id="another kind"),
        pytest.param(
            ref("v1", "Secret", "plain")
            | {"metadata": {"name": "plain", "annotations": {"a": "{{ context.source[0].data.word }}"}}},
            id="an annotation",
        ),
        pytest.param(ref("v1", "Secret", f"s-{WORD}"), id="the name"),
        pytest.param(ref("v1", "Secret", "plain") | {"data": {WORD: ""}}, id="a key"),
    ],
)
async def test_what_a_secret_holds_stands_nowhere_in_plain(stage: Stage, server: Access, target: Manifest) -> None:
    """A group that reads Secrets renders only Secrets, and their values into data alone; the message names the group."""
    stage.create(secret("source", stage.home, word="hush"))
    context = {"resources": [{"index": "source", "apiVersion": "v1", "kind": "Secret", "name": "source"}]}
    template = local(stage.home, stage.account.name, group(target, name="copies", context=context))
    async with bench(server) as at:
        stuck = await _stuck(at, template, permit(stage.home, template))
    assert stuck.reason == Reason.SECRET_IN_PLAIN_TARGET
    assert isinstance(stuck.problem, Invalid)
    assert "resources[0] (copies)" in str(stuck)
    assert "hush" not in str(stuck)


# What keeps a permit from its snapshot.

PLAIN = group(config_map("a", {"k": "v"}))
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def reads(index: str, **reference: Any) -> Manifest:
    """A context of one reference to a ConfigMap."""
    return {"resources": [{"index": index, "apiVersion": "v1", "kind": "ConfigMap", "name": "x", **reference}]}


def selects(value: str) -> Manifest:
    """A context of the ConfigMaps with this label."""
    selector = {"matchLabels": {"team": value}}
    return {"resources": [{"index": "x", "apiVersion": "v1", "kind": "ConfigMap", "selector": selector}]}


def text(value: str) -> Manifest:
    """A group whose template is the text of a ConfigMap with this value."""
    return group(template=f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n")


RESOLUTION, CONTEXT, RENDERING = (
    Reason.TEMPLATE_RESOLUTION_FAILED,
    Reason.TEMPLATE_CONTEXT_FAILED,
    Reason.TEMPLATE_RENDERING_FAILED,
)

STUCK = {
    "parameters that nobody asked for": ([PLAIN], {}, {"user": "x"}, RESOLUTION, Invalid(Reason.INVALID, "")),
    "context of another namespace": (
        [PLAIN],
        {"context": reads("far", namespace="kube-system")},
        None,
        CONTEXT,
        Invalid(Reason.FOREIGN_NAMESPACE, ""),
    ),
    "one index twice": (
        [{**PLAIN, "context": reads("near")}],
        {"context": reads("near")},
        None,
        CONTEXT,
        Invalid(Reason.INVALID, ""),
    ),
    "a name that is empty, which would mean all": (
        [PLAIN],
        {"context": reads("x", name="{{ params.text }}"), "paramSchema": TEXT},
        {"text": ""},
        CONTEXT,
        Invalid(Reason.RENDER_FAILED, ""),
    ),
    "a label value that would be a selector": (
        [PLAIN],
        {"context": selects("{{ params.text }}"), "paramSchema": TEXT},
        {"text": "a),b in (c"},
        CONTEXT,
        Invalid(Reason.RENDER_FAILED, ""),
    ),
    "a missing source": ([PLAIN], {"context": reads("x", optional=False)}, None, CONTEXT, Blocked(Reason.SOURCE_MISSING, "")),
    "a name of nothing": ([text("{{ params.no }}")], {}, None, RENDERING, Invalid(Reason.RENDER_FAILED, "")),
    "a parameter that would be structure": (
        [text("{{ params.text }}")],
        {"paramSchema": TEXT},
        {"text": "a}\nb: {c"},
        RENDERING,
        Invalid(Reason.UNSAFE_VALUE, ""),
    ),
    "no target": ([group(template="# nothing\n")], {}, None, RENDERING, Invalid(Reason.RENDER_FAILED, "")),
    "a foreign namespace": (
        [group(config_map("a", namespace="other"))],
        {},
        None,
        RENDERING,
        Invalid(Reason.FOREIGN_NAMESPACE, ""),
    ),
    "a cluster-scoped kind": ([group(ref("v1", "Namespace", "x"))], {}, None, RENDERING, Invalid(Reason.CLUSTER_SCOPED, "")),
    "a kind in a List": (
        [group(template="{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Namespace, metadata: {name: x}}]}")],
        {},
        None,
        RENDERING,
        Invalid(Reason.CLUSTER_SCOPED, ""),
    ),
    "no name": (
        [group(template="{apiVersion: v1, kind: ConfigMap, metadata: {generateName: x-}}")],
        {},
        None,
        RENDERING,
        Invalid(Reason.INVALID, ""),
    ),
    "an unknown kind": (
        [group(ref("example.com/v9", "Nothing", "x"))],
        {},
        None,
        RENDERING,
        Blocked(Reason.KIND_UNKNOWN, ""),
    ),
    "one target twice": (
        [PLAIN, group(config_map("a", {"k": "w"}))],
        {},
        None,
        RENDERING,
        Invalid(Reason.DUPLICATE_TARGET, ""),
    ),
    "too much": (
        [text("{{ 'x' * 600000 }}")],
        {},
        None,
        Reason.SNAPSHOT_TOO_LARGE,
        Invalid(Reason.SNAPSHOT_TOO_LARGE, ""),
    ),
}


async def test_each_step_that_fails_has_its_reason(stage: Stage, server: Access) -> None:
    """And the problem says who must act: the author (Invalid), or somebody else (Blocked)."""
    async with bench(server) as at:
        for name, (groups, spec, params, reason, cause) in STUCK.items():
            template = local(stage.home, stage.account.name, *groups, **spec)
            stuck = await _stuck(at, template, permit(stage.home, template, params))
            found = (stuck.reason, type(stuck.problem), stuck.problem.reason)
            assert found == (reason, type(cause), cause.reason), (name, str(stuck))


async def test_what_was_read_tells_when_to_try_again(stage: Stage, server: Access) -> None:
    """The account that is missing, or the sources."""
    async with bench(server) as at:
        template = local(stage.home, "nobody", PLAIN)
        stuck = await _stuck(at, template, permit(stage.home, template))
        assert stuck.reason == Reason.IMPERSONATION_FAILED
        assert [(one.resource.kind, one.namespace, one.name) for one in stuck.sources] == [
            ("ServiceAccount", stage.home, "nobody")
        ]
        template = local(stage.home, stage.account.name, PLAIN, context=reads("x", optional=False))
        stuck = await _stuck(at, template, permit(stage.home, template))
        assert [(one.resource.kind, one.namespace, one.name) for one in stuck.sources] == [("ConfigMap", stage.home, "x")]


async def test_a_global_template_reaches_what_its_account_may(stage: Stage, server: Access) -> None:
    """Context and targets of other namespaces; what names none is in the permit's."""
    other = stage.namespace("other")
    stage.create(config_map("source", {"word": "far"}, other))
    near = config_map("near", {"word": "{{ context.far[0].data.word }}"})
    template = everywhere(stage.account, group(near, config_map("far", namespace=other)))
    template["spec"]["context"] = reads("far", name="source", namespace=other)
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template))
    assert prepared.failure == ""
    assert [target["metadata"]["namespace"] for target in prepared.clear] == [stage.home, other]
    assert prepared.clear[0]["data"] == {"word": "far"}


async def test_what_another_permit_made_is_joined(stage: Stage, server: Access) -> None:
    """Kin, by its own record and the proof on the object; without the record it is foreign."""
    other = "7d9c1c0e-0000-4000-8000-000000000077"
    labels = {"copyhold.dev/managed": "true", f"parent.copyhold.dev/{other}": "created"}
    stage.api.apply(
        config_map("a", {"k": "v"}, stage.home, labels=labels), manager=f"copyhold.dev/resourcepermit/{other}"
    ).expect(201)
    template = local(stage.home, stage.account.name, PLAIN)

    async def recorded(parent: str, _: Key) -> bool:
        return parent == other

    async with bench(server) as at:
        foreign = await at.prepare(template, permit(stage.home, template))
        at.around = replace(at.around, records_say=recorded)
        kin = await at.prepare(template, permit(stage.home, template))
    assert rows(foreign) == {"a": "Conflict"}
    assert (rows(kin), kin.failure) == ({"a": "Patch"}, "")


async def test_the_account_of_a_template_is_one_that_is_lent(stage: Stage, server: Access) -> None:
    """Its own, else `default` of the namespace, or the configured one for a global template; none of kube-system."""
    plain = group(config_map("a", {"k": "v"}))
    omitted = local(stage.home, "", plain)
    del omitted["spec"]["impersonation"]
    system = Identity("kube-system", "default")
    async with bench(server) as at:
        prepared = await at.prepare(omitted, permit(stage.home, omitted))
        assert prepared.snapshot.request["impersonation"] == {"namespace": stage.home, "name": "default"}
        prepared = await at.prepare(everywhere(None, plain), permit(stage.home, omitted), Accounts(stage.account))
        assert prepared.snapshot.request["impersonation"]["name"] == stage.account.name
        for template in (everywhere(None, plain), everywhere(system, plain)):
            stuck = await _stuck(at, template, permit(stage.home, template))
            assert stuck.reason == Reason.IMPERSONATION_FAILED
            assert "spec.impersonation of GlobalResourcePermitTemplate access" in str(stuck)


async def test_templates_see_no_word_of_the_requester_but_as_foreign(stage: Stage, server: Access) -> None:
    """`parent` is the identity of the permit: neither its spec nor its annotations pass by the check of values."""
    template = local(stage.home, stage.account.name, text("{{ parent | tojson | tojson }}"))
    asked = permit(stage.home, template, reason="}\nkind: Secret")
    asked["metadata"]["annotations"] = {"note": "}\nkind: Secret"}
    async with bench(server) as at:
        prepared = await at.prepare(template, asked)
    seen: dict[str, Any] = json.loads(prepared.clear[0]["data"]["k"])
    assert seen["metadata"].keys() == {"name", "namespace", "uid", "creationTimestamp"}
    assert seen.keys() == {"apiVersion", "kind", "metadata"}


async def test_marks_cannot_be_rendered(stage: Stage, server: Access) -> None:
    """What only the manager writes on targets is taken out before anybody reviews it."""
    forged = config_map(
        "a", labels={"copyhold.dev/managed": "true", "mine": "yes"}, annotations={f"target.copyhold.dev/{UID}": "x"}
    )
    template = local(stage.home, stage.account.name, group(forged))
    async with bench(server) as at:
        prepared = await at.prepare(template, permit(stage.home, template))
    metadata = prepared.snapshot.request["resources"][0]["targets"][0]["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"mine": "yes"}, {})


async def _stuck(at: Any, template: Manifest, asked: Manifest) -> Stuck:
    with pytest.raises(Stuck) as caught:
        await at.prepare(template, asked)
    return caught.value

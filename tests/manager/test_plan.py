"""What would happen: offline, from files alone; on the real server, by dry runs; and the exit code of every outcome."""

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from apis.intent import Identity
from apis.meta import GROUP, Manifest
from apis.problems import Blocked, Forbidden, Invalid, Problem
from apis.reasons import Reason
from manager.cli import main
from manager.files import Folder, Found, openapi
from manager.plan import COUNTS, Planner, Sheet, Standing, Target, chosen, document, exit_code, lines, plan, summary
from manager.preview import Change, OnPaper, Preview
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.surroundings import Trouble
from policy.account import Accounts
from policy.decide import Decision, Verb
from policy.shards import status_items
from tests.support.api import ref
from tests.support.build import ME, OWNER, applied, entry, item, live, parent, record, stored, want
from tests.support.stage import Stage, config_map, group

NOW = datetime(2026, 1, 1, tzinfo=UTC)
API = f"{GROUP}/v1alpha1"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}


def gtr(*groups: Manifest, name: str = "baseline", **spec: Any) -> Manifest:
    """A GlobalTenantResource over all tenants, with an account; `groups` are its resources."""
    account = {"name": "distributor", "namespace": "platform"}
    whole = {"serviceAccount": account, "resources": list(groups or [{"targets": [CONFIG]}]), **spec}
    return {"apiVersion": API, "kind": "GlobalTenantResource", "metadata": {"name": name}, "spec": whole}


def space(name: str, **labels: str) -> Manifest:
    """A Namespace of tenant solar."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {f"{GROUP}/tenant": "solar", **labels}}}


SOLAR = {"apiVersion": API, "kind": "Tenant", "metadata": {"name": "solar"}}
CLUSTER = (SOLAR, space("solar-dev"))


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    """Worker processes that end with the test."""
    renderer = Renderer()
    yield renderer
    await renderer.close()


async def planned(renderer: Renderer, *manifests: Manifest, names: tuple[str, ...] = (), **accounts: Any) -> tuple[Sheet, ...]:
    """The plan over these objects, without a server."""
    folder = Folder(Found(deepcopy(manifest), f"file line {number}") for number, manifest in enumerate(manifests, 1))
    planner = Planner(folder, renderer, Schemas(openapi(folder)), Accounts(**accounts), OnPaper(folder), NOW)
    return await plan(planner, names)


def verbs(sheets: tuple[Sheet, ...]) -> list[tuple[str, str, str]]:
    """Verb, reason and target, in order."""
    return [(str(one.verb), str(one.reason), str(one.decision.key)) for sheet in sheets for one in sheet.targets]


def text(sheets: tuple[Sheet, ...]) -> str:
    """What people read."""
    return "\n".join(line.text for line in lines(sheets))


# Offline.


async def test_case_110_files_alone_are_enough(renderer: Renderer) -> None:
    """Nothing live means Create; the account is shown."""
    sheets = await planned(renderer, *CLUSTER, gtr())
    assert verbs(sheets) == [("Create", "Missing", "ConfigMap solar-dev/settings")]
    assert exit_code(sheets) == 2
    assert text(sheets) == (
        "GlobalTenantResource baseline, as platform/distributor\n  create    ConfigMap solar-dev/settings (Missing)\n1 to create"
    )


async def test_case_110_an_unknown_kind_is_an_error_with_its_remedy(renderer: Renderer) -> None:
    """It is not guessed to be namespaced; the rest of the plan is shown."""
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    sheets = await planned(renderer, *CLUSTER, gtr({"targets": [widget, CONFIG]}))
    assert exit_code(sheets) == 1
    assert verbs(sheets) == [("Create", "Missing", "ConfigMap solar-dev/settings")]
    assert "example.com/v1 Widget: the files do not say what this kind is: add its CustomResourceDefinition to -f" in text(sheets)


async def test_case_110_a_custom_kind_is_planned_by_its_definition(renderer: Renderer) -> None:
    """From the files."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    sheets = await planned(renderer, *CLUSTER, definition, gtr({"targets": [widget]}))
    assert verbs(sheets) == [("Create", "Missing", "Widget.example.com solar-dev/w")]


THEIRS: Manifest = {**CONFIG, "metadata": {"name": "settings", "namespace": "solar-dev"}, "data": {"a": "2", "b": "3"}}


@pytest.mark.parametrize(
    ("policy", "live", "expected", "code"),
    [
        pytest.param({}, THEIRS, ("Conflict", "Foreign"), 1, id="a foreign object under Owner"),
        pytest.param({"creation": "Merge"}, THEIRS, ("Adopt", "Foreign"), 2, id="a foreign object under Merge"),
        pytest.param(
            {"creation": "Merge"},
            {**THEIRS, "metadata": {**THEIRS["metadata"], "managedFields": [entry("kubectl", {"f:data": {"f:a": {}}})]}},
            ("Conflict", "FieldTaken"),
            1,
            id="a field that another manager holds",
        ),
        pytest.param({"condition": "object != null"}, None, ("Skip", "ConditionNotMet"), 0, id="a condition that is false"),
    ],
)
async def test_a_target_is_judged_by_what_is_in_the_files(
    renderer: Renderer, policy: Manifest, live: Manifest | None, expected: tuple[str, str], code: int
) -> None:
    """The planner's own table, and the exit code that follows."""
    sheets = await planned(renderer, *CLUSTER, *([live] if live else []), gtr({"policy": policy, "targets": [CONFIG]}))
    assert verbs(sheets) == [(*expected, "ConfigMap solar-dev/settings")]
    assert exit_code(sheets) == code


async def test_an_adoption_shows_paths_and_values(renderer: Renderer) -> None:
    """What it is and what it becomes."""
    sheets = await planned(renderer, *CLUSTER, THEIRS, gtr({"policy": {"creation": "Merge"}, "targets": [CONFIG]}))
    assert '            .data.a: "2" -> "1"' in text(sheets)


async def test_a_secret_shows_paths_only(renderer: Renderer) -> None:
    """Neither in text nor in the document is there a value."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "stringData": {"key": "tobesecret"}}
    live = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "solar-dev"}, "data": {"key": "b2xk"}}
    sheets = await planned(renderer, *CLUSTER, live, gtr({"policy": {"creation": "Merge"}, "targets": [secret]}))
    assert sheets[0].targets[0].preview.changes == (Change(".data.key"),)
    whole = text(sheets) + json.dumps(document(sheets))
    assert ".data.key" in whole
    assert not any(word in whole for word in ("b2xk", "tobesecret", "dG9iZXNlY3JldA"))


async def test_a_parent_that_reads_secrets_shows_no_values(renderer: Renderer) -> None:
    """They may have gone anywhere."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "platform"}, "data": {"key": "b2xk"}}
    context = {"resources": [{"index": "s", "apiVersion": "v1", "kind": "Secret", "namespace": "platform", "name": "s"}]}
    leak = {**CONFIG, "data": {"a": "{{ context.s[0].data.key }}"}}
    group = {"policy": {"creation": "Merge"}, "context": context, "targets": [leak]}
    sheets = await planned(renderer, *CLUSTER, secret, THEIRS, gtr(group))
    assert sheets[0].targets[0].preview.changes == (Change(".data.a"),)
    assert "b2xk" not in text(sheets) + json.dumps(document(sheets))


def recorded(uid: str, *names: str) -> Manifest:
    """The status of a parent that created these ConfigMaps in solar-dev."""
    items = [record(want(name), uid=f"live-{name}") for name in names]
    return {"observedGeneration": 1, "processedItems": status_items(items)}


def held(name: str, mark: str = "created") -> Manifest:
    """A ConfigMap as this parent left it."""
    labels = {f"{GROUP}/managed": "true", f"parent.{GROUP}/{ME}": mark}
    return stored(applied(f_data={"f:a": {}}), labels=labels, name=name, uid=f"live-{name}")


async def test_what_is_recorded_and_not_rendered_is_removed(renderer: Renderer) -> None:
    """From the status that the exported parent carries."""
    exported = gtr() | {"status": recorded(ME, "settings", "old")}
    exported["metadata"] = {"name": "baseline", "uid": ME, "generation": 1}
    sheets = await planned(renderer, *CLUSTER, held("settings"), held("old"), exported)
    assert ("Remove", "NotWanted", "ConfigMap solar-dev/old") in verbs(sheets)
    assert exit_code(sheets) == 2


async def test_a_parent_that_is_being_deleted_takes_everything_back(renderer: Renderer) -> None:
    """From memory alone."""
    exported = gtr({"template": "{{ broken"}) | {"status": recorded(ME, "settings")}
    exported["metadata"] = {"name": "baseline", "uid": ME, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    sheets = await planned(renderer, *CLUSTER, held("settings"), exported)
    assert sheets[0].standing == Standing.DELETING
    assert verbs(sheets) == [("Remove", "NotWanted", "ConfigMap solar-dev/settings")]


async def test_the_delete_budget_is_told_and_is_an_error(renderer: Renderer) -> None:
    """With the annotation that confirms exactly these removals."""
    names = [f"old-{number}" for number in range(12)]
    exported = gtr({"policy": {"condition": "false"}, "targets": [CONFIG]}) | {"status": recorded(ME, *names)}
    exported["metadata"] = {"name": "baseline", "uid": ME, "generation": 1}
    sheets = await planned(renderer, *CLUSTER, *(held(name) for name in names), exported)
    assert summary(sheets)["failed"] == 12
    assert exit_code(sheets) == 1
    assert "annotate the parent with copyhold.dev/confirm-prune=" in text(sheets)


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        pytest.param(gtr(scope="Sideways"), Reason.INVALID, id="an invalid spec"),
        pytest.param(gtr({"template": "{% if %}"}), Reason.RENDER_FAILED, id="a template that does not parse"),
        pytest.param(gtr(serviceAccount=None), Reason.ACCOUNT_MISSING, id="no account"),
        pytest.param(gtr(dependsOn=[{"name": "absent"}]), Reason.DEPENDENCY_NOT_READY, id="a dependency that is not there"),
        pytest.param(gtr(dependsOn=[{"name": "baseline"}]), Reason.DEPENDENCY_CYCLE, id="a circle"),
        pytest.param(
            {
                "apiVersion": API,
                "kind": "TenantResource",
                "metadata": {"name": "t", "namespace": "nobodys"},
                "spec": {"resources": [{"targets": [CONFIG]}]},
            },
            Reason.NO_TENANT,
            id="a namespace of no tenant",
        ),
    ],
)
async def test_a_parent_that_is_held_is_an_error(renderer: Renderer, manifest: Manifest, reason: Reason) -> None:
    """By what holds it; other parents are planned all the same."""
    manifest = {**manifest, "spec": {key: value for key, value in manifest["spec"].items() if value is not None}}
    sheets = await planned(renderer, *CLUSTER, manifest, gtr(name="other"))
    by_name = {sheet.parent.name: sheet for sheet in sheets}
    broken = by_name[manifest["metadata"]["name"]]
    assert (broken.standing, broken.problem and broken.problem.reason) == (Standing.HELD, reason)
    assert by_name["other"].targets
    assert exit_code(sheets) == 1


async def test_a_dependency_that_is_not_ready_yet_is_a_note(renderer: Renderer) -> None:
    """It may be Ready by then: the plan shows both."""
    sheets = await planned(renderer, *CLUSTER, gtr(name="first"), gtr(name="second", dependsOn=[{"name": "first"}]))
    assert sheets[1].notes == ("waits until first is Ready",)
    assert exit_code(sheets) == 2


async def test_a_cordoned_parent_does_nothing(renderer: Renderer) -> None:
    """And that is no error."""
    sheets = await planned(renderer, *CLUSTER, gtr(cordoned=True))
    assert sheets[0].standing == Standing.CORDONED
    assert exit_code(sheets) == 0


async def test_a_missing_optional_source_is_a_note(renderer: Renderer) -> None:
    """As the Event of the running manager says it."""
    context = {"resources": [{"index": "c", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "platform", "name": "c"}]}
    sheets = await planned(renderer, *CLUSTER, gtr({"context": context, "targets": [CONFIG]}))
    assert sheets[0].notes == ("ConfigMap platform/c is not there and optional: left out",)


async def test_a_default_account_acts_for_who_names_none(renderer: Renderer) -> None:
    """As `copyhold run` would be told."""
    bare = gtr()
    del bare["spec"]["serviceAccount"]
    (sheet,) = await planned(renderer, *CLUSTER, bare, default=Identity("platform", "fallback"))
    assert sheet.account == "platform/fallback"


# Which parents.


@pytest.mark.parametrize(
    ("names", "found"),
    [
        pytest.param((), ["GlobalTenantResource b", "TenantResource x/a", "TenantResource y/a"], id="all"),
        pytest.param(("gtr/b",), ["GlobalTenantResource b"], id="a short name"),
        pytest.param(("tenantresources/a",), ["TenantResource x/a", "TenantResource y/a"], id="in every namespace"),
        pytest.param(("TenantResource/y/a",), ["TenantResource y/a"], id="in one namespace"),
        pytest.param(
            ("tr/a", "GlobalTenantResource.copyhold.dev/b"),
            ["GlobalTenantResource b", "TenantResource x/a", "TenantResource y/a"],
            id="several",
        ),
    ],
)
def test_parents_are_chosen_by_kind_and_name(names: tuple[str, ...], found: list[str]) -> None:
    """As kubectl names them; the order is always the same."""
    everyone = [
        parent("a", kind="TenantResource", namespace="y", uid="1"),
        parent("a", kind="TenantResource", namespace="x", uid="2"),
        parent("b", uid="3"),
    ]
    assert [str(one) for one in chosen(everyone, names)] == found


@pytest.mark.parametrize("name", ["gtr/absent", "configmap/b", "b"])
def test_a_name_that_fits_nothing_is_refused(name: str) -> None:
    """An empty plan would look like nothing to do."""
    with pytest.raises(Invalid, match="no such parent: say KIND/NAME, as in GlobalTenantResource/b"):
        chosen([parent("b")], [name])


# Exit codes: one row per outcome.


def sheet(*targets: Target, problem: Problem | None = None, troubles: tuple[Trouble, ...] = ()) -> Sheet:
    """The sheet of a parent with these targets."""
    return Sheet(parent(), Standing.PLANNED, OWNER.account, problem, (), troubles, targets)


def target(verb: Verb, reason: Reason, preview: Preview | None = None, **changes: Any) -> Target:
    """A target with this decision; `force` is its policy."""
    desired = None if verb in (Verb.REMOVE, Verb.RELEASE, Verb.ORPHAN) else want(force=changes.pop("force", False))
    return Target(Decision(item(desired, live(), record()), verb, reason, **changes), preview or Preview())


OUTCOMES = [
    pytest.param(sheet(), "", 0, id="no targets"),
    pytest.param(sheet(target(Verb.SKIP, Reason.UNCHANGED)), "unchanged", 0, id="unchanged"),
    pytest.param(sheet(target(Verb.SKIP, Reason.CONDITION_NOT_MET)), "skipped", 0, id="a false condition"),
    pytest.param(sheet(target(Verb.SKIP, Reason.TERMINATING)), "skipped", 0, id="going away"),
    pytest.param(sheet(target(Verb.SKIP, Reason.ABSENT)), "skipped", 0, id="absent"),
    pytest.param(sheet(target(Verb.SKIP, Reason.CONDITION_NOT_MET, remark=True)), "apply", 2, id="marks follow the policy"),
    pytest.param(sheet(target(Verb.CREATE, Reason.MISSING)), "create", 2, id="create"),
    pytest.param(sheet(target(Verb.ADOPT, Reason.FOREIGN)), "adopt", 2, id="adopt"),
    pytest.param(sheet(target(Verb.APPLY, Reason.DRIFTED)), "apply", 2, id="apply"),
    pytest.param(sheet(target(Verb.REMOVE, Reason.NOT_WANTED)), "remove", 2, id="remove"),
    pytest.param(sheet(target(Verb.RELEASE, Reason.NOT_WANTED)), "release", 2, id="release"),
    pytest.param(sheet(target(Verb.ORPHAN, Reason.NOT_WANTED)), "orphan", 2, id="orphan"),
    pytest.param(sheet(target(Verb.CONFLICT, Reason.FOREIGN)), "conflict", 1, id="foreign"),
    pytest.param(sheet(target(Verb.APPLY, Reason.CHANGED, Preview(taken={".a": "kubectl"}))), "conflict", 1, id="a taken field"),
    pytest.param(
        sheet(target(Verb.APPLY, Reason.CHANGED, Preview(taken={".a": "kubectl"}), force=True)), "apply", 2, id="taken by force"
    ),
    pytest.param(sheet(target(Verb.CREATE, Reason.MISSING, Preview(problem=Forbidden("no")))), "failed", 1, id="refused"),
    pytest.param(sheet(target(Verb.SKIP, Reason.FORBIDDEN)), "failed", 1, id="cannot be read"),
    pytest.param(sheet(target(Verb.SKIP, Reason.UNRESOLVED)), "failed", 1, id="unresolved"),
    pytest.param(sheet(target(Verb.SKIP, Reason.PRUNE_BLOCKED)), "failed", 1, id="held by the delete budget"),
    pytest.param(sheet(problem=Blocked(Reason.NO_TENANT, "none")), "", 1, id="a parent that is held"),
    pytest.param(
        sheet(target(Verb.CREATE, Reason.MISSING), troubles=(Trouble("u", Invalid(Reason.INVALID, "bad"), "resources[0]"),)),
        "create",
        1,
        id="changes and an error",
    ),
]


@pytest.mark.parametrize(("outcome", "word", "code"), OUTCOMES)
def test_case_109_the_exit_code_follows_from_the_outcome_alone(outcome: Sheet, word: str, code: int) -> None:
    """And the document says the same."""
    assert exit_code([outcome]) == code
    assert document([outcome])["exitCode"] == code
    assert {name: number for name, number in summary([outcome]).items() if number} == ({word: 1} if word else {})


def test_an_error_outweighs_changes() -> None:
    """Whatever their order."""
    good, bad = sheet(target(Verb.CREATE, Reason.MISSING)), sheet(target(Verb.CONFLICT, Reason.FOREIGN))
    assert exit_code([good, bad]) == exit_code([bad, good]) == 1


def test_every_verb_has_a_word_in_the_summary() -> None:
    """But Skip, which has several."""
    assert {verb.lower() for verb in Verb} - {"skip"} <= set(COUNTS)


# Writing it down.


def test_the_text_says_what_somebody_has_to_know() -> None:
    """One line per target, its fields below, and a summary."""
    shown = sheet(
        target(Verb.APPLY, Reason.CHANGED, Preview((Change(".data.a", "1", None),), taken={".data.a": "kubectl"}), force=True),
        target(Verb.APPLY, Reason.CHANGED, Preview(marks=True)),
        target(Verb.APPLY, Reason.CHANGED, Preview(taken={".data.a": "helm"})),
        target(Verb.CREATE, Reason.MISSING, Preview(problem=Forbidden("ConfigMap x: not allowed"))),
        target(Verb.RELEASE, Reason.NOT_WANTED, Preview(falls=(".data.b",))),
        target(Verb.SKIP, Reason.UNCHANGED),
        troubles=(Trouble("solar-dev", Invalid(Reason.INVALID, "bad"), "resources[0]"),),
    )
    key = "ConfigMap solar-dev/settings"
    assert text((shown,)).splitlines() == [
        "GlobalTenantResource baseline, as platform/distributor",
        "  failed    solar-dev: resources[0]: bad (Invalid)",
        f"  apply     {key} (Changed, forced)",
        '            .data.a: "1" -> (none)',
        "            .data.a is taken from kubectl",
        f"  apply     {key} (Changed)",
        "            only the marks of Copyhold change",
        f"  conflict  {key} (FieldTaken)",
        "            .data.a is held by helm",
        f"  create    {key} (Forbidden): ConfigMap x: not allowed",
        f"  release   {key} (NotWanted)",
        "            .data.b is given back and falls to its default",
        "2 to apply, 1 to release, 1 in conflict, 1 failed, 1 unchanged, 1 source failed",
    ]


def test_nothing_to_do_is_said() -> None:
    """For a parent and for all."""
    assert text((sheet(),)).splitlines()[1:] == ["  nothing to do", "nothing to do"]


def test_the_document_holds_everything_under_stable_names() -> None:
    """Empty fields are left out; values that were withheld too."""
    preview = Preview((Change(".data.a", "1", "2"), Change(".data.b")), marks=True)
    (shown,) = document([sheet(target(Verb.APPLY, Reason.CHANGED, preview))])["parents"]
    assert shown == {
        "kind": "GlobalTenantResource",
        "name": "baseline",
        "state": "Planned",
        "account": "platform/distributor",
        "targets": [
            {
                "verb": "Apply",
                "reason": "Changed",
                "version": "v1",
                "kind": "ConfigMap",
                "namespace": "solar-dev",
                "name": "settings",
                "unit": "solar-dev",
                "tenant": "solar",
                "sources": ["resources[0] targets[0]"],
                "changes": [{"path": ".data.a", "before": "1", "after": "2"}, {"path": ".data.b"}],
                "marks": True,
            }
        ],
    }


# On a real server.


def call(*words: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, list(words), prog_name="copyhold")


def live_plan(kubeconfig: str, *words: str) -> tuple[int, dict[str, Manifest]]:
    """The exit code, and the targets by kind and name, of one parent on the server."""
    result = call("plan", "--kubeconfig", kubeconfig, "-o", "json", *words)
    assert result.stdout, result.stderr
    (found,) = json.loads(result.stdout)["parents"]
    return result.exit_code, {f"{one['kind']}/{one['name']}": one for one in found["targets"]}


def in_file(path: Path, *manifests: Manifest) -> str:
    """A file that holds these objects."""
    path.write_text(yaml.safe_dump_all(manifests))
    return str(path)


def a_parent(stage: Stage, *groups: Manifest, **spec: Any) -> Manifest:
    """A parent of this stage that nobody has created yet."""
    account = {"name": stage.account.name, "namespace": stage.account.namespace}
    body = {"scope": "None", "serviceAccount": account, "resources": list(groups), **spec}
    return ref(API, "GlobalTenantResource", stage.name("planned")) | {"spec": body}


def test_a_change_is_tried_on_the_server_and_writes_nothing(stage: Stage, kubeconfig: str, tmp_path: Path) -> None:
    """A file on top of a server: what is made, what changes by paths, who holds a field, what is forced."""
    home = stage.home
    for name in ("adopted", "taken", "forced"):
        stage.api.apply(config_map(name, {"a": "old", "mine": "x"}, home), manager="kubectl").expect(201)
    wanted = {name: config_map(name, {"a": "new"}, home) for name in ("made", "taken", "forced")}
    change = a_parent(
        stage,
        group(wanted["made"]),
        group(config_map("adopted", {"b": "new"}, home), policy={"creation": "Merge"}),
        group(wanted["taken"], policy={"creation": "Merge"}),
        group(wanted["forced"], policy={"creation": "Merge", "force": True}),
    )
    code, targets = live_plan(kubeconfig, "-f", in_file(tmp_path / "change.yaml", change), f"gtr/{change['metadata']['name']}")
    assert code == 1
    assert {name: (one["verb"], one["reason"]) for name, one in targets.items()} == {
        "ConfigMap/made": ("Create", "Missing"),
        "ConfigMap/adopted": ("Adopt", "Foreign"),
        "ConfigMap/taken": ("Conflict", "FieldTaken"),
        "ConfigMap/forced": ("Adopt", "Foreign"),
    }
    assert targets["ConfigMap/adopted"]["changes"] == [{"path": ".data.b", "after": "new"}]
    assert targets["ConfigMap/taken"]["taken"] == {".data.a": "kubectl"}
    assert targets["ConfigMap/forced"]["changes"] == [{"path": ".data.a", "before": "old", "after": "new"}]
    assert targets["ConfigMap/forced"]["taken"] == {".data.a": "kubectl"}
    stage.api.get(change).expect(404)
    stage.api.get(wanted["made"]).expect(404)
    assert stage.read(wanted["forced"])["data"] == {"a": "old", "mine": "x"}


def test_what_the_account_may_not_do_is_shown(stage: Stage, kubeconfig: str, tmp_path: Path) -> None:
    """Asked of the server in the name of the account; so is what the server finds wrong with a manifest."""
    account = stage.service_account("limited")
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps", "services"], "verbs": ["*"]}], stage.home)
    secret = ref("v1", "Secret", "pull", stage.home) | {"stringData": {"key": "tobesecret"}}
    service = ref("v1", "Service", "web", stage.home) | {"spec": {"ports": [{"port": 80, "protcol": "TCP"}]}}
    change = a_parent(
        stage,
        group(config_map("made", {"a": "1"}, stage.home), secret, service),
        serviceAccount={"name": account.name, "namespace": account.namespace},
    )
    code, targets = live_plan(kubeconfig, "-f", in_file(tmp_path / "change.yaml", change), f"gtr/{change['metadata']['name']}")
    assert code == 1
    assert {name: one["reason"] for name, one in targets.items()} == {
        "ConfigMap/made": "Missing",
        "Secret/pull": "Forbidden",
        "Service/web": "Invalid",
    }
    assert account.user in targets["Secret/pull"]["problem"]["message"]
    assert "protcol" in targets["Service/web"]["problem"]["message"]
    assert "tobesecret" not in json.dumps(targets)


def test_case_019_a_secret_is_compared_by_what_it_is_and_shown_by_paths(stage: Stage, kubeconfig: str, tmp_path: Path) -> None:
    """The real data goes to the dry run; no value comes out."""
    secret = ref("v1", "Secret", "pull", stage.home) | {"stringData": {"key": "tobesecret"}}
    stage.api.create(secret | {"data": {"other": "b2xk"}}).expect(201)
    changed = secret | {"stringData": {"other": "changed"}}
    change = a_parent(stage, group(changed, policy={"creation": "Merge", "force": True}))
    _, targets = live_plan(kubeconfig, "-f", in_file(tmp_path / "change.yaml", change), f"gtr/{change['metadata']['name']}")
    assert targets["Secret/pull"]["changes"] == [{"path": ".data.other"}]
    assert not any(word in json.dumps(targets) for word in ("b2xk", "Y2hhbmdlZA", 'changed"'))


def test_a_running_parent_has_nothing_to_do_until_it_is_changed(stage: Stage, kubeconfig: str, tmp_path: Path) -> None:
    """The same decisions as the manager's: after its pass all is unchanged; with an edit in a file, what the edit would do."""
    stage.manager()
    parent = stage.global_resource(
        "running", group(config_map("one", {"a": "1"}, stage.home), config_map("two", {"a": "1"}, stage.home)), scope="None"
    )
    stage.ready(parent)
    name = f"gtr/{parent['metadata']['name']}"
    code, targets = live_plan(kubeconfig, name)
    assert (code, {one["reason"] for one in targets.values()}) == (0, {"Unchanged"})
    edited = {key: parent[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": parent["metadata"]["name"]}}
    edited["spec"] = parent["spec"] | {"resources": [group(config_map("one", {"a": "2"}, stage.home))]}
    code, targets = live_plan(kubeconfig, "-f", in_file(tmp_path / "edit.yaml", edited), name)
    assert code == 2
    assert {key: (one["verb"], one.get("changes")) for key, one in targets.items()} == {
        "ConfigMap/one": ("Apply", [{"path": ".data.a", "before": "1", "after": "2"}]),
        "ConfigMap/two": ("Remove", None),
    }


def test_a_namespace_of_the_files_counts_before_it_is_there(stage: Stage, kubeconfig: str, tmp_path: Path) -> None:
    """A change that brings both is planned as a whole."""
    tenant = stage.tenant("solar", plan=stage.mark)
    new = ref("v1", "Namespace", stage.name("new"))
    new["metadata"]["labels"] = {f"{GROUP}/tenant": tenant}
    change = a_parent(stage, group(config_map("settings", {"a": "1"})), scope="Namespace")
    change["spec"]["tenantSelector"] = {"matchLabels": {"plan": stage.mark}}
    path = in_file(tmp_path / "change.yaml", new, change)
    code, targets = live_plan(kubeconfig, "-f", path, f"gtr/{change['metadata']['name']}")
    assert code == 2
    assert [(one["verb"], one["namespace"]) for one in targets.values()] == [("Create", new["metadata"]["name"])]


def test_the_fields_of_a_release_are_told(stage: Stage, kubeconfig: str, tmp_path: Path) -> None:
    """Before they fall to their defaults."""
    stage.manager()
    stage.api.apply(config_map("theirs", {"a": "1"}, stage.home), manager="kubectl").expect(201)
    merge = {"creation": "Merge"}
    parent = stage.global_resource(
        "merging",
        group(config_map("theirs", {"b": "2"}, stage.home), policy=merge),
        group(config_map("own", {"b": "2"}, stage.home)),
        scope="None",
    )
    stage.ready(parent)
    edited = {key: parent[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": parent["metadata"]["name"]}}
    edited["spec"] = parent["spec"] | {"resources": [group(config_map("own", {"b": "2"}, stage.home))]}
    _, targets = live_plan(kubeconfig, "-f", in_file(tmp_path / "edit.yaml", edited), f"gtr/{parent['metadata']['name']}")
    assert (targets["ConfigMap/theirs"]["verb"], targets["ConfigMap/theirs"]["falls"]) == ("Release", [".data.b"])

"""`copyhold permit ...` as somebody types it: what is sent, what is shown, and the exit codes."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from apis.problems import Forbidden
from manager.cli import main
from manager.permits import requesting
from manager.permits.commands import permit as group
from manager.permits.options import Access
from policy.permits.step import Step
from tests.manager.permits.bureau import (
    ALICE,
    KEY_ID,
    PLACE,
    SYSTEM,
    Bureau,
    active,
    digest,
    keys,
    permit,
    requested,
    template,
    went,
)

SCHEMA: Manifest = {
    "type": "object",
    "required": ["user", "level", "days"],
    "properties": {
        "user": {"type": "string", "description": "Who gets in."},
        "level": {"type": "string", "enum": ["read", "write"]},
        "days": {"type": "integer", "default": 1},
        "urgent": {"type": "boolean"},
        "pods": {"type": "array", "items": {"type": "string"}},
    },
}
Open = Callable[..., Bureau]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Let the commands find these objects."""

    def open_(*objects: Manifest, **settings: Any) -> Bureau:
        bureau = Bureau(list(objects), **settings)
        monkeypatch.setattr(Access, "connect", lambda access: bureau.connect(access))
        return bureau

    return open_


def call(*words: str, stdin: str | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, ["permit", *words], input=stdin, prog_name="copyhold")


# request


def test_a_request_is_typed_by_the_schema_of_its_template(opened: Open) -> None:
    """And nothing that was not given stands in it."""
    bureau = opened(template(SCHEMA))
    words = (
        "--param user=007 --param level=read --param days=2 --param urgent=true --duration 30m --start 2026-03-01T14:00:00+01:00"
    )
    result = call("request", "pod-reader", *words.split(), "--param", "pods=[a, b]", "--reason", "INC-1")
    assert (result.exit_code, result.stderr) == (0, "")
    made = bureau.objects[-1]
    assert made["metadata"] == {"namespace": PLACE, "name": "pod-reader-x7k2p", "uid": "uid-pod-reader-x7k2p"}
    assert made["spec"] == {
        "template": {"kind": "ResourcePermitTemplate", "name": "pod-reader"},
        "params": {"user": "007", "level": "read", "days": 2, "urgent": True, "pods": ["a", "b"]},
        "reason": "INC-1",
        "duration": "30m",
        "startTime": "2026-03-01T13:00:00Z",
    }
    assert result.stdout == (
        f"ResourcePermit {PLACE}/pod-reader-x7k2p: asked for\n"
        f"see how it stands: copyhold permit show pod-reader-x7k2p -n {PLACE}\n"
    )


def test_a_global_template_is_asked_for_by_an_option(opened: Open) -> None:
    """It is another kind, and may have no parameters at all."""
    bureau = opened(template(namespace="", name="break-glass"))
    result = call("request", "break-glass", "--global", "-n", "solar-dev", "--name", "mine")
    assert result.exit_code == 0
    assert bureau.objects[-1]["metadata"]["namespace"] == "solar-dev"
    assert bureau.objects[-1]["spec"] == {"template": {"kind": "GlobalResourcePermitTemplate", "name": "break-glass"}}


def test_a_dry_run_prints_what_would_be_made(opened: Open) -> None:
    """For a repository, say; nothing is sent."""
    bureau = opened(template(SCHEMA))
    words = ["request", "pod-reader", "--name", "mine", "--param", "user=a", "--param", "level=read", "--dry-run"]
    shown = yaml.safe_load(call(*words).stdout)
    assert shown["kind"] == "ResourcePermit"
    assert shown["metadata"] == {"namespace": PLACE, "name": "mine"}
    assert json.loads(call(*words, "-o", "json").stdout) == shown
    assert len(bureau.objects) == 1


def test_parameters_come_from_a_file_too(opened: Open, tmp_path: Path) -> None:
    """What is given by --param goes before it."""
    bureau = opened(template(SCHEMA))
    (tmp_path / "params.yaml").write_text("user: alice\nlevel: read\n")
    assert call("request", "pod-reader", "--params", str(tmp_path / "params.yaml"), "--param", "level=write").exit_code == 0
    assert bureau.objects[-1]["spec"]["params"] == {"user": "alice", "level": "write"}
    assert (
        call("request", "pod-reader", "--params", "-", "--name", "mine", stdin='{"user": "bob", "level": "read"}').exit_code == 0
    )
    assert bureau.objects[-1]["spec"]["params"] == {"user": "bob", "level": "read"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param([], "user (string), level (read, write): give --param user=string --param level=read|write", id="missing"),
        pytest.param(["--param", "color=red"], "no such parameter: it knows user, level, days, urgent, pods", id="unknown"),
        pytest.param(["--param", "days=many"], "--param days: 'many' is no whole number", id="no integer"),
        pytest.param(["--param", "urgent=yes"], "'yes' is neither true nor false", id="no boolean"),
        pytest.param(["--param", "pods=a"], "write a list such as [a, b]", id="no list"),
        pytest.param(["--param", "user"], "--param takes NAME=VALUE", id="no assignment"),
        pytest.param(["--params", "/nonexistent/file"], "cannot be read: No such file", id="no file"),
        pytest.param(["--duration", "soon"], "must be a duration such as 30m, 8h, 30d or 2w", id="no duration"),
        pytest.param(["--start", "22:00"], "must be a time with its zone", id="no time"),
        pytest.param(["--as-group", "sre"], "--as-group says more about --as: give both", id="a group alone"),
        pytest.param(["--wait", "--dry-run"], "leave out -o and --dry-run", id="waiting for nothing"),
    ],
)
def test_a_request_that_cannot_be_meant_is_wrong_usage(opened: Open, words: list[str], says: str) -> None:
    """Nothing is sent."""
    bureau = opened(template(SCHEMA))
    result = call("request", "pod-reader", *words)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())
    assert len(bureau.objects) == 1


def test_missing_parameters_are_asked_for_on_a_terminal(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """An enum as a choice, again until it fits; what has a default is not asked for."""
    bureau = opened(template(SCHEMA))
    monkeypatch.setattr(requesting, "at_terminal", lambda: True)
    result = call("request", "pod-reader", stdin="alice\nadmin\nwrite\n")
    assert result.exit_code == 0
    assert bureau.objects[-1]["spec"]["params"] == {"user": "alice", "level": "write"}
    assert "Who gets in." in result.stderr
    assert "read, write" in result.stderr


def test_a_template_that_is_not_there_is_3(opened: Open) -> None:
    """With the way to the other kind."""
    opened()
    result = call("request", "pod-reader")
    assert result.exit_code == 3
    assert f"ResourcePermitTemplate {PLACE}/pod-reader is not there" in result.stderr
    assert "say --global" in result.stderr


def test_who_may_not_read_the_template_can_still_ask(opened: Open) -> None:
    """The server checks the parameters; they are read as YAML."""
    bureau = opened(refused={"ResourcePermitTemplate": Forbidden("ResourcePermitTemplate x: not yours")})
    result = call("request", "pod-reader", "--param", "user=alice", "--param", "days=2")
    assert result.exit_code == 0
    assert result.stderr == "copyhold: ResourcePermitTemplate x: not yours; the parameters are sent as they are\n"
    assert bureau.objects[-1]["spec"]["params"] == {"user": "alice", "days": 2}


# request --wait


def of_request(one: Manifest) -> Manifest:
    """The same permit, as the one that `request` makes."""
    metadata = {**one["metadata"], "name": "mine", "uid": "uid-mine"}
    return {**copy.deepcopy(one), "metadata": metadata}


FAILURE = {"stage": "Preflight", "retryPhase": "Requested", "reason": "ResourceDryRunFailed", "message": "no"}
ENDS = [
    pytest.param([requested(), active()], 0, id="active"),
    pytest.param([requested(), went(requested(), Step(Phase.DENIED, ALICE, "DeniedByReviewer"))], 4, id="denied"),
    pytest.param([went(requested(), Step(Phase.EXPIRED, SYSTEM, "DeadlineExceeded"))], 4, id="expired"),
    pytest.param([went(permit(), Step(Phase.FAILED, SYSTEM, "ResourceDryRunFailed", "no"))], 1, id="failed"),
]


@pytest.mark.parametrize(("later", "code"), ENDS)
def test_waiting_ends_with_a_code_for_each_end(opened: Open, later: list[Manifest], code: int) -> None:
    """In a pipe each transition is a line, and said once."""
    opened(template(), later=[of_request(one) for one in later])
    result = call("request", "pod-reader", "--name", "mine", "--wait")
    assert result.exit_code == code
    lines = result.stdout.splitlines()
    assert lines[0] == f"ResourcePermit {PLACE}/mine: asked for"
    assert lines[1].endswith("Created by alice: CreatedByUser") or code == 1
    assert len(set(lines)) == len(lines)


def test_waiting_tells_what_it_waits_for(opened: Open) -> None:
    """How many of whom must approve."""
    opened(template(), later=[of_request(requested()), of_request(active())])
    said = call("request", "pod-reader", "--name", "mine", "--wait").stdout
    assert "waiting for reviewers: 0 of 1 approvals, by User bob\n" in said


def test_on_a_terminal_the_wait_is_a_view(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the permit stands, and what happened; it stays when the wait is over."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    opened(template(), later=[of_request(requested()), of_request(active())])
    result = call("request", "pod-reader", "--name", "mine", "--wait")
    assert result.exit_code == 0
    assert "Active: managed resources are ready" in result.stdout
    assert "Active by copyhold (System): ActivatedBySystem" in result.stdout
    assert "\x1b[" in result.stdout


def test_waiting_for_a_permit_that_is_deleted_is_3(opened: Open) -> None:
    """It will never be decided."""
    gone = of_request(requested())
    gone["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    opened(template(), later=[gone])
    result = call("request", "pod-reader", "--name", "mine", "--wait")
    assert result.exit_code == 3
    assert "is not there any more" in result.stderr


# list


def test_the_list_is_a_table(opened: Open) -> None:
    """With the time that is left, by the clock of the server."""
    opened(active(), requested("another"), permit("new"))
    assert (
        call("list").stdout.splitlines()
        == [
            "NAME            PHASE       LEFT               APPROVALS   REQUESTER   TEMPLATE     REASON",
            "incident-1042   Active      29m58s             1 of 1      alice       pod-reader   INC-1042",
            "another         Requested   23h to decide      0 of 1      alice       pod-reader   INC-1042",
            "new             -           -                  -           alice       pod-reader   INC-1042",
        ]
        or call("list").stdout
    )


def test_the_list_can_be_had_by_phase_and_of_all_namespaces(opened: Open) -> None:
    """And as objects."""
    opened(active(), requested("another"))
    assert [line.split()[0] for line in call("list", "--phase", "active").stdout.splitlines()] == ["NAME", "incident-1042"]
    assert call("list", "-A").stdout.startswith("NAMESPACE")
    listed = json.loads(call("list", "--phase", "Requested", "-o", "json").stdout)
    assert [one["metadata"]["name"] for one in listed["items"]] == ["another"]
    empty = call("list", "-n", "elsewhere")
    assert (empty.exit_code, empty.stdout, empty.stderr) == (0, "", "no permits in namespace elsewhere\n")


def test_who_may_not_list_is_told_so(opened: Open) -> None:
    """In the words of the server."""
    opened(refused={"ResourcePermit": Forbidden('User "bob" cannot list resource "resourcepermits"')})
    result = call("list")
    assert (result.exit_code, result.stderr) == (1, 'copyhold: User "bob" cannot list resource "resourcepermits"\n')


# show


def test_show_has_all_that_a_reviewer_wants_to_know(opened: Open) -> None:
    """Who, why, what, for how long, which rights, who approved; and the trail, proved."""
    opened(active(), keys())
    result = call("show", "incident-1042")
    assert result.exit_code == 0
    for words in (
        f"ResourcePermit {PLACE}/incident-1042",
        "  phase      Active: managed resources are ready",
        "  requester  alice, in dev",
        "  reason     INC-1042",
        "  template   ResourcePermitTemplate pod-reader, as of generation 3",
        f"  account    ServiceAccount {PLACE}/permit-runner",
        "  duration   30m (at most 8h)",
        "  active     from 2026-03-01T11:59:58Z until 2026-03-01T12:29:58Z",
        "  left       29m58s",
        "  kept       as a record until 2026-03-31T12:29:58Z",
        f"  digest     {digest(active())}",
        "  # group rights (creation: Owner, deletion: Remove)",
        "    token: sha256:aa",
        "  kind: RoleBinding",
        f"  patch     Secret {PLACE}/pull",
        "            .data.token",
        f"  User/alice may get, list pods in {PLACE} (by RoleBinding {PLACE}/incident)",
        "  1 of 1, by User bob",
        "  2026-03-01T12:00:00Z bob",
        "  0   ok      2026-03-01T12:00:00Z Created by alice: CreatedByUser",
        "  2   ok      2026-03-01T12:00:00Z Approved by bob: ApprovedByUser",
        "  3   ok      2026-03-01T12:00:00Z Active by copyhold (System): ActivatedBySystem",
        f"keys {KEY_ID}",
    ):
        assert words in result.stdout, words


def test_a_trail_without_keys_is_not_checked(opened: Open) -> None:
    """And says why."""
    opened(requested())
    shown = call("show", "incident-1042").stdout
    assert "  0   not checked 2026-03-01T12:00:00Z Created by alice" in shown
    assert "not checked: ConfigMap copyhold-system/copyhold-permit-keys, with the public keys" in shown


def test_show_obeys_no_escape_sequence(opened: Open) -> None:
    """Whoever asks writes the reason, and the template the manifests."""
    opened(permit(reason="please\x1b[2J\nphase Active"))
    shown = call("show", "incident-1042").stdout
    assert "\x1b" not in shown
    assert "  reason     please\ufffd[2J phase Active\n" in shown


def test_what_is_not_there_is_3(opened: Open) -> None:
    """Whatever is to be done with it."""
    opened()
    for words in (["show"], ["approve", "--yes"], ["deny"], ["expire"], ["retry"], ["verify"], ["export"]):
        result = call(words[0], "absent", *words[1:])
        assert result.exit_code == 3, words
        assert result.stderr.startswith(f"copyhold: ResourcePermit {PLACE}/absent"), words


# approve, deny, expire, retry


def test_an_approval_names_the_digest_that_was_shown(opened: Open) -> None:
    """And is recorded by admission as that of the authenticated user."""
    bureau = opened(requested(), keys())
    result = call("approve", "incident-1042", "--yes", "--message", "go", "--as", "bob", "--as-group", "sre")
    assert (result.exit_code, result.stderr) == (0, "")
    assert bureau.patches == [{"status": {"phase": "Approved", "review": {"digest": digest(requested()), "message": "go"}}}]
    assert digest(requested()) in result.stdout
    assert result.stdout.endswith(f"ResourcePermit {PLACE}/incident-1042: Approved\n")
    last = bureau.objects[0]["status"]["transitions"][-1]
    assert (last["type"], last["actor"]) == ("Approved", {"name": "bob", "type": "User", "groups": ["sre"]})


def test_an_approval_can_change_what_may_be_changed(opened: Open) -> None:
    """Duration, retention and start; the digest is that of what was shown."""
    bureau = opened(requested())
    words = "--yes --duration 10m --keep-for 1d --start 2026-03-01T13:00:00Z"
    result = call("approve", "incident-1042", *words.split())
    assert result.exit_code == 0
    assert "with duration 10m\nwith keepFor 1d\nwith startTime 2026-03-01T13:00:00Z\n" in result.stdout
    request = bureau.objects[0]["status"]["request"]
    assert (request["duration"], request["keepFor"], request["startTime"]) == ("10m", "1d", "2026-03-01T13:00:00Z")
    assert bureau.patches[0]["status"]["review"]["digest"] == digest(requested())


def test_one_of_two_approvals_is_recorded(opened: Open) -> None:
    """The phase stays, and the answer says how many are needed."""
    rules = {"required": 2, "approvers": [{"kind": "User", "name": "bob"}, {"kind": "User", "name": "carol"}]}
    opened(requested(approvals=rules))
    first = call("approve", "incident-1042", "--yes", "--as", "bob")
    assert first.exit_code == 0
    assert "your approval is recorded, 1 of 2: it stays Requested" in first.stdout
    assert call("approve", "incident-1042", "--yes", "--as", "carol").stdout.endswith(": Approved\n")


def test_nobody_approves_without_being_asked(opened: Open) -> None:
    """Without a terminal and without --yes nothing is sent."""
    bureau = opened(requested())
    result = call("approve", "incident-1042")
    assert (result.exit_code, bureau.patches) == (2, [])
    assert "not confirmed" in result.stderr


def test_another_digest_is_not_approved(opened: Open) -> None:
    """Neither one that was given and is not what is there ..."""
    bureau = opened(requested())
    result = call("approve", "incident-1042", "--yes", "--digest", "sha256:old")
    assert (result.exit_code, bureau.patches) == (1, [])
    assert f"status.request.digest is {digest(requested())} by now, not sha256:old" in result.stderr


def test_what_changes_while_it_is_read_is_not_approved(opened: Open) -> None:
    """... nor one that is there only after it was shown."""
    opened(requested(), before_patch=requested(duration="8h"))
    result = call("approve", "incident-1042", "--yes")
    assert result.exit_code == 1
    assert "this is not what you have seen" in result.stderr


def test_a_snapshot_that_is_not_what_its_digest_says_is_not_approved(opened: Open) -> None:
    """The digest that is sent is that of what was shown, not one that stands beside it."""
    forged = requested()
    forged["status"]["request"]["resources"][0]["targets"].pop()
    bureau = opened(forged)
    result = call("approve", "incident-1042", "--yes")
    assert (result.exit_code, bureau.patches) == (1, [])
    assert "somebody changed the snapshot" in result.stderr


def test_only_what_is_requested_is_approved(opened: Open) -> None:
    """What is active needs no approval, and what was never prepared has nothing to approve."""
    for one, phase in ((active(), "Active"), (permit(), "empty")):
        opened(one)
        result = call("approve", "incident-1042", "--yes")
        assert result.exit_code == 1
        assert f"status.phase is {phase}: only what is Requested can be approved" in result.stderr


def test_a_refusal_is_in_the_words_of_the_server(opened: Open) -> None:
    """Object, field and remedy."""
    opened(requested())
    result = call("approve", "incident-1042", "--yes", "--as", "alice")
    assert result.exit_code == 1
    assert result.stderr.startswith(f'copyhold: ResourcePermit {PLACE}/incident-1042: admission webhook "permits.copyhold.dev"')
    assert 'subject "alice" asked for this permit and cannot approve it' in result.stderr


@pytest.mark.parametrize(
    ("command", "one", "phase"),
    [
        pytest.param("deny", requested(), "Denied", id="deny"),
        pytest.param("expire", active(), "Expired", id="expire"),
        pytest.param("retry", went(requested(), Step(Phase.FAILED, SYSTEM, "ResourceApplyFailed", "no")), "Retrying", id="retry"),
    ],
)
def test_a_transition_is_asked_for_by_its_phase(opened: Open, command: str, one: Manifest, phase: str) -> None:
    """With what there is to say about it."""
    one["status"]["failure"] = {**FAILURE, "stage": "Activation", "retryPhase": "Approved"}
    bureau = opened(copy.deepcopy(one))
    result = call(command, "incident-1042", "-m", "because")
    assert (result.exit_code, result.stdout) == (0, f"ResourcePermit {PLACE}/incident-1042: {phase}\n")
    assert bureau.patches == [{"status": {"phase": phase, "review": {"message": "because"}}}]
    assert bureau.objects[0]["status"]["transitions"][-1]["message"] == "because"


def test_a_reviewer_can_wait_too(opened: Open) -> None:
    """Until the access is there, or is not; the approval itself has succeeded."""
    opened(requested(), later=[active()])
    result = call("approve", "incident-1042", "--yes", "--wait")
    assert result.exit_code == 0
    assert result.stdout.endswith("Active by copyhold (System): ActivatedBySystem\n")
    failed = went(requested(), Step(Phase.FAILED, SYSTEM, "ResourceApplyFailed", "no"))
    again = went(failed, Step(Phase.RETRYING, ALICE, "RetryPermittedByUser"), Step(Phase.FAILED, SYSTEM, "ResourceApplyFailed"))
    opened(failed, later=[again])
    assert call("retry", "incident-1042", "--wait").exit_code == 1


def test_an_illegal_transition_is_refused(opened: Open) -> None:
    """By the server."""
    opened(active())
    result = call("retry", "incident-1042")
    assert result.exit_code == 1
    assert "invalid ResourcePermit transition: can only retry a failed request" in result.stderr


def test_a_phase_without_a_transition_is_no_success(opened: Open) -> None:
    """Where admission is not in force, a written phase moves nobody."""
    opened(requested(), admission=False)
    result = call("deny", "incident-1042")
    assert result.exit_code == 1
    assert "no transition was recorded" in result.stderr
    assert "admission webhooks" in result.stderr


# verify, export


def test_an_export_is_verified_without_a_cluster(opened: Open, tmp_path: Path) -> None:
    """A List of the permit and of the keys, which are used when they are named."""
    opened(active(), keys())
    exported = call("export", "incident-1042")
    assert exported.exit_code == 0
    path = tmp_path / "permit.json"
    path.write_text(exported.stdout)
    opened()  # nothing is there any more
    result = call("verify", str(path), "--keys", str(path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "proved: 4 transitions" in result.stdout
    refused = call("verify", str(path))
    assert refused.exit_code == 3
    assert "ConfigMap copyhold-system/copyhold-permit-keys" in refused.stderr


def test_a_permit_is_verified_in_the_cluster(opened: Open, tmp_path: Path) -> None:
    """By name, or a file with the keys of the cluster; also as kubectl writes it, in YAML."""
    opened(active(), keys("elsewhere"))
    assert call("verify", "incident-1042", "--keys-namespace", "elsewhere").exit_code == 0
    path = tmp_path / "permit.yaml"
    path.write_text(yaml.safe_dump(active()))
    assert call("verify", str(path), "--keys-namespace", "elsewhere").exit_code == 0
    (tmp_path / "keys.yaml").write_text(yaml.safe_dump(keys()))
    assert call("verify", "incident-1042", "--keys", str(tmp_path / "keys.yaml")).exit_code == 0


def altered(change: Callable[[Manifest], object]) -> Manifest:
    """The permit as somebody would rather have had it."""
    one = copy.deepcopy(active())
    change(one)
    return one


FORGERIES = [
    pytest.param(lambda one: one["status"]["transitions"][2]["actor"].update(name="carol"), "status.transitions[2]", id="actor"),
    pytest.param(lambda one: one["status"]["transitions"].pop(1), "status.transitions[1]", id="taken out"),
    pytest.param(lambda one: one["spec"].update(reason="x"), "spec.requester.seal", id="spec"),
    pytest.param(lambda one: one["status"]["active"].update(until="2027-01-01T00:00:00Z"), "status.active.until", id="end"),
    pytest.param(lambda one: one["status"]["request"]["resources"].pop(), "status.request.digest", id="snapshot"),
]


@pytest.mark.parametrize(("change", "says"), FORGERIES)
def test_a_forgery_is_found_and_named(opened: Open, change: Callable[[Manifest], object], says: str) -> None:
    """The first broken link, with the permit, and 1."""
    opened(altered(change), keys())
    result = call("verify", "incident-1042")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"copyhold: ResourcePermit {PLACE}/incident-1042: ")
    assert says in result.stderr


def test_a_broken_link_is_shown_where_it_is(opened: Open) -> None:
    """What stands before it holds, and what comes after it proves nothing."""
    opened(altered(lambda one: one["status"]["transitions"][2].update(reason="x")), keys())
    trail = call("show", "incident-1042").stdout.partition("\ntrail\n")[2].splitlines()
    words = [line.split()[1] for line in trail[:4]]
    assert words == ["ok", "ok", "BROKEN", "-"]


def test_a_cut_tail_shows_against_a_hash_that_was_noted(opened: Open) -> None:
    """Events and logs have it."""
    whole = active()
    known = whole["status"]["transitions"][-1]["hash"]
    opened(whole, keys())
    assert call("verify", "incident-1042", "--known", known).exit_code == 0
    cut = went(requested())
    opened(cut, keys())
    assert call("verify", "incident-1042").exit_code == 0
    result = call("verify", "incident-1042", "--known", known)
    assert result.exit_code == 1
    assert "known from elsewhere" in result.stderr


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        pytest.param(None, 3, "no such file", id="absent"),
        pytest.param("{", 1, "it is not JSON", id="no JSON"),
        pytest.param("a: [", 1, "cannot be read: line", id="no YAML"),
        pytest.param("{}", 1, "holds 0 ResourcePermits", id="no permit"),
        pytest.param(json.dumps(keys()), 1, "holds 0 ResourcePermits", id="something else"),
    ],
)
def test_a_file_that_is_no_permit_is_named(opened: Open, tmp_path: Path, text: str | None, code: int, says: str) -> None:
    """With what it should hold."""
    opened(keys())
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    result = call("verify", str(path))
    assert result.exit_code == code
    assert f"{path}" in result.stderr
    assert says in result.stderr


def test_keys_that_are_none_are_refused(opened: Open, tmp_path: Path) -> None:
    """A key under another id is no key."""
    opened(active())
    forged = keys()
    forged["data"] = {"0" * 16: forged["data"][KEY_ID]}
    (tmp_path / "keys.json").write_text(json.dumps(forged))
    result = call("verify", "incident-1042", "--keys", str(tmp_path / "keys.json"))
    assert result.exit_code == 1
    assert "holds no public keys" in result.stderr


# The group.


def test_every_command_documents_its_exit_codes() -> None:
    """And has the options that all have."""
    for name, command in group.commands.items():
        shown = call(name, "--help").stdout
        assert "4  with --wait: denied or expired" in shown, name
        for option in ("--as ", "--as-group", "--kubeconfig", "--context", "--namespace"):
            assert option in shown, (name, option)
        assert isinstance(command, click.Command)


def test_kubectl_runs_the_same_commands(opened: Open) -> None:
    """Under its own name."""
    opened(template())
    result = CliRunner().invoke(group, ["request", "pod-reader"], prog_name="kubectl permit")
    assert result.exit_code == 0
    assert "see how it stands: kubectl permit show pod-reader-x7k2p" in result.stdout
    assert CliRunner().invoke(group, ["nonsense"], prog_name="kubectl permit").exit_code == 2

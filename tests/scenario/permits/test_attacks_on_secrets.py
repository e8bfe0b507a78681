"""Reading a Secret through a permit, and changing what was reviewed where its clear values are kept."""

import base64
import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner

from manager.cli import main
from manager.log import configure
from tests.scenario.permits.tampering import absent, active, look, ready_of, says
from tests.support.api import Manifest, eventually, ref
from tests.support.permits import Permits

CANARY = "hunter2-c4n4ry"
ENCODED = base64.b64encode(CANARY.encode()).decode()
FORMS = (CANARY, ENCODED, ENCODED.rstrip("="), CANARY.encode().hex(), base64.b64encode(ENCODED.encode()).decode())
VAULT = "copyhold-system"
VALUE = "context.s[0].data.key"


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What manager and admission log, from debug upwards."""
    root = logging.getLogger()
    handlers, level, stream = root.handlers[:], root.level, io.StringIO()
    configure("debug", json=True, stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


def context(permits: Permits) -> Manifest:
    """The Secret `source`, which holds the canary, as context."""
    source = ref("v1", "Secret", "source", permits.home) | {"data": {"key": ENCODED}}
    permits.stage.create(source)
    return {"resources": [{"index": "s", "apiVersion": "v1", "kind": "Secret", "name": "source"}]}


def secret(**fields: object) -> Manifest:
    """A Secret as a target."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "given"}, **fields}


def a_plain_map() -> Manifest:
    """The value in a ConfigMap."""
    return {"targets": [_map({"key": f"{{{{ {VALUE} }}}}"})]}


def _map(data: Manifest, name: str = "leak") -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def a_decoded_map() -> Manifest:
    """The value in clear."""
    return {"targets": [_map({"key": f"{{{{ {VALUE} | b64decode }}}}"})]}


def a_text() -> Manifest:
    """The value in a text template."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: leak}\ndata: {all: {{ context | tojson | tojson }}}\n"
    return {"template": text}


def a_name() -> Manifest:
    """The value as the name of a Secret."""
    metadata = {"name": f"{{{{ {VALUE} | b64decode }}}}"}
    return {"targets": [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata}]}


def a_label() -> Manifest:
    """The value as a label of a Secret."""
    metadata = {"name": "given", "labels": {"leak": f"{{{{ {VALUE} | b64decode }}}}"}}
    return {"targets": [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata}]}


def an_annotation() -> Manifest:
    """The value in an annotation of a Secret."""
    metadata = {"name": "given", "annotations": {"leak": f"{{{{ {VALUE} }}}}"}}
    return {"targets": [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata}]}


def a_type() -> Manifest:
    """The value as the type of a Secret."""
    return {"targets": [secret(type=f"{{{{ {VALUE} }}}}")]}


def a_key() -> Manifest:
    """The value as a key of a Secret's data."""
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: given}\nstringData: {{ {" + VALUE + ": 'x'} | tojson }}\n"
    return {"template": text}


def one_bit() -> Manifest:
    """Whether the value begins with h, by the number of targets."""
    begins = "{% if " + VALUE + " | b64decode | first == 'h' %}"
    text = begins + "apiVersion: v1\nkind: Secret\nmetadata: {name: seen}\n{% endif %}---\n"
    return {"template": text + "apiVersion: v1\nkind: Secret\nmetadata: {name: always}\n"}


def a_neighbour() -> Manifest:
    """A plain target beside a sound Secret."""
    return {"targets": [secret(stringData={"key": f"{{{{ {VALUE} | b64decode }}}}"}), _map({"a": "b"})]}


LEAKS = (a_plain_map, a_decoded_map, a_text, a_name, a_label, an_annotation, a_type, a_key, one_bit, a_neighbour)


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_secret_is_not_read_through_a_permit(permits: Permits, logged: io.StringIO, leak: Callable[[], Manifest]) -> None:
    """What would show the content of a Secret, or a part of it, in anything but the data of a Secret is never reviewed."""
    manager = permits.stage.manager(permits=True)
    permit = permits.ask(permits.template("leaks", leak(), context=context(permits))).expect(201).body
    message = says(permits, permit, "SecretInPlainTarget")
    assert "spec.resources[0]" in message or "resources[0]" in message
    live = permits.stage.read(permit)
    assert live["status"]["phase"] == "Created"
    assert "request" not in live["status"]
    _nowhere(logged.getvalue(), json.dumps(live), str(manager.told), str(manager.transitions))
    absent(permits, ref("v1", "ConfigMap", "leak", permits.home))


def _nowhere(*texts: str) -> None:
    for text in texts:
        for form in FORMS:
            assert form not in text


def given(permits: Permits, **spec: object) -> Manifest:
    """A template that copies the canary into a Secret, and renders a ConfigMap beside it."""
    copied = {"targets": [secret(stringData={"key": f"{{{{ {VALUE} | b64decode }}}}"})], "context": context(permits)}
    template: Manifest = permits.template("gives", copied, {"targets": [_map({"a": "b"}, "beside")]}, **spec)
    return template


def target(permits: Permits) -> Manifest:
    """The Secret that is given."""
    return ref("v1", "Secret", "given", permits.home)


def vault(permit: Manifest) -> Manifest:
    """Where the clear values of a permit are."""
    return ref("v1", "Secret", f"permit-{permit['metadata']['uid']}", VAULT)


def test_a_secret_that_is_given_is_shown_nowhere(permits: Permits, logged: io.StringIO, tmp_path: Path) -> None:
    """Neither status, preview, Events, log nor any output of the commands has its value, at any time of its life."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = permits.asked(given(permits, keepFor="1h", maxDuration="1h"))
    config = str(stage.access.kubeconfig(tmp_path / "kubeconfig", namespace=permits.home))
    said = [_command(config, permit, "show")]
    permits.approve(permit)
    live = permits.reaches(permit, "Active")
    assert stage.read(target(permits))["data"] == {"key": ENCODED}
    shown = next(one for group in live["status"]["request"]["resources"] for one in group["targets"] if one["kind"] == "Secret")
    assert shown["data"]["key"].startswith("sha256:")
    assert stage.read(vault(permit))["immutable"] is True
    said += [_command(config, permit, word) for word in ("show", "list", "verify", "export")]
    permits.patch(permit, phase="Expired").expect(200)
    stage.gone(target(permits))
    done = stage.becomes(permit, lambda each: ready_of(each)["reason"] == "Expired")
    said += [_command(config, permit, word) for word in ("show", "export")]
    events = stage.api.list("events.k8s.io/v1", "Event", permits.home)
    told = (str(manager.told), str(manager.transitions), logged.getvalue(), json.dumps(events.body))
    _nowhere(json.dumps([live, done]), *told, *said)


def _command(config: str, permit: Manifest, word: str) -> str:
    names = [] if word == "list" else [permit["metadata"]["name"]]
    result = CliRunner().invoke(main, ["permit", word, "--kubeconfig", config, *names], prog_name="copyhold")
    assert result.exit_code in (0, 1), result.output
    return result.output


def other_values(permits: Permits, permit: Manifest) -> None:
    """The vault says something else than what was reviewed."""
    before = permits.stage.read(vault(permit))
    targets = json.loads(base64.b64decode(before["data"]["targets"]))
    for one in targets:
        if one["kind"] == "Secret":
            one["data"]["key"] = base64.b64encode(b"seized").decode()
    _swap(permits, before, targets)


def other_targets(permits: Permits, permit: Manifest) -> None:
    """The vault has another target."""
    before = permits.stage.read(vault(permit))
    targets = json.loads(base64.b64decode(before["data"]["targets"]))
    _swap(permits, before, [*targets, ref("v1", "ConfigMap", "seized", permits.home)])


def garbage(permits: Permits, permit: Manifest) -> None:
    """The vault holds nothing that can be read."""
    _swap(permits, permits.stage.read(vault(permit)), "nothing")


def no_vault(permits: Permits, permit: Manifest) -> None:
    """Somebody deleted it."""
    permits.stage.api.delete(vault(permit)).expect(200)


def _swap(permits: Permits, before: Manifest, content: object) -> None:
    permits.stage.api.delete(before).expect(200)
    metadata = {key: before["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    data = {"targets": base64.b64encode(json.dumps(content).encode()).decode()}
    forged = {field: before[field] for field in ("apiVersion", "kind", "type")} | {"immutable": True}
    permits.stage.api.create(forged | {"metadata": metadata, "data": data}).expect(201)


TAMPERED = (other_values, other_targets, garbage, no_vault)


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
def test_a_vault_that_was_changed_gives_nothing(permits: Permits, tamper: Callable[[Permits, Manifest], None]) -> None:
    """What was reviewed is what is given, or nothing is: not one target of the permit."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = permits.asked(given(permits, maxDuration="1h"))
    tamper(permits, permit)
    permits.approve(permit)
    failed = permits.reaches(permit, "Failed")
    assert failed["status"]["failure"]["reason"] == "TrailBroken"
    assert "permit-" in failed["status"]["failure"]["message"]
    for name in ("given", "beside", "seized"):
        absent(permits, ref("v1", "Secret" if name == "given" else "ConfigMap", name, permits.home))


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
def test_a_vault_that_is_changed_later_changes_nothing_that_was_given(
    permits: Permits, tamper: Callable[[Permits, Manifest], None]
) -> None:
    """An active permit keeps what was reviewed, says that it cannot repair it, and everything goes at its end."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = active(permits, given(permits, maxDuration="1h"))
    tamper(permits, permit)
    manager.restart()
    look(manager)
    says(permits, permit, "TrailBroken")
    held = stage.api.get(target(permits))
    assert held.status == 404 or held.body["data"] == {"key": ENCODED}
    absent(permits, ref("v1", "ConfigMap", "seized", permits.home))
    manager.clock.forward(hours=2)
    look(manager)
    stage.gone(target(permits))
    permits.ended(permit)
    eventually(lambda: stage.api.get(vault(permit)).expect(404))


def test_a_secret_of_another_namespace_is_not_read(permits: Permits) -> None:
    """A local template reads its own namespace, and what its account may."""
    stage = permits.stage
    stage.manager(permits=True)
    other = stage.namespace("other")
    stage.create(ref("v1", "Secret", "source", other) | {"data": {"key": ENCODED}})
    query = {"index": "s", "apiVersion": "v1", "kind": "Secret", "name": "source"}
    copied = secret(stringData={"key": f"{{{{ {VALUE} | b64decode }}}}"})
    for word, namespace in (("said", other), ("spelled", f"{{{{ '{other[:3]}' ~ '{other[3:]}' }}}}")):
        reads = {"resources": [query | {"namespace": namespace}]}
        permit = permits.ask(permits.template(word, {"targets": [copied], "context": reads})).expect(201).body
        assert other in says(permits, permit, "TemplateContextFailed")
    poor = stage.service_account("poor")
    stage.create(ref("v1", "Secret", "source", permits.home) | {"data": {"key": ENCODED}})
    reads = {"resources": [query]}
    template = permits.template("poor", {"targets": [copied], "context": reads}, impersonation={"name": poor.name})
    permit = permits.ask(template).expect(201).body
    assert "poor" in says(permits, permit, "TemplateContextFailed")
    absent(permits, target(permits))

"""How temporary access of other systems failed in public, as tests: what of Secrets is seen (case 103)."""

import base64
import json
from typing import Any

import pytest

from tests.scenario.permits.acts import expire, said, unwritable
from tests.support.api import Manifest, ref
from tests.support.permits import Permits

WAX = "wax-under-the-seal"


def test_case_103_a_secret_that_is_given_is_seen_nowhere(permits: Permits, capsys: pytest.CaptureFixture[str]) -> None:
    """Read as context, given as a Secret, taken back: neither status, nor what is told, nor the log has a word of it."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    asked = permits.asked(secretive(permits, "passes", {"password": "{{ context.it[0].data.password }}"}))
    permits.approve(asked)
    live = permits.reaches(asked, "Active")
    copy = stage.read(ref("v1", "Secret", "copy", permits.home))
    assert base64.b64decode(copy["data"]["password"]).decode() == WAX
    done = expire(permits, live)
    seen_nowhere(asked, live, done, [str(each) for each in manager.told], manager.transitions, capsys.readouterr())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"password": {"inner": "{{ context.it[0].data.password }}"}}, id="a map for a text"),
        pytest.param({"password": "{{ context.it[0].data.password | b64decode }}"}, id="not encoded"),
        pytest.param({"pass word": "{{ context.it[0].data.password }}"}, id="a key that is none"),
        pytest.param({"{{ context.it[0].data.password }}": "eA=="}, id="as a key"),
        pytest.param(["{{ context.it[0].data.password }}"], id="a list"),
    ],
)
def test_case_103_a_secret_that_cannot_be_one_is_seen_nowhere(
    permits: Permits, capsys: pytest.CaptureFixture[str], data: Any
) -> None:
    """A server that refuses what is no Secret repeats what it was sent; that goes no further."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = secretive(permits, "malformed", data)
    permit = permits.ask(template).expect(201).body
    live = stage.becomes(permit, lambda live: said(live)[0] not in ("", "Progressing") if live.get("status") else False)
    assert live["status"]["phase"] in ("Created", "Failed")
    seen_nowhere(live, [str(each) for each in manager.told], manager.transitions, capsys.readouterr())


@pytest.mark.parametrize("trial", [True, False], ids=["dry run", "activation"])
def test_case_103_a_refusal_that_repeats_a_secret_is_seen_nowhere(
    permits: Permits, capsys: pytest.CaptureFixture[str], trial: bool
) -> None:
    """Somebody's admission policy says what it refuses, the value included: the failure says that it was refused, and no more."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = secretive(permits, "refused", {"password": "{{ context.it[0].data.password }}"}, keepFor="1h")
    sample = ref("v1", "Secret", "copy", permits.home) | {"stringData": {"password": "sample"}}
    with unwritable(permits, sample, "secrets", tried=trial, says="'the password is ' + string(object.data['password'])"):
        permit = permits.ask(template).expect(201).body
        if not trial:
            permits.approve(permits.reaches(permit, "Requested"))
        live = permits.reaches(permit, "Failed")
    assert live["status"]["failure"]["stage"] == ("Preflight" if trial else "Activation")
    assert "Secret" in live["status"]["failure"]["message"]
    seen_nowhere(live, [str(each) for each in manager.told], manager.transitions, capsys.readouterr())


def secretive(permits: Permits, word: str, data: Any, **spec: Any) -> Manifest:
    """A template that reads a Secret and renders another."""
    source = ref("v1", "Secret", "source", permits.home) | {"stringData": {"password": WAX}}
    permits.stage.create(source)
    query = {"index": "it", "apiVersion": "v1", "kind": "Secret", "name": "source"}
    copy = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy"}, "data": data}
    return permits.template(word, {"targets": [copy]}, context={"resources": [query]}, **({"keepFor": "1h"} | spec))


def seen_nowhere(*things: Any) -> None:
    """No word of the Secret, in clear or encoded, is in any of these."""
    text = json.dumps(things, default=str)
    encoded = base64.b64encode(WAX.encode()).decode()
    assert WAX not in text
    assert encoded not in text

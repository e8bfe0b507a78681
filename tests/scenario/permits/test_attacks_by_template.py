"""What templates and parameters might smuggle in: foreign places, the manager's own kinds, structure, and templates in values."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.scenario.permits.tampering import absent, ready_of, refused
from tests.support.api import Manifest, eventually, ref
from tests.support.permits import GLOBAL, LOCAL, RULES, Permits
from tests.support.stage import RBAC, VERSION

ADMISSION = "admissionregistration.k8s.io/v1"
OBJECT = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHEMA: Manifest = {"type": "object", "properties": {"document": OBJECT, "v": {"type": "string"}}}


# What a permit never gives.


def _ways(document: Manifest) -> dict[str, Manifest]:
    """The groups in which a template can name one document, without saying it in so many words."""
    namespace = document["metadata"].get("namespace", "")
    spelled = {**document, "metadata": {**document["metadata"], "namespace": f"{{{{ '{namespace[:3]}' ~ '{namespace[3:]}' }}}}"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [document]}
    lists = {"apiVersion": "v1", "kind": f"{document['kind']}List", "items": [document]}
    ways: dict[str, Manifest] = {
        "a target": {"targets": [document]},
        "a text": {"template": json.dumps(document)},
        "a List": {"template": json.dumps(listed)},
        "a list of its kind": {"template": json.dumps(lists)},
        "a parameter": {"template": "{{ params.document | tojson }}"},
        "a list of parameters": {"template": '{"apiVersion": "v1", "kind": "List", "items": [{{ params.document | tojson }}]}'},
        "a document behind a sound one": {"template": f"{json.dumps(_SOUND)}\n---\n{json.dumps(document)}"},
    }
    return ways | ({"an expression": {"targets": [spelled]}} if namespace else {})


_SOUND = ref("v1", "ConfigMap", "sound")


def _never_given(permits: Permits, kind: str, documents: Mapping[str, Manifest]) -> list[Manifest]:
    """Ask for every document in every way; each is refused with the template, or keeps its permit from being reviewed."""
    manager = permits.stage.manager(permits=True)
    waiting = {}
    for word, document in documents.items():
        for way, group in _ways(document).items():
            template = _template(permits, kind, f"{len(waiting)}", group)
            reply = permits.stage.api.create(template)
            if reply.status == 201:
                permits.stage.made.append(reply.body)
                waiting[word, way] = (reply.body, document)
            else:
                refused(reply, 422)
    assert len(waiting) >= 5 * len(documents)
    stuck = []
    for (word, way), (template, document) in waiting.items():
        permits.stage.ready(template)
        permit = permits.ask(template, params={"document": document}).expect(201).body
        stuck.append((word, way, permit, document))
    for word, way, permit, document in stuck:
        message = _kept(permits, permit, (word, way))
        assert document["metadata"]["name"] in message or document["kind"] in message, (word, way, message)
    manager.idle()
    absent(permits, ref("v1", "ConfigMap", "sound", permits.home))
    return [permit for _, _, permit, _ in stuck]


def _template(permits: Permits, kind: str, word: str, group: Manifest) -> Manifest:
    account = {"name": permits.account} | ({"namespace": permits.home} if kind == GLOBAL else {})
    spec = {"impersonation": account, "paramSchema": SCHEMA, "approvals": {"auto": True}, "resources": [group]}
    return ref(VERSION, kind, permits.stage.name(f"t{word}"), permits.home if kind == LOCAL else None) | {"spec": spec}


def _kept(permits: Permits, permit: Manifest, what: object, reason: str = "TemplateRenderingFailed") -> str:
    """Wait until a permit says that it is not prepared; answers why."""

    def look() -> str:
        status = permits.stage.read(permit).get("status") or {}
        assert status.get("phase") == "Created", (what, status.get("phase"))
        ready = ready_of({"status": status})
        assert ready["reason"] == reason, (what, ready)
        return str(ready["message"])

    return eventually(look)


def test_a_local_template_stays_in_its_namespace(permits: Permits) -> None:
    """Nothing in another namespace, nothing that is in none, however it is written; the account could do all of it."""
    other = permits.stage.namespace("other")
    documents = {
        "another namespace": ref("v1", "ConfigMap", "seized", other),
        "a cluster role": ref(f"{RBAC}/v1", "ClusterRole", permits.stage.name("seized")) | {"rules": []},
        "a namespace": ref("v1", "Namespace", permits.stage.name("seized")),
    }
    _never_given(permits, LOCAL, documents)
    for document in documents.values():
        absent(permits, document)


def _theirs(permits: Permits) -> dict[str, Manifest]:
    name = permits.stage.name("seized")
    resource = {"spec": {"resources": [{"targets": [_SOUND]}]}}
    return {
        "a permit": ref(VERSION, "ResourcePermit", name, permits.home) | {"spec": {"template": {"kind": LOCAL, "name": "x"}}},
        "a template": ref(VERSION, LOCAL, name, permits.home) | resource,
        "a parent": ref(VERSION, "TenantResource", name, permits.home) | resource,
        "a tenant": ref(VERSION, "Tenant", name) | {"spec": {}},
        "a webhook": ref(ADMISSION, "MutatingWebhookConfiguration", name) | {"webhooks": []},
        "a policy": ref(ADMISSION, "ValidatingAdmissionPolicyBinding", name) | {"spec": {}},
    }


def _reserved(permits: Permits) -> dict[str, Manifest]:
    name = permits.stage.name("seized")
    definition = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "resourcepermits.copyhold.dev")
    return {
        "our definition": definition | {"spec": {}},
        "the manager's namespace": ref("v1", "ConfigMap", name, "copyhold-system"),
        "the namespace of the manager": ref("v1", "Namespace", "copyhold-system"),
        "kube-system": ref("v1", "ConfigMap", name, "kube-system"),
        "kube-system itself": ref("v1", "Namespace", "kube-system"),
    }


@pytest.mark.parametrize("documents", [_theirs, _reserved], ids=["our kinds and admission", "reserved places"])
def test_no_permit_gives_what_it_stands_on(permits: Permits, documents: Any) -> None:
    """Not the manager's kinds, admission, its namespace or the system's, though a global template's account may write them."""
    chosen = documents(permits)
    before = {word: permits.stage.api.get(document) for word, document in chosen.items()}
    _never_given(permits, GLOBAL, chosen)
    for word, document in chosen.items():
        after = permits.stage.api.get(document)
        assert after.status == before[word].status
        assert (after.body.get("spec"), after.body["metadata"].get("labels")) == (
            before[word].body.get("spec"),
            before[word].body["metadata"].get("labels"),
        )


def test_a_generated_name_is_not_given(permits: Permits) -> None:
    """What has no name before it is made could not be proved to be the permit's."""
    permits.stage.manager(permits=True)
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "seized-"}}
    refused(permits.stage.api.create(_template(permits, LOCAL, "schema", {"targets": [document]})), 422, says="name")
    template = permits.stage.create(_template(permits, LOCAL, "text", {"template": json.dumps(document)}))
    permits.stage.ready(template)
    assert "metadata.generateName cannot be applied" in _kept(permits, permits.ask(template).expect(201).body, "text")


def test_an_account_of_a_reserved_namespace_does_not_act(permits: Permits) -> None:
    """No template borrows the manager's account, or one of the system, or one that its author may not impersonate."""
    stage = permits.stage
    author = stage.name("author")
    kinds = ["resourcepermittemplates", "globalresourcepermittemplates"]
    stage.grant_user(author, [{"apiGroups": ["copyhold.dev"], "resources": kinds, "verbs": ["*"]}])
    group = {"targets": [_SOUND]}
    for namespace, name in (("copyhold-system", "copyhold"), ("kube-system", "default")):
        template = _template(permits, GLOBAL, name, group)
        template["spec"]["impersonation"] = {"namespace": namespace, "name": name}
        refused(stage.api.create(template), 403, says="reserved namespace")
    for kind in (LOCAL, GLOBAL):
        refused(permits.as_(author).create(_template(permits, kind, "borrowed", group)), 403, says="you may not impersonate")


# What parameters become.


PAYLOADS = (
    "{{ 7*7 }}",
    "{{ params.v }}{{ params.v }}",
    "{% for x in range(9) %}{{ x }}{% endfor %}",
    "{# gone #}",
    "{{ cycler.__init__.__globals__ }}",
    "a\nb: c",
    "a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: seized}",
    "\n---\n",
    "...",
    "x}\nkind: Secret\nmetadata: {name: seized}\ndata: {a: b",
    "&anchor x",
    "*anchor",
    "<<: *anchor",
    "!!python/object/apply:os.system [id]",
    "!!binary aGk=",
    "{a: b}",
    "[1, 2]",
    "- a",
    "? a",
    "a: b",
    "a #b",
    "null",
    "~",
    "yes",
    "0x1F",
    "1e3",
    "2026-01-01",
    "'",
    '"',
    'x", "seized": "y',
    "|\n  x",
    "%YAML 1.2",
    "@x",
    "`x`",
    "\u2028x\u0085y",
    " x ",
    "",
)


def _map(name: str, values: str) -> str:
    return f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: "{{{{ request.name }}}}-{name}"}}\ndata: {{ {values} }}\n'


def test_parameters_stay_text(permits: Permits) -> None:
    """Whatever a parameter holds, it is one string where the template has put it, in the snapshot and in what is given."""
    stage = permits.stage
    stage.manager(permits=True)
    metadata = {"name": "{{ request.name }}-target"}
    data = {"whole": "{{ params.v }}", "part": "<{{ params.v }}>"}
    target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    text = _map("text", "json: {{ params.v | tojson }}")
    template = permits.template("sound", {"targets": [target]}, {"template": text}, paramSchema=SCHEMA)
    asked = {payload: permits.ask(template, params={"v": payload}).expect(201).body for payload in PAYLOADS}
    for payload, permit in asked.items():
        live = permits.reaches(permit, "Requested")
        first, second = (group["targets"] for group in live["status"]["request"]["resources"])
        assert [one["data"] for one in first] == [{"whole": payload, "part": f"<{payload}>"}], payload
        assert [one["data"] for one in second] == [{"json": payload}], payload
    for payload in PAYLOADS[:7]:
        permits.approve(asked[payload])
    for payload in PAYLOADS[:7]:
        name = permits.reaches(asked[payload], "Active")["metadata"]["name"]
        given = stage.read(ref("v1", "ConfigMap", f"{name}-target", permits.home))
        assert given["data"] == {"whole": payload, "part": f"<{payload}>"}
        assert stage.read(ref("v1", "ConfigMap", f"{name}-text", permits.home))["data"] == {"json": payload}
    absent(permits, ref("v1", "ConfigMap", "seized", permits.home))


@pytest.mark.parametrize("quoted", [False, True], ids=["bare", "in quotes"])
def test_parameters_in_a_text_are_text_or_refused(permits: Permits, quoted: bool) -> None:
    """Spliced into YAML without `tojson`, a value that would be structure, or another value, is refused; all others are text."""
    permits.stage.manager(permits=True)
    text = _map("text", 'v: "{{ params.v }}"' if quoted else "v: {{ params.v }}")
    template = permits.template("careless", {"template": text}, paramSchema=SCHEMA)
    asked = {payload: permits.ask(template, params={"v": payload}).expect(201).body for payload in (*PAYLOADS, "harmless")}
    prepared = []
    for payload, permit in asked.items():
        status = eventually(lambda permit=permit: _settled(permits, permit))
        if status["phase"] == "Requested":
            targets = [one for group in status["request"]["resources"] for one in group["targets"]]
            assert [one.get("data") for one in targets] == [{"v": payload}], payload
            prepared.append(payload)
        else:
            ready = ready_of({"status": status})
            assert ready["reason"] == "TemplateRenderingFailed", (payload, ready)
            assert "tojson" in ready["message"], (payload, ready)
    assert "harmless" in prepared
    assert not set(PAYLOADS[:10]) & set(prepared)


def _settled(permits: Permits, permit: Manifest) -> Manifest | None:
    """The status, once it has been prepared or says why not."""
    status: Manifest = permits.stage.read(permit).get("status") or {}
    phase = status.get("phase")
    if phase == "Created" and ready_of({"status": status})["reason"] == "Progressing":
        return None
    return status if phase else None


def test_a_name_of_a_user_stays_text(permits: Permits) -> None:
    """Who asks may be called anything by an identity provider: the name is no template and no YAML."""
    stage = permits.stage
    stage.manager(permits=True)
    mallory = f"{{{{ 7*7 }}}}: [{stage.mark}] {{% raw %}}"
    stage.grant_user(mallory, RULES, permits.home)
    target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "who"}, "data": {"who": "{{ request.username }}"}}
    sound = permits.template("sound", {"targets": [target]})
    permit = permits.asked(sound, by=mallory)
    permits.approve(permit)
    permits.reaches(permit, "Active")
    assert stage.read(ref("v1", "ConfigMap", "who", permits.home))["data"] == {"who": mallory}
    careless = permits.template("careless", {"template": _map("text", "v: {{ request.username }}")})
    assert "tojson" in _kept(permits, permits.ask(careless, by=mallory).expect(201).body, "careless")


def test_parameters_that_the_template_did_not_ask_for_are_refused(permits: Permits) -> None:
    """The schema is the only way in: other types and other fields do not pass, and no message repeats a value."""
    permits.stage.manager(permits=True)
    schema = {"type": "object", "required": ["v"], "properties": {"v": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8}}}
    template = permits.template(paramSchema=schema)
    for value in ({"a": 1}, ["a"], 7, None, "a\nb", "{{ x }}", "a" * 9):
        refused(permits.ask(template, params={"v": value}), 400, 422)
    for params in ({}, {"v": "a", "w": "b"}, "text"):
        refused(permits.ask(template, params=params), 400, 422)
    permits.asked(template, params={"v": "sound"})

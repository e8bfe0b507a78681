"""What Go makes of bodies: the words for wrong types were taken from a real server."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded.kinds.codec import canonical_quantity, codec
from manager.embedded.kinds.reading import Converting, Reading, Undecodable
from manager.embedded.kinds.types import facts

DEPLOYMENT, CONFIG_MAP, ROLE = "apps/v1/Deployment", "/v1/ConfigMap", "rbac.authorization.k8s.io/v1/Role"
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def read(kind: str, obj: dict[str, Any]) -> tuple[Any, list[str]]:
    """Read an object of a kind; what is wrong with it is raised."""
    reading = Reading()
    found = codec(facts().kinds[kind]).read(obj, None, reading)
    if reading.mismatch:
        raise Undecodable(reading.mismatch)
    return found, reading.unknown


def container(**parts: Any) -> dict[str, Any]:
    """A Deployment with one container."""
    return {"spec": {"template": {"spec": {"containers": [parts]}}}}


@pytest.mark.parametrize(
    ("kind", "obj", "words"),
    [
        (CONFIG_MAP, {"data": 3}, "number into Go struct field ConfigMap.data of type map[string]string"),
        (CONFIG_MAP, {"data": {"a": 1}}, "number into Go struct field ConfigMap.data of type string"),
        (CONFIG_MAP, {"data": [1]}, "array into Go struct field ConfigMap.data of type map[string]string"),
        (CONFIG_MAP, {"binaryData": {"a": 5}}, "number into Go struct field ConfigMap.binaryData of type []uint8"),
        (CONFIG_MAP, {"immutable": "yes"}, "string into Go struct field ConfigMap.immutable of type bool"),
        (CONFIG_MAP, {"metadata": []}, "array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (CONFIG_MAP, {"metadata": {"name": 5}}, "number into Go struct field ObjectMeta.metadata.name of type string"),
        (CONFIG_MAP, {"metadata": {"labels": {"a": 5}}}, "number into Go struct field ObjectMeta.metadata.labels of type string"),
        (DEPLOYMENT, {"spec": {"replicas": "x"}}, "string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, {"spec": {"replicas": 1.5}}, "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, {"spec": {"replicas": 1.0}}, "number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (DEPLOYMENT, {"spec": {"replicas": True}}, "bool into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 99999999999}},
            "number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"template": {"spec": {"containers": ["x"]}}}},
            "string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
        ),
        (
            DEPLOYMENT,
            {"spec": {"template": {"spec": {"containers": {}}}}},
            "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            DEPLOYMENT,
            container(imagePullPolicy=3),
            "number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            DEPLOYMENT,
            container(livenessProbe={"httpGet": {"port": True}}),
            "bool into Go struct field HTTPGetAction.spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
            " of type int32",
        ),
        (ROLE, {"rules": [{"verbs": "get"}]}, "string into Go struct field PolicyRule.rules.verbs of type []string"),
        (ROLE, {"rules": [{"verbs": [5]}]}, "number into Go struct field PolicyRule.rules.verbs of type string"),
    ],
)
def test_a_wrong_type_is_told_in_the_words_of_go(kind: str, obj: dict[str, Any], words: str):
    """The struct that has the field, the path from the root, and the type as Go writes it."""
    with pytest.raises(Undecodable) as raised:
        read(kind, obj)
    assert str(raised.value) == f"json: cannot unmarshal {words}"


@pytest.mark.parametrize(
    ("kind", "obj", "words"),
    [
        (DEPLOYMENT, container(resources={"limits": {"cpu": "abc"}}), QUANTITY),
        (DEPLOYMENT, container(resources={"limits": {"cpu": True}}), QUANTITY),
        (DEPLOYMENT, container(resources={"limits": {"cpu": "1Q"}}), QUANTITY),
        (DEPLOYMENT, container(resources={"limits": {"cpu": "1Kk"}}), "unable to parse quantity's suffix"),
        (CONFIG_MAP, {"binaryData": {"a": "???"}}, "illegal base64 data at input byte 0"),
        (CONFIG_MAP, {"binaryData": {"a": "aGFsbG8"}}, "illegal base64 data at input byte 4"),
        (CONFIG_MAP, {"binaryData": {"a": "aGFs=bG8"}}, "illegal base64 data at input byte 4"),
        (CONFIG_MAP, {"binaryData": {"a": "YQ==YQ=="}}, "illegal base64 data at input byte 4"),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
        ),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": 5}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
    ],
)
def test_a_text_of_the_wrong_form_is_told_in_the_words_of_its_type(kind: str, obj: dict[str, Any], words: str):
    """Quantities, bytes and times read themselves."""
    with pytest.raises(Undecodable) as raised:
        read(kind, obj)
    assert str(raised.value) == words


def test_the_first_wrong_type_is_told_unless_a_type_that_reads_itself_ends_the_reading():
    """Go goes on after a wrong type, and stops at a quantity that is none."""
    first = {"spec": {"strategy": {"type": 5}, "replicas": "x"}}
    with pytest.raises(Undecodable, match=r"DeploymentStrategy\.spec\.strategy\.type of type v1\.DeploymentStrategyType"):
        read(DEPLOYMENT, first)
    with pytest.raises(Undecodable, match="quantities must match"):
        read(DEPLOYMENT, {"spec": {"replicas": "x"} | container(resources={"limits": {"cpu": "x"}})["spec"]})


def test_unknown_fields_are_left_out_and_told_in_the_order_of_the_body():
    """Their paths have the indexes of lists."""
    spec = {"foo": 1, "template": {"spec": {"containers": [{"name": "x", "bar": 3}, {"bar": 4, "zoo": 5}], "q": 1}}, "a": 4}
    found, unknown = read(DEPLOYMENT, {"spec": spec})
    assert unknown == [
        "spec.foo",
        "spec.template.spec.containers[0].bar",
        "spec.template.spec.containers[1].bar",
        "spec.template.spec.containers[1].zoo",
        "spec.template.spec.q",
        "spec.a",
    ]
    assert "foo" not in found["spec"]


def test_empty_fields_are_left_out_or_written_as_their_struct_says():
    """`omitempty` leaves out zeros, but not what a pointer points to; structs and required fields are always there."""
    found, _ = read(DEPLOYMENT, {"spec": {"replicas": 0, "paused": False, "minReadySeconds": 0}})
    assert found["spec"] == {
        "replicas": 0,
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    }
    assert found["status"] == {}


def test_nulls_are_zero_values():
    """A null field is not there; a null entry of a map or a list is an empty value."""
    found, _ = read(CONFIG_MAP, {"data": {"a": None}, "immutable": None, "metadata": {"finalizers": [None]}})
    assert found == {"data": {"a": ""}, "metadata": {"finalizers": [""]}}


def test_what_comes_out_shares_no_container_with_the_body():
    """Defaults are set in place afterwards."""
    body = {"data": {"a": "b"}, "metadata": {"labels": {"c": "d"}}}
    found, _ = read(CONFIG_MAP, body)
    found["data"]["a"] = found["metadata"]["labels"]["c"] = "changed"
    assert body == {"data": {"a": "b"}, "metadata": {"labels": {"c": "d"}}}


@pytest.mark.parametrize(
    ("given_", "canonical"),
    [("1000m", "1"), (1024, "1024"), (0.5, "500m"), ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), (" 1 ", "1"), ("1e3", "1e3")],
)
def test_quantities_are_canonical(given_: Any, canonical: str):
    """Numbers are quantities, too."""
    assert canonical_quantity(given_) == canonical


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"replicas": "x"}, "unrecognized type: int32"),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
        ({"paused": "x"}, "unrecognized type: bool"),
        ("x", "cannot restore struct from: string"),
        ({"selector": {"matchLabels": []}}, "cannot restore map from slice"),
        (container(image=7)["spec"], "cannot convert int64 to string"),
        ({"template": {"spec": {"containers": {}}}}, "cannot restore slice from map"),
    ],
)
def test_a_strategic_patch_is_converted_in_other_words(spec: Any, words: str):
    """The server does not read JSON there."""
    reading = Converting()
    codec(facts().kinds[DEPLOYMENT]).read({"spec": spec}, None, reading)
    assert reading.mismatch == words


def test_a_strategic_patch_takes_a_float_without_fraction():
    """Conversion is not as strict as reading."""
    reading = Converting()
    found = codec(facts().kinds[DEPLOYMENT]).read({"spec": {"replicas": 2.0}}, None, reading)
    assert (found["spec"]["replicas"], reading.mismatch) == (2, "")


@given(kind=st.sampled_from(sorted(facts().kinds)), body=st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_anything_is_read_or_refused(kind: str, body: dict[str, Any]):
    """No body makes the reading fail in another way."""
    try:
        found, _ = read(kind, body | {"metadata": {"name": "x"}})
    except Undecodable:
        return
    assert found["metadata"]["name"] == "x" or "metadata" not in facts().structs[facts().kinds[kind]]


@given(kind=st.sampled_from(sorted(facts().kinds)), parts=st.data())
def test_what_was_read_reads_the_same_again(kind: str, parts: st.DataObject):
    """Reading is idempotent: the server reads what it has written."""
    struct = facts().kinds[kind]
    body = parts.draw(_bodies(struct, 3))
    reading = Reading()
    once = codec(struct).read(body, None, reading)
    again = codec(struct).read(once, None, reading)
    assert (again, reading.mismatch) == (once, "")


def _bodies(written: str, depth: int) -> st.SearchStrategy[Any]:
    """Bodies that fit a type, down to a depth."""
    known = facts()
    written = written.lstrip("*")
    written = known.named.get(written, written) if known.named.get(written) != "custom" else written
    if written in known.structs:
        fields = known.fields(written)
        if depth == 0:
            return st.just({})
        chosen = st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True) if fields else st.just([])
        return chosen.flatmap(
            lambda names: st.fixed_dictionaries({name: _bodies(fields[name].type, depth - 1) for name in names})
        )
    if written == "[]uint8":
        return st.binary(max_size=4).map(lambda raw: b64encode(raw).decode())
    if written.startswith("[]"):
        return st.lists(_bodies(written[2:], depth), max_size=2)
    if written.startswith("map["):
        return st.dictionaries(st.text(max_size=3), _bodies(written[written.index("]") + 1 :], depth), max_size=2)
    return _leaf(written)


def _leaf(written: str) -> st.SearchStrategy[Any]:
    if written.endswith("Quantity"):
        return st.sampled_from(["1", "1000m", "1Gi", 5, "0.5"])
    if written.endswith(("Time", "MicroTime")):
        return st.just("2026-01-02T03:04:05.000006Z")
    if written.endswith("IntOrString"):
        return st.integers(0, 9) | st.text(max_size=3)
    if written.endswith(("JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrStringArray")):
        return st.just({})
    simple = {"string": st.text(max_size=3), "bool": st.booleans(), "float64": st.integers(0, 9)}
    return simple.get(written, st.integers(0, 100) if written.startswith(("int", "uint")) else st.just({}))

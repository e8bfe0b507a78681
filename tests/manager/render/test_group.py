"""One group over one job's variables, in this process: sources, kinds of documents, and what is refused."""

from typing import Any

import orjson
import pytest

from apis.problems import Invalid
from apis.reasons import Reason
from manager.render import wire
from manager.render.group import Inputs, check_group, compile_group, render_job

LIMITS = wire.Limits()
NOW = "2026-01-01T00:00:00Z"


def group(**parts: Any) -> dict[str, Any]:
    """A group as it comes over the wire."""
    empty = {"name": "g", "targets": [], "template": "", "labels": {}, "annotations": {}, "clocked": False}
    return {**empty, "path": "spec.resources[0]", "queries": [], "condition": None, **parts}


def render(made: dict[str, Any], copies: list[Any] | None = None, limits: wire.Limits = LIMITS, **variables: Any) -> list[Any]:
    """(manifest, source, scalars) of each document."""
    objects: list[Any] = []
    wanted: dict[str, Any] = {}
    for name, value in variables.items():
        if name == "context":
            wanted[name] = {index: len(objects) + place for place, index in enumerate(value)}
            objects += list(value.values())
        else:
            wanted[name] = len(objects)
            objects.append(value)
    job = {"variables": wanted, "copies": copies or []}
    answers = render_job(compile_group(made), job, Inputs(objects, NOW), limits)
    return [(item["manifest"], item["source"], item["scalars"]) for item in orjson.loads(orjson.dumps(answers))]


def config(**data: Any) -> dict[str, Any]:
    """A ConfigMap with these data."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def test_targets_are_rendered_with_types_and_the_paths_of_scalars() -> None:
    """Keys are templates, too; what nobody templated is passed on."""
    target = config(
        **{"{{ tenant.name }}-n": "{{ 1 + 1 }}", "t": "{{ true }}", "s": "{{ 'x' }}", "p": "v{{ 1 }}", "m": "{{ tenant.m }}"}
    )
    assert render(group(targets=[target]), tenant={"name": "solar", "m": {"a": [1, None, "b"]}}) == [
        (
            config(**{"solar-n": 2, "t": True, "s": "x", "p": "v1", "m": {"a": [1, None, "b"]}}),
            "targets[0]",
            [["data", "solar-n"], ["data", "t"], ["data", "m", "a", 0]],
        )
    ]


def test_text_becomes_documents_with_position_and_line_and_skips_what_is_none() -> None:
    """Empty documents and maps without apiVersion and kind."""
    text = (
        "# nothing\n---\n{% for i in range(2) %}\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c{{ i }}}\n---\n{% endfor %}\nnote: x\n"
    )
    assert [(manifest["metadata"]["name"], source) for manifest, source, _ in render(group(template=text))] == [
        ("c0", "template[0] line 4"),
        ("c1", "template[1] line 9"),
    ]


def test_lists_are_taken_apart_item_by_item() -> None:
    """`List`, typed lists and lists in lists, with the paths of scalars moved along."""
    inner = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "y"}}]}
    target = {"apiVersion": "v1", "kind": "List", "items": [config(a="{{ 1 }}"), inner]}
    assert render(group(targets=[target])) == [
        (config(a=1), "targets[0].items[0]", [["data", "a"]]),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}}, "targets[0].items[1].items[0]", []),
    ]


def test_additional_metadata_is_rendered_and_wins_in_all_sources() -> None:
    """Scalars become strings, since labels are."""
    made = group(
        targets=[{**config(), "metadata": {"name": "x", "labels": {"a": "old", "b": "kept"}}}],
        template="apiVersion: v1\nkind: Secret\nmetadata: {name: z}",
        labels={"a": "{{ tenant.name }}", "n": "{{ 5 }}"},
        annotations={"{{ tenant.name }}/x": "{{ true }}"},
    )
    documents = render(made, copies=[(config(), "namespacedItems[0]/x")], tenant={"name": "solar"})
    assert [manifest["metadata"] for manifest, _, _ in documents] == [
        {"name": "x", "labels": {"a": "solar", "b": "kept", "n": "5"}, "annotations": {"solar/x": "true"}},
        {"name": "z", "labels": {"a": "solar", "n": "5"}, "annotations": {"solar/x": "true"}},
        {"name": "x", "labels": {"a": "solar", "n": "5"}, "annotations": {"solar/x": "true"}},
    ]


@pytest.mark.parametrize("root", ["params", "request", "context", "namespace"])
def test_in_text_a_value_from_others_is_unsafe_in_targets_it_is_just_a_string(root: str) -> None:
    """Nothing is spliced into YAML there."""
    evil = "x\n---\nkind: Evil"
    value: Any = {"v": [evil]} if root == "context" else {"v": evil}
    expression = "{{ context.v[0] }}" if root == "context" else f"{{{{ {root}.v }}}}"
    with pytest.raises(Invalid, match=r"group 'g', template, line 2: a value from params, request, context") as caught:
        render(group(template=f"apiVersion: v1\nkind: {expression}"), **{root: value})
    assert caught.value.reason is Reason.UNSAFE_VALUE
    assert render(group(targets=[config(a=expression)]), **{root: value})[0][0] == config(a=evil)


def test_the_clock_and_random_values_need_a_condition() -> None:
    """Without one the same input has to give the same text."""
    source = config(
        a="{{ now }}", b="{{ random_string(4) | length }}", c="{{ age_key().recipient[:4] }}", d="{{ uuid4() | length }}"
    )
    assert render(group(targets=[source], clocked=True))[0][0] == config(a=NOW, b=4, c="age1", d=36)
    for name in "abcd":
        with pytest.raises(Invalid, match=r"targets\[0\].data.* is only there in groups with a policy.condition"):
            render(group(targets=[config(**{name: source["data"][name]})]))
    with pytest.raises(Invalid, match="`now` is only there"):
        render(group(template="{% if false %}{{ now }}{% endif %}"))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        pytest.param(
            {"targets": [config(a="{{ nope }}")]}, r"^group 'g', targets\[0\].data.a, line 1: `nope` is not", id="undefined"
        ),
        pytest.param({"targets": [config(a="{{ dict }}")]}, "not data", id="a function"),
        pytest.param({"targets": [config(a="{{ 2 ** 70 }}")]}, "64 bits", id="a large number"),
        pytest.param({"targets": [config(a="{{ 1e308 * 10 }}")]}, "infinity", id="infinity"),
        pytest.param({"targets": [config(a="{{ {1: 2} }}")]}, "key of a map has to be a string", id="a key that is a number"),
        pytest.param({"targets": [{"{{ 'a' }}": 1, "a": 2}]}, "two keys of this map", id="two equal keys"),
        pytest.param({"targets": [{"{{ [] }}": 1}]}, "cannot stand where a string has to", id="a list as key"),
        pytest.param({"targets": [{"kind": "X"}]}, "apiVersion and kind have to be strings", id="no apiVersion"),
        pytest.param({"targets": [{"apiVersion": "v1", "kind": "{{ 5 }}"}]}, "apiVersion and kind", id="a number as kind"),
        pytest.param({"targets": [config(a="{{ 'x' * 1500000 }}")]}, "more than 1048576 bytes", id="a large document"),
        pytest.param({"targets": [config(a="{{ 'x' * 1000000 }}")] * 5}, "4194304 bytes together", id="many large documents"),
        pytest.param({"targets": [config(a="{{ [[['x' * 9999] * 9] * 9] * 9 }}")]}, "too large", id="a string many times over"),
        pytest.param(
            {"targets": [config(a="{{ [[[[1] * 99] * 99] * 99] * 99 }}")]}, "more than 100000 values", id="a list likewise"
        ),
        pytest.param({"template": "- 1"}, "template, line 1 of the rendered text: the document is no map", id="a list"),
        pytest.param({"template": "{{ '\n' }}a: b: c"}, "template, line 2 of the rendered text: mapping values", id="bad YAML"),
        pytest.param({"template": "kind: X"}, r"template\[0\] line 1: apiVersion and kind", id="half a manifest"),
        pytest.param({"labels": {"a": "{{ [] }}"}, "targets": [config()]}, "additionalMetadata", id="a list as label"),
        pytest.param(
            {"labels": {"a": "b"}, "targets": [{**config(), "metadata": "x"}]}, "metadata has to be a map", id="metadata"
        ),
        pytest.param(
            {"targets": [{"apiVersion": "v1", "kind": "List", "items": [1]}]}, r"items\[0\]: not a map", id="a list of 1"
        ),
    ],
)
def test_what_is_refused_names_group_source_and_remedy(parts: dict[str, Any], message: str) -> None:
    """One problem for the whole group."""
    with pytest.raises(Invalid, match=message) as caught:
        render(group(**parts))
    assert caught.value.reason is Reason.RENDER_FAILED


def test_checking_finds_every_problem_with_its_field_path() -> None:
    """Before there are any variables."""
    made = group(
        targets=[config(**{"a": ["{{ x | nope }}"], "b.c": "{{ foo }}"})],
        template="\n{{ foo( }}",
        labels={"l": "{{ now }}"},
        queries=[
            ("spec.resources[0].context.resources[0].name", "{{ }}"),
            ("spec.resources[0].namespacedItems[0].name", "{{ uuid4() }}"),
        ],
        condition="object ==",
    )
    found = [problem.message.split(": ")[0] for problem in check_group(made)]
    assert found == [
        "spec.resources[0].targets[0].data.a[0], line 1",
        "spec.resources[0].template, line 2",
        "spec.resources[0].context.resources[0].name, line 1",
        'spec.resources[0].targets[0].data["b.c"]',
        "spec.resources[0].additionalMetadata.labels.l",
        "spec.resources[0].namespacedItems[0].name",
        "spec.resources[0].policy.condition",
    ]


def test_checking_passes_names_that_the_template_sets_itself() -> None:
    """On any branch."""
    text = "{% if params.x %}{% set y = 1 %}{% endif %}{{ y }}{% macro m(a) %}{{ a }}{% endmacro %}"
    text += "{% for i in [1] %}{{ m(i) }}{% endfor %}"
    assert check_group(group(template=text)) == []

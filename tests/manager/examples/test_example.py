"""Reading example folders: what is taken, and how an error names file, line, step, field and remedy."""

from pathlib import Path

import pytest

from apis.meta import Model
from apis.problems import Invalid
from manager.examples.example import example, script, setup
from manager.examples.script import (
    Approve,
    Ask,
    ConditionIs,
    Expect,
    Impersonate,
    Owners,
    PhaseIs,
    Place,
    Right,
    Script,
    Step,
    Value,
)

STEPS = """title: t
steps:
"""
PLACE = "{apiVersion: v1, kind: ConfigMap, namespace: a, name: x}"


def wrong(steps: str) -> str:
    """What is said about these steps."""
    with pytest.raises(Invalid) as caught:
        script("expect.yaml", STEPS + steps)
    return str(caught.value)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        pytest.param(
            "- advance: 1h\n- title: later\n  advance: soon\n",
            "expect.yaml line 5: step 2 (later): steps[1].advance: must be a Go duration such as 10m",
            id="a duration",
        ),
        pytest.param(
            f"- expect:\n    absent:\n    - {PLACE}\n    - {{kind: ConfigMap, name: x}}\n",
            "expect.yaml line 6: step 1: steps[0].expect.absent[1].apiVersion: required: add it",
            id="a field that is missing in the second entry of a list",
        ),
        pytest.param(
            "- expect:\n    ready: {kind: Tenant}\n",
            "expect.yaml line 4: step 1: steps[0].expect.ready[0].name: required: add it",
            id="a field that is missing in an entry without its list",
        ),
        pytest.param(
            f"- delete: {PLACE}\n  advance: 1h\n",
            "step 1: steps[0]: has delete and advance: make each a step of its own: a step is one of",
            id="two verbs",
        ),
        pytest.param("- title: nothing\n", "step 1 (nothing): steps[0]: does nothing: a step is one of", id="no verb"),
        pytest.param("- expects: 1\n", "steps[0].expects: unknown field: remove it, or correct its spelling", id="a typo"),
        pytest.param("- expect: {within: 1s}\n", "steps[0].expect: expects nothing: add objects", id="an empty expectation"),
        pytest.param("- edit: {kind: ConfigMap}\n", "steps[0].edit: apiVersion, kind and metadata.name say", id="no name"),
        pytest.param("- apply: [1]\n", "steps[0].apply[0]: must be a manifest, or the name of a file", id="a number"),
        pytest.param("- advance: 1h\n  refused: x\n", "say how a request goes, and advance is none", id="refused time"),
        pytest.param(f"- delete: {PLACE}\n  force: true\n", "force belongs to apply: remove it", id="forced deletion"),
        pytest.param(
            f"- expect: {{values: {{of: {PLACE}, field: data.a, keep: a, same: a}}}}\n",
            "values[0]: say one of keep, same and differs",
            id="two comparisons",
        ),
        pytest.param("- approve: {namespace: a, name: x, keepFor: soon}\n", "steps[0].approve.keepFor:", id="a length"),
        pytest.param("- deny: {namespace: a, name: x, duration: 1h}\n", "deny.duration: unknown field", id="a denial of a part"),
        pytest.param("- deny: {namespace: a, name: x}\n  advance: 1h\n", "has deny and advance", id="a transition and time"),
        pytest.param(
            "- expect: {phases: {namespace: a, name: x, phase: Over}}\n", "expect.phases[0].phase:", id="a phase that is none"
        ),
        pytest.param("- expect: {can: {verb: get, resource: pods}}\n", "expect.can[0].as: required", id="a right of nobody"),
        pytest.param("- a: [\n", "expect.yaml line 4:", id="broken YAML"),
    ],
)
def test_what_is_wrong_is_named_with_line_step_field_and_remedy(steps: str, said: str) -> None:
    """The first error has its line; every error has its path and says what to do."""
    assert said in wrong(steps)


@pytest.mark.parametrize("verb", ["approve", "deny", "expire", "retry"])
def test_a_person_is_a_name_or_a_name_with_groups(verb: str) -> None:
    """`as: alice` is short for `as: {user: alice}`; a step asks for one transition."""
    step = f"{verb}: {{namespace: a, name: x}}"
    first, second = script("expect.yaml", f"{STEPS}- as: alice\n  {step}\n- as: {{user: bob, groups: [sre]}}\n  {step}\n").steps
    assert (first.person, second.person) == (Impersonate(user="alice"), Impersonate(user="bob", groups=("sre",)))
    phases = {"approve": "Approved", "deny": "Denied", "expire": "Expired", "retry": "Retrying"}
    assert first.transition is not None
    assert (first.transition[0], str(first.transition[1].ref)) == (phases[verb], "ResourcePermit.copyhold.dev a/x")


def test_what_is_no_list_of_steps_is_refused() -> None:
    """Text that is no map, and a map without steps."""
    with pytest.raises(Invalid, match=r"must be a map with `steps`"):
        script("expect.yaml", "- a")
    with pytest.raises(Invalid, match=r"expect.yaml line 1: steps: must have at least 1 entries"):
        script("expect.yaml", "steps: []")


def test_a_folder_is_read_in_the_order_in_which_it_can_be_applied(tmp_path: Path) -> None:
    """Namespaces first, whatever the names of files and the order in them; parents after everything else."""
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "a.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: a}\n---\n"
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x, namespace: a}\n---\n"
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    )
    (tmp_path / "parent.yaml").write_text("apiVersion: copyhold.dev/v1alpha1\nkind: TenantResource\nmetadata: {name: p}\n")
    (tmp_path / "more.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z, namespace: b}\n")
    (tmp_path / "expect.yaml").write_text(f"steps:\n- apply: more.yaml\n- delete: {PLACE}\n")
    read = example(tmp_path)
    assert [one["kind"] for one in read.setup.objects] == ["Namespace", "ServiceAccount", "ConfigMap", "TenantResource"]
    assert [str(ref) for ref in read.makes()][-2:] == ["TenantResource.copyhold.dev p", "ConfigMap b/z"]
    assert read.script.steps[1].verbs == ("delete",)
    assert read.title == tmp_path.name


def test_what_a_folder_lacks_is_named_with_the_remedy(tmp_path: Path) -> None:
    """No folder, no parent.yaml, no expect.yaml, a step's file that is not there or not in the folder."""
    with pytest.raises(Invalid, match=r"no such folder: name a folder that holds parent\.yaml"):
        setup(tmp_path / "none")
    with pytest.raises(Invalid, match=r"parent\.yaml is missing"):
        setup(tmp_path)
    (tmp_path / "parent.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    with pytest.raises(Invalid, match=r"expect\.yaml is missing"):
        example(tmp_path)
    for name in ("none.yaml", "../outside.yaml"):
        (tmp_path / "expect.yaml").write_text(f"steps:\n- apply: {name}\n")
        with pytest.raises(Invalid, match=f"step 1: apply: {name}: no such file in the folder"):
            example(tmp_path)


@pytest.mark.parametrize(
    "model", [Script, Step, Expect, Place, Impersonate, ConditionIs, Owners, Value, Ask, Approve, PhaseIs, Right]
)
def test_every_field_of_the_format_is_documented(model: type[Model]) -> None:
    """In docs/examples.md, under its name in YAML."""
    text = (Path(__file__).parents[3] / "docs" / "examples.md").read_text()
    for name, field in model.model_fields.items():
        assert f"`{field.alias or name}`" in text

"""The order in which targets are written and taken back, and one desired state per identity."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Key, Manifest
from apis.reasons import Reason
from policy.decide import PRUNES, Decision, Verb, decide
from policy.plan import LAST, RANKS, Plan, distinct, held_back, ordered, rank, steps
from policy.target import Desired
from tests.support.build import OWNER, hold, item, live, record, want

KINDS = {
    "Namespace": "v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "ServiceAccount": "v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "ConfigMap": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Deployment": "apps/v1",
    "Gateway": "example.com/v1",
}


def target(kind: str, name: str = "a") -> Desired:
    """A desired target of one of the kinds above."""
    return want(name, kind=kind, api=KINDS[kind])


def made(kind: str, name: str = "a") -> Decision:
    """The decision to create it."""
    return decide(item(target(kind, name)), OWNER)


def taken(kind: str, name: str = "a") -> Decision:
    """The decision to remove it."""
    return decide(item(None, live(hold()), record(target(kind, name))), OWNER)


def _told(decisions: tuple[Decision, ...]) -> list[str]:
    return [f"{decision.verb} {decision.key.kind}" for decision in decisions]


def test_what_others_stand_on_comes_first() -> None:
    """Namespaces, definitions, accounts, roles, bindings, configuration, the rest; equal ranks by group and kind."""
    decisions = ordered(made(kind) for kind in reversed(KINDS))
    assert [decision.key.kind for decision in decisions] == [
        "Namespace",
        "CustomResourceDefinition",
        "ServiceAccount",
        "ClusterRole",
        "Role",
        "ClusterRoleBinding",
        "RoleBinding",
        "ConfigMap",
        "NetworkPolicy",
        "Deployment",
        "Gateway",
    ]


def test_case_049_removal_goes_the_other_way() -> None:
    """A custom resource goes before its definition, a binding before its role, and the namespace last."""
    ranks = [rank(decision.key) for decision in ordered(taken(kind) for kind in KINDS)]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[-1] == rank(Key("", "Namespace", "", "a"))


def test_everything_is_written_before_anything_is_taken_back() -> None:
    """A replacement stands before the former target goes."""
    decisions = ordered([taken("ConfigMap"), made("Gateway"), taken("Namespace"), made("Namespace")])
    assert _told(decisions) == ["Create Namespace", "Create Gateway", "Remove ConfigMap", "Remove Namespace"]


def test_a_rank_belongs_to_a_group_and_a_kind() -> None:
    """Another group's Namespace stands on nothing of ours."""
    assert rank(Key("example.com", "Namespace", "", "a")) == LAST
    assert max(RANKS.values()) < LAST


def test_steps_are_the_order_in_groups_that_may_run_side_by_side() -> None:
    """One group per rank and direction; the executor relies on nothing else."""
    decisions = ordered([taken("Role"), made("Role"), made("ClusterRole"), made("RoleBinding"), made("Namespace")])
    assert [_told(tuple(step)) for step in steps(decisions)] == [
        ["Create Namespace"],
        ["Create ClusterRole", "Create Role"],
        ["Create RoleBinding"],
        ["Remove Role"],
    ]


DECISIONS = st.lists(
    st.builds(
        lambda make, kind, name: (made if make else taken)(kind, name),
        st.booleans(),
        st.sampled_from(sorted(KINDS)),
        st.sampled_from(["a", "b", "c"]),
    ),
    unique_by=lambda decision: decision.key,
    max_size=8,
)


@given(DECISIONS, st.randoms())
def test_the_order_does_not_depend_on_the_order(decisions: list[Decision], random: Random) -> None:
    """Two runs do the same thing in the same order, and nothing is lost on the way into steps."""
    shuffled = random.sample(decisions, len(decisions))
    plan = ordered(decisions)
    assert ordered(shuffled) == plan
    assert tuple(decision for step in steps(plan) for decision in step) == plan


@given(DECISIONS)
def test_what_is_held_back_is_no_removal(decisions: list[Decision]) -> None:
    """The delete budget turns removals into Skips with a reason, and lets every other decision be."""
    held = held_back(decisions, "confirm it")
    assert Plan(OWNER, held).removals == ()
    for before, after in zip(decisions, held, strict=True):
        if before.verb in PRUNES:
            assert (after.verb, after.reason, after.message) == (Verb.SKIP, Reason.PRUNE_BLOCKED, "confirm it")
        else:
            assert after == before


def test_a_plan_knows_what_it_writes() -> None:
    """Removals are writes; a Skip is none, unless marks change."""
    same = want()
    skipped = decide(item(same, live(hold()), record(same)), OWNER)
    remarked = decide(item(want(protect=False), live(hold()), record(same), condition=False), OWNER)
    plan = Plan(OWNER, (made("ConfigMap"), skipped, remarked, taken("Role")))
    assert [decision.verb for decision in plan.writes] == [Verb.CREATE, Verb.SKIP, Verb.REMOVE]
    assert [decision.verb for decision in plan.removals] == [Verb.REMOVE]


# One desired state per identity.


def rendered(source: str, body: Manifest | None = None, **rest: object) -> Desired:
    """The same ConfigMap, as this source renders it."""
    return want(source=source, body={"data": body or {"a": "1"}}, **rest)  # type: ignore[arg-type]


def test_equal_renderings_are_one_target() -> None:
    """Both sources are remembered, and its digest is that of either."""
    first, second = rendered("one"), rendered("two")
    chosen, clashes = distinct([first, second])
    assert clashes == {}
    (both,) = chosen.values()
    assert (both.manifest, both.digest, both.sources) == (first.manifest, first.digest, ("one", "two"))


def test_one_source_rendered_for_many_units_is_named_once() -> None:
    """A cluster-wide object that each namespace renders does not grow a list of sources."""
    (both,) = distinct(rendered("one", unit=f"solar-{n}") for n in range(50))[0].values()
    assert both.sources == ("one",)


def test_renderings_that_agree_are_merged() -> None:
    """Two groups may each give a part of one object."""
    chosen, clashes = distinct([rendered("one", {"a": "1", "c": "3"}), rendered("two", {"b": "2", "c": "3"})])
    assert clashes == {}
    (both,) = chosen.values()
    assert both.manifest["data"] == {"a": "1", "b": "2", "c": "3"}


def test_the_order_of_sources_changes_nothing() -> None:
    """Neither the payload nor its digest: reordering a list in the spec writes nothing."""
    parts = [
        rendered("one", {"a": "1"}),
        rendered("two", {"b": "2"}),
        rendered("three", {"c": "3"}),
        rendered("four", {"a": "1"}),
    ]
    results = [distinct(order)[0][parts[0].key] for order in permutations(parts)]
    assert {result.digest for result in results} == {results[0].digest}
    assert all(result.manifest == results[0].manifest for result in results)


def test_a_part_more_is_another_payload() -> None:
    """The digest of merged renderings is that of none of them alone."""
    one, two = rendered("one", {"a": "1"}), rendered("two", {"b": "2"})
    both = distinct([one, two])[0][one.key]
    assert both.digest not in (one.digest, two.digest)


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        pytest.param(rendered("one", {"a": "1"}), rendered("two", {"a": "2"}), "data.a", id="a value"),
        pytest.param(rendered("one"), rendered("two", protect=False), "policy", id="the policy"),
        pytest.param(
            want(kind="Deployment", api="apps/v1", source="one"),
            want(kind="Deployment", api="apps/v1beta1", source="two"),
            "apiVersion",
            id="case 056: two versions of one object",
        ),
    ],
)
def test_renderings_that_disagree_are_an_error_that_names_both(first: Desired, second: Desired, clash: str) -> None:
    """DuplicateTarget names the object, both sources, where they differ, and the remedy; neither is chosen."""
    chosen, clashes = distinct([first, second])
    assert chosen == {}
    problem = clashes[first.key]
    assert problem.reason is Reason.DUPLICATE_TARGET
    assert str(problem) == (
        f"{first.ref} is rendered by one and by two, which disagree in {clash}: rename one, or make them equal"
    )


def test_one_source_that_disagrees_with_itself_names_the_units() -> None:
    """A cluster-wide name in a template for namespaces: the source alone would not tell the two apart."""
    first, second = rendered("one", {"a": "1"}, unit="solar-dev"), rendered("one", {"a": "2"}, unit="solar-prod")
    message = str(distinct([first, second])[1][first.key])
    assert "rendered by one for solar-dev and by one for solar-prod" in message


def test_a_clash_takes_no_other_target_along() -> None:
    """A failure of one target does not stop the others."""
    other = want("other")
    chosen, clashes = distinct([rendered("one", {"a": "1"}), other, rendered("two", {"a": "2"})])
    assert list(chosen) == [other.key]
    assert len(clashes) == 1


def test_a_third_rendering_that_agrees_does_not_mend_a_clash() -> None:
    """Two of three is no vote."""
    chosen, clashes = distinct([rendered("one", {"a": "1"}), rendered("two", {"a": "2"}), rendered("three", {"a": "1"})])
    assert (chosen, len(clashes)) == ({}, 1)

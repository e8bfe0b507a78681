"""What the manager counts, and that the number of series stays bounded."""

from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Ref
from manager.metrics import CONTENT_TYPE, KINDS_BOUND, OTHER, Metrics, Share

TENANT = Ref("copyhold.dev", "v1alpha1", "TenantResource", "solar", "web")
GLOBAL = Ref("copyhold.dev", "v1alpha1", "GlobalTenantResource", "", "baseline")


def value(metrics: Metrics, name: str, /, **labels: str) -> float | None:
    """Return one sample, or None when there is no such series."""
    return metrics.registry.get_sample_value(name, labels)


def series(metrics: Metrics, name: str) -> int:
    """Return how many series a metric has."""
    return sum(line.startswith(f"{name}{{") for line in metrics.text().decode().splitlines())


def test_two_managers_in_one_process_share_nothing():
    """There is no global registry."""
    one, other = Metrics(), Metrics()
    one.queue_depth.set(3)
    assert value(other, "copyhold_queue_depth") == 0


def test_requests_are_counted_by_verb_resource_and_code():
    """The histogram has the verb only: kinds times buckets would be thousands of series."""
    metrics = Metrics()
    metrics.request("apply", "configmaps", "200", 0.004)
    metrics.request("apply", "configmaps", "timeout", 30)
    assert value(metrics, "copyhold_requests_total", verb="apply", resource="configmaps", code="200") == 1
    assert value(metrics, "copyhold_requests_total", verb="apply", resource="configmaps", code="timeout") == 1
    assert value(metrics, "copyhold_request_seconds_count", verb="apply") == 2
    assert value(metrics, "copyhold_request_seconds_bucket", verb="apply", le="0.005") == 1


def test_a_pass_that_failed_does_not_move_the_last_success():
    """An alert on the age of the last success sees failures as silence."""
    metrics = Metrics()
    metrics.reconciled("Tenant", "succeeded", 0.1, succeeded_at=1000.0)
    metrics.reconciled("Tenant", "failed", 0.1)
    assert value(metrics, "copyhold_last_success_timestamp_seconds", kind="Tenant") == 1000.0
    assert value(metrics, "copyhold_reconcile_passes_total", kind="Tenant", result="failed") == 1
    assert value(metrics, "copyhold_reconcile_seconds_count", kind="Tenant") == 2


def test_targets_of_all_parents_are_summed_by_kind_and_state():
    """A second share of one parent replaces its first."""
    metrics = Metrics()
    metrics.parent(TENANT, Share(targets={("ConfigMap", "ready"): 2, ("Secret", "failed"): 1}))
    metrics.parent(GLOBAL, Share(targets={("ConfigMap", "ready"): 5}))
    metrics.parent(TENANT, Share(targets={("ConfigMap", "ready"): 3}))
    assert value(metrics, "copyhold_targets", kind="ConfigMap", state="ready") == 8
    assert value(metrics, "copyhold_targets", kind="Secret", state="failed") is None


def test_a_condition_is_one_while_it_is_true():
    """Zero says that the condition is there and not True; a condition that is gone has no series."""
    metrics = Metrics()
    metrics.parent(TENANT, Share(conditions={"Ready": True, "Stalled": False}))
    metrics.parent(TENANT, Share(conditions={"Ready": False}))
    where = {"kind": "TenantResource", "namespace": "solar", "name": "web"}
    assert value(metrics, "copyhold_parent_condition", **where, condition="Ready") == 0
    assert value(metrics, "copyhold_parent_condition", **where, condition="Stalled") is None


def test_nothing_of_a_forgotten_parent_stays():
    """A deleted parent would otherwise alert for ever."""
    metrics = Metrics()
    metrics.parent(GLOBAL, Share(contested=1, blocked=2))
    metrics.parent(TENANT, Share({"Ready": True}, {("ConfigMap", "ready"): 2}, contested=3, blocked=4))
    metrics.forget(TENANT)
    metrics.forget(TENANT)
    assert b'name="web"' not in metrics.text()
    assert series(metrics, "copyhold_targets") == 0
    assert value(metrics, "copyhold_contested_targets", kind="TenantResource") == 0
    assert value(metrics, "copyhold_prune_blocked", kind="TenantResource") == 0
    assert value(metrics, "copyhold_prune_blocked", kind="GlobalTenantResource") == 2


def test_kinds_beyond_the_bound_are_counted_together():
    """A template that renders a thousand kinds makes no thousand series."""
    metrics = Metrics()
    metrics.parent(TENANT, Share(targets={(f"Kind{number}.example.org", "ready"): 1 for number in range(KINDS_BOUND + 50)}))
    assert series(metrics, "copyhold_targets") == KINDS_BOUND + 1
    assert value(metrics, "copyhold_targets", kind=OTHER, state="ready") == 50
    metrics.forget(TENANT)
    assert series(metrics, "copyhold_targets") == 0


def test_every_counter_that_an_operator_reads_is_in_the_text():
    """The names are what dashboards and alerts are written against."""
    metrics = Metrics()
    metrics.watches_open.inc()
    metrics.leases_held.set(4)
    metrics.watch_restarted("configmaps", "expired")
    metrics.rendered("ok", 0.01)
    metrics.render_worker_restarted("time")
    metrics.conflict("TenantResource")
    metrics.event("queue_full")
    text = metrics.text().decode()
    for line in (
        "copyhold_watches_open 1.0",
        "copyhold_leases_held 4.0",
        'copyhold_watch_restarts_total{cause="expired",resource="configmaps"} 1.0',
        'copyhold_renders_total{result="ok"} 1.0',
        "copyhold_render_seconds_count 1.0",
        'copyhold_render_worker_restarts_total{cause="time"} 1.0',
        'copyhold_conflicts_total{kind="TenantResource"} 1.0',
        'copyhold_events_total{result="queue_full"} 1.0',
    ):
        assert line in text.splitlines()
    assert "copyhold_build_info{" in text
    assert "process_resident_memory_bytes" in text
    assert CONTENT_TYPE.startswith("text/plain")


PERMIT = Ref("copyhold.dev", "v1alpha1", "ResourcePermit", "solar", "inc-1042")
TEMPLATE = Ref("copyhold.dev", "v1alpha1", "GlobalResourcePermitTemplate", "", "pods")


def test_a_permit_is_in_one_phase():
    """The one before has no series any more, and a permit that is gone has none."""
    metrics = Metrics()
    where = {"namespace": "solar", "name": "inc-1042"}
    metrics.permit(PERMIT, "")
    assert series(metrics, "copyhold_permit_phase") == 0
    for phase in ("Created", "Requested", "Requested", "Active"):
        metrics.permit(PERMIT, phase)
        assert value(metrics, "copyhold_permit_phase", **where, phase=phase) == 1
        assert series(metrics, "copyhold_permit_phase") == 1
    metrics.forget_permit(PERMIT)
    metrics.forget_permit(PERMIT)
    assert series(metrics, "copyhold_permit_phase") == 0


def test_overdue_permits_are_counted_until_their_access_is_gone():
    """Or the permit is: an alert ends with its cause."""
    metrics = Metrics()
    other = Ref("copyhold.dev", "v1alpha1", "ResourcePermit", "lunar", "inc-7")
    counted = []
    for permit, overdue in ((PERMIT, True), (PERMIT, True), (other, True), (PERMIT, False), (other, True)):
        metrics.permit(permit, "Expired", overdue=overdue)
        counted.append(value(metrics, "copyhold_overdue_permits"))
    metrics.forget_permit(other)
    assert [*counted, value(metrics, "copyhold_overdue_permits")] == [1, 1, 2, 1, 1, 0]


def test_permits_are_measured_from_review_to_approval_and_from_end_to_gone():
    """People take hours, removals should take less than a second."""
    metrics = Metrics()
    metrics.approved(7200)
    metrics.removed(0.2)
    assert value(metrics, "copyhold_permit_approval_seconds_bucket", le="14400.0") == 1
    assert value(metrics, "copyhold_permit_removal_seconds_bucket", le="0.25") == 1
    metrics.clock_skew.set(-1.5)
    assert value(metrics, "copyhold_clock_skew_seconds") == -1.5


def test_a_template_is_ready_or_not_or_gone():
    """As long as it is there, it has one series."""
    metrics = Metrics()
    where = {"kind": "GlobalResourcePermitTemplate", "namespace": "", "name": "pods"}
    for ready in (True, False):
        metrics.template(TEMPLATE, ready=ready)
        assert value(metrics, "copyhold_permit_template_ready", **where) == ready
    metrics.forget_template(TEMPLATE)
    metrics.forget_template(TEMPLATE)
    assert series(metrics, "copyhold_permit_template_ready") == 0


SHARES = st.builds(
    Share,
    conditions=st.dictionaries(st.sampled_from(["Ready", "Stalled"]), st.booleans()),
    targets=st.dictionaries(st.tuples(st.sampled_from("AB"), st.sampled_from(["ready", "failed"])), st.integers(0, 9)),
    contested=st.integers(0, 3),
    blocked=st.integers(0, 3),
)


@given(st.lists(st.tuples(st.sampled_from([TENANT, GLOBAL]), st.none() | SHARES), max_size=12))
def test_the_sums_are_those_of_the_last_shares(steps: list[tuple[Ref, Share | None]]):
    """Whatever parents come, change and go, in whatever order."""
    metrics = Metrics()
    last: dict[Ref, Share] = {}
    for parent, share in steps:
        if share is None:
            metrics.forget(parent)
            last.pop(parent, None)
        else:
            metrics.parent(parent, share)
            last[parent] = share
    for kind in "AB":
        for state in ("ready", "failed"):
            total = sum(share.targets.get((kind, state), 0) for share in last.values())
            assert (value(metrics, "copyhold_targets", kind=kind, state=state) or 0) == total
    assert series(metrics, "copyhold_parent_condition") == sum(len(share.conditions) for share in last.values())
    for parent in (TENANT, GLOBAL):
        blocked = last[parent].blocked if parent in last else 0
        assert (value(metrics, "copyhold_prune_blocked", kind=parent.kind) or 0) == blocked

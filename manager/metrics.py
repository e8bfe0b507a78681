"""What the manager counts about itself, in the Prometheus text format: one object, no globals, bounded label values.

Whatever the number of parents and of kinds that their templates render, the series stay bounded: by kinds of ours, by verbs, by
`KINDS_BOUND` target kinds, and for `copyhold_parent_condition`, `copyhold_permit_phase` and `copyhold_permit_template_ready` by
the objects that exist. A parent's share of the sums is replaced as a whole by `parent()` and taken out by `forget()`, so nothing
of a deleted parent stays behind; likewise `permit()` and `forget_permit()`, `template()` and `forget_template()`.
"""

import platform
from collections import Counter as Sums
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)

from apis.meta import Ref

CONTENT_TYPE = CONTENT_TYPE_LATEST
KINDS_BOUND = 100
OTHER = "other"
"""The kind under which target kinds beyond `KINDS_BOUND` are counted together."""

# Seconds. Requests take milliseconds and are cut at half a minute; a pass over thousands of targets takes minutes.
REQUEST_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PASS_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
RENDER_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
# People approve within minutes, hours or days; access goes within a second of its end, or somebody should be woken.
APPROVAL_BUCKETS = (1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
REMOVAL_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)


@dataclass(frozen=True, slots=True)
class Share:
    """What one parent adds to the sums.

    `conditions` maps a condition's type to whether it is True; `targets` maps (kind, state) to a number, where a kind is
    `Deployment.apps` and a state a word of a small fixed set; `contested` and `blocked` are numbers of targets.
    """

    conditions: Mapping[str, bool] = field(default_factory=dict)
    targets: Mapping[tuple[str, str], int] = field(default_factory=dict)
    contested: int = 0
    blocked: int = 0


class Metrics:
    """All series of one manager, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._shares: dict[Ref, Share] = {}
        self._targets_by: Sums[tuple[str, str]] = Sums()
        self._kinds: set[str] = set()

        self._requests = Counter(
            "copyhold_requests",
            "Requests to the API server; code is the status, or timeout or cut when no answer came",
            ["verb", "resource", "code"],
            registry=registry,
        )
        self._request_seconds = Histogram(
            "copyhold_request_seconds",
            "Time from sending a request to its whole answer",
            ["verb"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self._passes = Counter(
            "copyhold_reconcile_passes", "Passes over a parent by what came of them", ["kind", "result"], registry=registry
        )
        self._pass_seconds = Histogram(
            "copyhold_reconcile_seconds", "Duration of a pass over a parent", ["kind"], buckets=PASS_BUCKETS, registry=registry
        )
        self._last_success = Gauge(
            "copyhold_last_success_timestamp_seconds",
            "When a pass over a parent of this kind last succeeded, as Unix time",
            ["kind"],
            registry=registry,
        )
        self.queue_depth = Gauge("copyhold_queue_depth", "Keys that wait for a pass", registry=registry)

        self._targets = Gauge(
            "copyhold_targets", "Recorded targets by their kind and state", ["kind", "state"], registry=registry
        )
        self._conditions = Gauge(
            "copyhold_parent_condition",
            "1 while the condition of the parent is True, else 0",
            ["kind", "namespace", "name", "condition"],
            registry=registry,
        )
        self._contested = Gauge(
            "copyhold_contested_targets",
            "Targets on which another writer keeps taking a field back, by kind of parent",
            ["kind"],
            registry=registry,
        )
        self._blocked = Gauge(
            "copyhold_prune_blocked", "Removals that the delete budget holds, by kind of parent", ["kind"], registry=registry
        )
        self._conflicts = Counter(
            "copyhold_conflicts",
            "Applies that found another field manager on our fields, by kind of parent",
            ["kind"],
            registry=registry,
        )

        self.watches_open = Gauge("copyhold_watches_open", "Watches that are connected", registry=registry)
        self._watch_restarts = Counter(
            "copyhold_watch_restarts",
            "Watches that were begun anew, by what ended the one before",
            ["resource", "cause"],
            registry=registry,
        )
        self._renders = Counter("copyhold_renders", "Groups rendered by what came of it", ["result"], registry=registry)
        self._render_seconds = Histogram(
            "copyhold_render_seconds", "Duration of one render, in its worker", buckets=RENDER_BUCKETS, registry=registry
        )
        self._render_worker_restarts = Counter(
            "copyhold_render_worker_restarts",
            "Render workers that were replaced: killed at a bound, or dead",
            ["cause"],
            registry=registry,
        )
        self.leases_held = Gauge("copyhold_leases_held", "Shards whose Lease this replica holds", registry=registry)

        self._permits: dict[Ref, tuple[str, bool]] = {}
        self._phases = Gauge(
            "copyhold_permit_phase",
            "1 for the phase that the permit is in",
            ["namespace", "name", "phase"],
            registry=registry,
        )
        self._overdue = Gauge(
            "copyhold_overdue_permits", "Permits whose access is not gone although its time is over", registry=registry
        )
        self._approval_seconds = Histogram(
            "copyhold_permit_approval_seconds",
            "Time from when a permit is ready for review until it is approved",
            buckets=APPROVAL_BUCKETS,
            registry=registry,
        )
        self._removal_seconds = Histogram(
            "copyhold_permit_removal_seconds",
            "Time from the end of an access until everything that gave it is gone",
            buckets=REMOVAL_BUCKETS,
            registry=registry,
        )
        self._templates_ready = Gauge(
            "copyhold_permit_template_ready",
            "1 while permits can be made from the template, else 0",
            ["kind", "namespace", "name"],
            registry=registry,
        )
        self.clock_skew = Gauge(
            "copyhold_clock_skew_seconds",
            "How far the clock of this host is ahead of the API server's, by which permits live",
            registry=registry,
        )

        self._events = Counter("copyhold_events", "Kubernetes Events by what became of them", ["result"], registry=registry)
        Info("copyhold_build", "What is running", registry=registry).info(
            {"version": _version(), "python": platform.python_version()}
        )
        ProcessCollector(registry=registry)

    def request(self, verb: str, resource: str, code: str, seconds: float) -> None:
        """Count one request: `resource` is a plural, `code` a status or `timeout` or `cut`."""
        self._requests.labels(verb, resource, code).inc()
        self._request_seconds.labels(verb).observe(seconds)

    def reconciled(self, kind: str, result: str, seconds: float, *, succeeded_at: float | None = None) -> None:
        """Count one pass; `succeeded_at` is the Unix time of a pass that left nothing to do."""
        self._passes.labels(kind, result).inc()
        self._pass_seconds.labels(kind).observe(seconds)
        if succeeded_at is not None:
            self._last_success.labels(kind).set(succeeded_at)

    def parent(self, parent: Ref, share: Share) -> None:
        """Replace what this parent adds to the sums."""
        share = Share(share.conditions, self._bounded(share.targets), share.contested, share.blocked)
        before = self._shares.get(parent, Share())
        self._move(parent, before, share)
        for condition in before.conditions.keys() - share.conditions.keys():
            self._conditions.remove(parent.kind, parent.namespace, parent.name, condition)
        for condition, holds in share.conditions.items():
            self._conditions.labels(parent.kind, parent.namespace, parent.name, condition).set(holds)
        self._shares[parent] = share

    def forget(self, parent: Ref) -> None:
        """Take out everything that a parent added; one that is not known is nothing to forget."""
        self.parent(parent, Share())
        del self._shares[parent]

    def conflict(self, kind: str) -> None:
        """Count an apply for a parent of `kind` that met another field manager."""
        self._conflicts.labels(kind).inc()

    def watch_restarted(self, resource: str, cause: str) -> None:
        """Count a watch that was begun anew; `cause` is a word such as expired, silent, closed, refused."""
        self._watch_restarts.labels(resource, cause).inc()

    def rendered(self, result: str, seconds: float) -> None:
        """Count one render; `result` is a word such as ok, invalid, killed."""
        self._renders.labels(result).inc()
        self._render_seconds.observe(seconds)

    def render_worker_restarted(self, cause: str) -> None:
        """Count a render worker that was replaced; `cause` is a word such as time, memory, output, died."""
        self._render_worker_restarts.labels(cause).inc()

    def permit(self, permit: Ref, phase: str, *, overdue: bool = False) -> None:
        """Say which phase a permit is in (empty: none yet), and whether its access should be gone by now."""
        before, was_overdue = self._permits.get(permit, ("", False))
        if before and before != phase:
            self._phases.remove(permit.namespace, permit.name, before)
        if phase:
            self._phases.labels(permit.namespace, permit.name, phase).set(1)
        self._overdue.inc(overdue - was_overdue)
        self._permits[permit] = (phase, overdue)

    def forget_permit(self, permit: Ref) -> None:
        """Take out what was said of a permit; one that is not known is nothing to forget."""
        self.permit(permit, "")
        del self._permits[permit]

    def approved(self, seconds: float) -> None:
        """Count an approval, so many seconds after the permit was ready for review."""
        self._approval_seconds.observe(seconds)

    def removed(self, seconds: float) -> None:
        """Count a permit whose access is gone, so many seconds after its end."""
        self._removal_seconds.observe(seconds)

    def template(self, template: Ref, *, ready: bool) -> None:
        """Say whether a permit template is Ready."""
        self._templates_ready.labels(template.kind, template.namespace, template.name).set(ready)

    def forget_template(self, template: Ref) -> None:
        """Take out what was said of a template; one that is not known is nothing to forget."""
        self.template(template, ready=False)
        self._templates_ready.remove(template.kind, template.namespace, template.name)

    def event(self, result: str) -> None:
        """Count a Kubernetes Event; `result` is one of those that `manager.events.Result` names."""
        self._events.labels(result).inc()

    def text(self) -> bytes:
        """All series, in the format that `CONTENT_TYPE` names. May be called from another thread."""
        return generate_latest(self.registry)

    def _bounded(self, targets: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
        counted: Sums[tuple[str, str]] = Sums()
        for (kind, state), number in targets.items():
            if kind not in self._kinds and len(self._kinds) < KINDS_BOUND:
                self._kinds.add(kind)
            counted[kind if kind in self._kinds else OTHER, state] += number
        return dict(counted)

    def _move(self, parent: Ref, before: Share, after: Share) -> None:
        self._contested.labels(parent.kind).inc(after.contested - before.contested)
        self._blocked.labels(parent.kind).inc(after.blocked - before.blocked)
        for each in before.targets.keys() | after.targets.keys():
            self._targets_by[each] += after.targets.get(each, 0) - before.targets.get(each, 0)
            if self._targets_by[each] > 0:
                self._targets.labels(*each).set(self._targets_by[each])
            else:
                del self._targets_by[each]
                self._targets.remove(*each)


def _version() -> str:
    try:
        return version("copyhold")
    except PackageNotFoundError:
        # Run from a checkout that was never installed.
        return "unknown"

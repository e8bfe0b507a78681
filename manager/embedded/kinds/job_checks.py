"""The rules for Jobs and CronJobs (pkg/apis/batch/validation)."""

from collections.abc import Iterator
from zoneinfo import available_timezones

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import cron, metadata, podspec, values
from manager.embedded.kinds.metadata import SELECTOR_ORDER
from manager.embedded.status import Cause

_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MODES = ("NonIndexed", "Indexed")
_LONGEST_CRON_JOB = 52
_FREE_WHILE_SUSPENDED = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


def job(obj: Manifest) -> Iterator[Cause]:
    """A Job."""
    yield from _generated(obj)
    yield from _whole(obj["spec"])


def job_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """Hardly anything of a Job changes."""
    spec, before = new["spec"], old["spec"]
    yield from _whole(spec)
    yield from _completions(spec, before)
    if spec.get("selector") != before.get("selector"):
        yield metadata.as_struct("spec.selector", spec.get("selector"), SELECTOR_ORDER, metadata.IMMUTABLE)
    yield from metadata.immutable(_fixed_template(spec, before), _fixed_template(before, before), "spec.template")
    for each in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from metadata.immutable(spec.get(each), before.get(each), f"spec.{each}")


def cron_job(obj: Manifest) -> Iterator[Cause]:
    """A CronJob; its Jobs add eleven characters to its name."""
    yield from _cron_spec(obj["spec"], None)
    name = obj["metadata"].get("name", "")
    if len(name) > _LONGEST_CRON_JOB:
        yield causes.invalid("metadata.name", name, f"must be no more than {_LONGEST_CRON_JOB} characters")


def cron_job_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """All of a CronJob's spec may change."""
    yield from _cron_spec(new["spec"], old["spec"])


def _cron_spec(given: Manifest, old: Manifest | None) -> Iterator[Cause]:
    if not given["schedule"]:
        yield causes.required("spec.schedule")
    elif old is None or old["schedule"] != given["schedule"]:
        yield from _schedule(given)
    yield from values.not_negative(given, "spec", "startingDeadlineSeconds")
    if "timeZone" in given and given["timeZone"] not in available_timezones():
        yield causes.invalid("spec.timeZone", given["timeZone"], f"unknown time zone {given['timeZone']}")
    yield from values.one_of(given.get("concurrencyPolicy", ""), "spec.concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    path = "spec.jobTemplate.spec"
    of = given["jobTemplate"].get("spec", {})
    if of.get("manualSelector"):
        yield causes.invalid(f"{path}.manualSelector", True, "`selector` is auto-generated")
    yield from _spec(of, path)
    yield from values.not_negative(given, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule(given: Manifest) -> Iterator[Cause]:
    schedule = given["schedule"]
    if why := cron.fault(schedule):
        yield causes.invalid("spec.schedule", schedule, why)
    if "TZ" in schedule:
        yield causes.invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _generated(obj: Manifest) -> Iterator[Cause]:
    spec, uid, name = obj["spec"], obj["metadata"].get("uid", ""), obj["metadata"].get("name", "")
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    expected = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    labels = spec["template"].get("metadata", {}).get("labels", {})
    for key, value in expected.items():
        if labels.get(key) != value:
            yield causes.invalid("spec.template.metadata.labels", labels, f"must be '{value}'")
    if any(expected.get(key) != value for key, value in spec["selector"].get("matchLabels", {}).items()):
        yield metadata.as_struct("spec.selector", spec["selector"], SELECTOR_ORDER, "`selector` not auto-generated")


def _whole(spec: Manifest) -> Iterator[Cause]:
    yield from _spec(spec, "spec")
    selector, labels = spec.get("selector"), spec["template"].get("metadata", {}).get("labels", {})
    if selector is None:
        yield causes.required("spec.selector")
    yield from metadata.selector(selector, "spec.selector")
    if selector is None or any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        yield causes.invalid("spec.template.metadata.labels", labels or None, "`selector` does not match template `labels`")


def _spec(given: Manifest, path: str) -> Iterator[Cause]:
    yield from values.not_negative(given, path, *_NUMBERS)
    if "maxFailedIndexes" in given and "backoffLimitPerIndex" not in given:
        yield causes.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from values.maybe_one_of(given, "completionMode", path, _MODES)
    if given.get("completionMode") == "Indexed":
        if "completions" not in given:
            yield causes.required(f"{path}.completions", "when completion mode is Indexed")
    else:
        for each in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if each in given:
                yield causes.invalid(f"{path}.{each}", given[each], "requires indexed completion mode")
    yield from podspec.template(given["template"], f"{path}.template")
    yield from _restart_policy(given, f"{path}.template.spec.restartPolicy")


def _restart_policy(given: Manifest, path: str) -> Iterator[Cause]:
    policy = given["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        yield causes.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in podspec.POLICIES:
        yield causes.not_supported(path, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in given and policy != "Never":
        yield causes.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _completions(spec: Manifest, before: Manifest) -> Iterator[Cause]:
    """An indexed Job is scaled by both numbers together."""
    if spec.get("completions") == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        yield from metadata.immutable(spec.get("completions"), before.get("completions"), "spec.completions")
    elif spec.get("completions") != spec.get("parallelism"):
        why = f"can only be modified in tandem with {'spec.parallelism'}"
        yield causes.invalid("spec.completions", spec.get("completions"), why)


def _fixed_template(spec: Manifest, before: Manifest) -> Manifest:
    """What of the template stays: while the old Job is suspended, where its Pods go may change."""
    template = spec["template"]
    if not before.get("suspend"):
        return template  # type: ignore[no-any-return]
    kept = {key: value for key, value in template["spec"].items() if key not in _FREE_WHILE_SUSPENDED}
    return {"spec": kept}

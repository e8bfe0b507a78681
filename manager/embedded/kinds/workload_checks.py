"""The rules for what makes Pods: Deployments and their like (pkg/apis/apps/validation)."""

from collections.abc import Collection, Iterator
from typing import Any

from apis.meta import Manifest
from apis.selector import Requirement, Selector
from manager.embedded import causes
from manager.embedded.kinds import claim_checks, metadata, names, podspec, values
from manager.embedded.kinds.metadata import SELECTOR_ORDER
from manager.embedded.status import Cause

_NO_MATCH = "`selector` does not match template `labels`"


def deployment(obj: Manifest) -> Iterator[Cause]:
    """A Deployment."""
    spec = obj["spec"]
    yield from values.not_negative(spec, "spec", "replicas")
    yield from _selector(spec, "deployment")
    yield from _template(spec, "ReplicaSet")
    yield from _strategy(spec["strategy"], "spec.strategy")
    yield from values.not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    if spec["progressDeadlineSeconds"] <= spec.get("minReadySeconds", 0):
        deadline = spec["progressDeadlineSeconds"]
        yield causes.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def deployment_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The selector of a Deployment never changes."""
    yield from deployment(new)
    yield from _same_selector(new, old)


def replica_set(obj: Manifest) -> Iterator[Cause]:
    """A ReplicaSet."""
    spec = obj["spec"]
    yield from values.not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from _selector(spec, "deployment")
    yield from _template(spec, "ReplicaSet")


def replica_set_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The selector of a ReplicaSet never changes."""
    yield from replica_set(new)
    yield from _same_selector(new, old)


def daemon_set(obj: Manifest) -> Iterator[Cause]:
    """A DaemonSet."""
    spec = obj["spec"]
    yield from metadata.selector(spec.get("selector"), "spec.selector")
    if not _matches(spec):
        yield causes.invalid("spec.template.metadata.labels", _template_labels(spec), _NO_MATCH)
    if spec.get("selector") is not None and not _says_something(spec["selector"]):
        yield metadata.as_struct("spec.selector", spec["selector"], SELECTOR_ORDER, "empty selector is invalid for daemonset")
    yield from podspec.template(spec["template"], "spec.template")
    yield from _always(spec["template"]["spec"], "DaemonSet")
    yield from values.not_negative(spec, "spec", "minReadySeconds")
    yield from _daemon_strategy(spec["updateStrategy"])
    yield from values.not_negative(spec, "spec", "revisionHistoryLimit")


def daemon_set_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The selector of a DaemonSet never changes."""
    yield from daemon_set(new)
    yield from _same_selector(new, old)


def stateful_set(obj: Manifest) -> Iterator[Cause]:
    """A StatefulSet."""
    spec = obj["spec"]
    policy = spec["podManagementPolicy"]
    if policy not in ("OrderedReady", "Parallel"):
        yield causes.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_strategy(spec["updateStrategy"])
    for index, each in enumerate(spec.get("volumeClaimTemplates", ())):
        yield from claim_checks.spec(each["spec"], f"spec.volumeClaimTemplates[{index}].spec")
    yield from _stateful_rest(spec)


def stateful_set_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """Of a StatefulSet, only a few fields change."""
    yield from _stateful_rest(new["spec"])
    if _fixed_part(new["spec"]) != _fixed_part(old["spec"]):
        listed = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        listed += "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
        yield causes.forbidden("spec", f"updates to statefulset spec for fields other than {listed} are forbidden")


def replication_controller(obj: Manifest) -> Iterator[Cause]:
    """A ReplicationController."""
    spec = obj["spec"]
    yield from values.not_negative(spec, "spec", "minReadySeconds")
    if not spec.get("selector"):
        yield causes.required("spec.selector")
    yield from values.not_negative(spec, "spec", "replicas")
    if spec.get("template") is None:
        yield causes.required("spec.template")
        return
    if spec.get("selector") and not Selector.of(spec["selector"]).matches(_template_labels(spec)):
        yield causes.invalid("spec.template.metadata.labels", _template_labels(spec), _NO_MATCH)
    yield from podspec.template(spec["template"], "spec.template")
    yield from _always(spec["template"]["spec"], "ReplicationController")


def pod_template(obj: Manifest) -> Iterator[Cause]:
    """A PodTemplate."""
    yield from podspec.template(obj["template"], "template")


_CHANGEABLE = frozenset(
    (
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    )
)


def _fixed_part(spec: Manifest) -> Manifest:
    return {key: value for key, value in spec.items() if key not in _CHANGEABLE}


def _stateful_rest(spec: Manifest) -> Iterator[Cause]:
    yield from values.not_negative(spec, "spec", "replicas", "minReadySeconds")
    if spec.get("serviceName"):
        yield from values.named(spec["serviceName"], "spec.serviceName", names.label)
    yield from _selector(spec, "statefulset")
    claims = [each["metadata"].get("name", "") for each in spec.get("volumeClaimTemplates", ())]
    yield from _template(spec, "StatefulSet", more_volumes=claims)


def _selector(spec: Manifest, kind: str) -> Iterator[Cause]:
    selector = spec.get("selector")
    if selector is None:
        yield causes.required("spec.selector")
        return
    yield from metadata.selector(selector, "spec.selector")
    if not _says_something(selector):
        yield metadata.as_struct("spec.selector", selector, SELECTOR_ORDER, f"empty selector is invalid for {kind}")


def _same_selector(new: Manifest, old: Manifest) -> Iterator[Cause]:
    given = new["spec"].get("selector")
    if given != old["spec"].get("selector"):
        yield metadata.as_struct("spec.selector", given, SELECTOR_ORDER, metadata.IMMUTABLE)


def _template(spec: Manifest, owner: str, *, more_volumes: Collection[str] = ()) -> Iterator[Cause]:
    template = spec["template"]
    if not _readable(spec.get("selector")):
        yield metadata.as_struct("spec.selector", spec["selector"], SELECTOR_ORDER, "invalid label selector")
        return
    if spec.get("selector") is None or (_says_something(spec["selector"]) and not _matches(spec)):
        yield causes.invalid("spec.template.metadata.labels", _template_labels(spec) or None, _NO_MATCH)
    of = template.get("metadata", {})
    yield from metadata.labels(of.get("labels", {}), "spec.template.labels")
    yield from metadata.annotations(of.get("annotations", {}), "spec.template.annotations")
    yield from podspec.spec(template["spec"], "spec.template.spec", more_volumes=more_volumes)
    yield from _always(template["spec"], owner)


def _always(spec: Manifest, owner: str) -> Iterator[Cause]:
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        yield causes.not_supported("spec.template.spec.restartPolicy", policy, ("Always",))
    if "activeDeadlineSeconds" in spec:
        why = f"activeDeadlineSeconds in {owner} is not Supported"
        yield causes.forbidden("spec.template.spec.activeDeadlineSeconds", why)


def _says_something(selector: Manifest) -> bool:
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _template_labels(spec: Manifest) -> Manifest:
    found: Manifest = spec["template"].get("metadata", {}).get("labels", {})
    return found


_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""The operators of selectors, and whether they take values."""


def _readable(selector: Manifest | None) -> bool:
    """Can a selector be made of it? What is wrong with it was told before."""
    given = (selector or {}).get("matchExpressions", ())
    return all(_OPERATORS.get(each["operator"]) is bool(each.get("values")) for each in given)


def _matches(spec: Manifest) -> bool:
    """Does the selector pick what the template makes? One that cannot be read does."""
    selector = spec.get("selector")
    if selector is None:
        return False
    given = [
        Requirement(each["key"], each["operator"], tuple(each.get("values") or ()))
        for each in selector.get("matchExpressions", ())
    ]
    return not _readable(selector) or Selector.of(selector.get("matchLabels", {}), given).matches(_template_labels(spec))


def _strategy(strategy: Manifest, path: str) -> Iterator[Cause]:
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "Recreate":
        if rolling is not None:
            yield causes.forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
        return
    if strategy["type"] != "RollingUpdate":
        shown = f'{{"Type":{causes.to_json(strategy["type"])},"RollingUpdate":null}}'
        yield _unsupported_struct(path, shown, ("Recreate", "RollingUpdate"))
        return
    assert rolling is not None  # noqa: S101 - it has a default
    yield from values.share(rolling["maxUnavailable"], f"{path}.rollingUpdate.maxUnavailable", limited=False)
    yield from values.share(rolling["maxSurge"], f"{path}.rollingUpdate.maxSurge", limited=False)
    if values.is_nothing(rolling["maxUnavailable"]) and values.is_nothing(rolling["maxSurge"]):
        why = "may not be 0 when `maxSurge` is 0"
        yield causes.invalid(f"{path}.rollingUpdate.maxUnavailable", rolling["maxUnavailable"], why)
    yield from _not_more_than_all(rolling["maxUnavailable"], f"{path}.rollingUpdate.maxUnavailable")


def _unsupported_struct(path: str, shown: str, supported: tuple[str, ...]) -> Cause:
    listed = ", ".join(causes.quote(each) for each in supported)
    return Cause(causes.NOT_SUPPORTED, f"Unsupported value: {shown}: supported values: {listed}", path)


def _not_more_than_all(value: Any, path: str) -> Iterator[Cause]:
    if isinstance(value, str) and value[:-1].isdigit() and int(value[:-1]) > 100:
        yield causes.invalid(path, value, "must not be greater than 100%")


def _daemon_strategy(strategy: Manifest) -> Iterator[Cause]:
    path = "spec.updateStrategy"
    if strategy["type"] not in ("RollingUpdate", "OnDelete"):
        shown = f'{{"Type":{causes.to_json(strategy["type"])},"RollingUpdate":null}}'
        yield _unsupported_struct(path, shown, ("RollingUpdate", "OnDelete"))
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] != "RollingUpdate" or rolling is None:
        return
    for each in ("maxUnavailable", "maxSurge"):
        yield from values.share(rolling[each], f"{path}.rollingUpdate.{each}")
    nothing = [values.is_nothing(rolling[each]) for each in ("maxUnavailable", "maxSurge")]
    if all(nothing):
        yield causes.required(f"{path}.rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif not any(nothing):
        yield causes.invalid(
            f"{path}.rollingUpdate.maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero"
        )


def _stateful_strategy(strategy: Manifest) -> Iterator[Cause]:
    if strategy["type"] not in ("RollingUpdate", "OnDelete"):
        shown = f'{{"Type":{causes.to_json(strategy["type"])},"RollingUpdate":null}}'
        yield causes.invalid("spec.updateStrategy", causes.OMITTED, f"{shown}: must be 'RollingUpdate' or 'OnDelete'")
    elif strategy["type"] == "RollingUpdate":
        yield from values.not_negative(strategy.get("rollingUpdate", {}), "spec.updateStrategy.rollingUpdate", "partition")

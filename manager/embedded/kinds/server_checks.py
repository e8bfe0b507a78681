"""The rules for objects that tell the server itself what to do: webhooks, priorities of requests, further servers."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_FORM = "; desired format: https://host[/path]"
_EXEMPT = "exempt"
_MOST_PRECEDENCE = 10000
_MOST_QUEUES = 10_000_000


def webhooks(obj: Manifest) -> Iterator[Cause]:
    """A webhook configuration of either kind."""
    seen: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks", ())):
        at = f"webhooks[{index}]"
        yield from _hook(hook, at)
        yield from _reviews(hook, f"{at}.admissionReviewVersions")
        if hook["name"] and hook["name"] in seen:
            yield causes.duplicate(f"{at}.name", hook["name"])
        seen.add(hook["name"])


def _hook(hook: Manifest, path: str) -> Iterator[Cause]:
    yield from _full_name(hook["name"], f"{path}.name")
    for index, each in enumerate(hook.get("rules", ())):
        yield from _rule(each, f"{path}.rules[{index}]")
    yield from values.maybe_one_of(hook, "failurePolicy", path, ("Fail", "Ignore"))
    yield from values.maybe_one_of(hook, "matchPolicy", path, ("Equivalent", "Exact"))
    if hook.get("sideEffects") is None:
        yield causes.required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun")
    else:
        yield from values.maybe_one_of(hook, "sideEffects", path, ("None", "NoneOnDryRun"))
    if not 1 <= hook["timeoutSeconds"] <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        yield causes.invalid(f"{path}.timeoutSeconds", hook["timeoutSeconds"], why)
    for each in ("namespaceSelector", "objectSelector"):
        yield from metadata.selector(hook.get(each), f"{path}.{each}")
    yield from _client(hook["clientConfig"], f"{path}.clientConfig")


def _full_name(name: str, path: str) -> Iterator[Cause]:
    if not name:
        yield causes.required(path)
        return
    wrong = list(values.named(name, path, names.subdomain))
    yield from wrong
    if not wrong and name.count(".") < 2:
        yield causes.invalid(path, name, "should be a domain with at least three segments separated by dots")


def _reviews(hook: Manifest, path: str) -> Iterator[Cause]:
    versions = hook.get("admissionReviewVersions") or []
    if not versions:
        yield causes.required(path, "must specify one of v1, v1beta1")
    elif not {"v1", "v1beta1"} & set(versions):
        yield causes.invalid(path, versions, "must include at least one of v1, v1beta1")


def _rule(rule: Manifest, path: str) -> Iterator[Cause]:
    yield from _some(rule.get("operations"), f"{path}.operations", "operations")
    for index, each in enumerate(rule.get("operations") or ()):
        if each not in _OPERATIONS:
            yield causes.not_supported(f"{path}.operations[{index}]", each, _OPERATIONS)
    yield from _some(rule.get("apiGroups"), f"{path}.apiGroups", "API groups")
    yield from _some(rule.get("apiVersions"), f"{path}.apiVersions", "API versions")
    if not rule.get("resources"):
        yield causes.required(f"{path}.resources")
    yield from values.maybe_one_of(rule, "scope", path, _SCOPES)


def _some(given: Any, path: str, what: str) -> Iterator[Cause]:
    if not given:
        yield causes.required(path)
    elif len(given) > 1 and "*" in given:
        yield causes.invalid(path, given, f"if '*' is present, must not specify other {what}")


def _client(client: Manifest, path: str) -> Iterator[Cause]:
    if ("url" in client) is ("service" in client):
        yield causes.required(path, "exactly one of url or service is required")
    elif "url" in client:
        yield from _url(client["url"], f"{path}.url")
    else:
        for each in ("name", "namespace"):
            if not client["service"][each]:
                yield causes.required(f"{path}.service.{each}")


def _url(text: str, path: str) -> Iterator[Cause]:
    url = urlsplit(text)
    if url.scheme != "https":
        yield causes.invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.netloc:
        yield causes.invalid(path, "", f"host must be specified{_FORM}")
    if url.fragment:
        yield causes.invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield causes.invalid(path, url.query, "query parameters are not permitted in the URL")


# Priorities of requests


def flow_schema(obj: Manifest) -> Iterator[Cause]:
    """A FlowSchema."""
    spec = obj["spec"]
    precedence, path = spec["matchingPrecedence"], "spec.matchingPrecedence"
    if precedence <= 0:
        yield causes.invalid(path, precedence, "must be a positive value")
    if precedence > _MOST_PRECEDENCE:
        yield causes.invalid(path, precedence, f"must not be greater than {_MOST_PRECEDENCE}")
    if precedence == 1 and obj["metadata"].get("name") != _EXEMPT:
        yield causes.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    level = spec["priorityLevelConfiguration"]["name"]
    if not level:
        yield causes.required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    else:
        yield from values.named(level, "spec.priorityLevelConfiguration.name", names.subdomain)


def priority_level(obj: Manifest) -> Iterator[Cause]:
    """A PriorityLevelConfiguration."""
    spec, exempt = obj["spec"], obj["metadata"].get("name") == _EXEMPT
    kind = spec["type"]
    if exempt is not (kind == "Exempt"):
        yield causes.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == "Exempt":
        if "limited" in spec:
            yield causes.forbidden("spec.limited", "must be nil if the type is not Limited")
    elif kind != "Limited":
        yield from values.one_of(kind, "spec.type", ("Exempt", "Limited"))
    elif "limited" not in spec:
        yield causes.required("spec.limited", "must not be empty when type is Limited")
    else:
        yield from _limited(spec["limited"], "spec.limited")


def _limited(limited: Manifest, path: str) -> Iterator[Cause]:
    shares = limited.get("nominalConcurrencyShares", 0)
    if shares < 0:
        yield causes.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    response = limited["limitResponse"]
    queuing, at = response.get("queuing"), f"{path}.limitResponse"
    yield from values.one_of(response["type"], f"{at}.type", ("Queue", "Reject"))
    if response["type"] == "Reject" and queuing is not None:
        yield causes.forbidden(f"{at}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif response["type"] == "Queue" and queuing is None:
        yield causes.required(f"{at}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif response["type"] == "Queue" and queuing is not None:
        yield from _queuing(queuing, f"{at}.queuing")


def _queuing(queuing: Manifest, path: str) -> Iterator[Cause]:
    for each in ("queueLengthLimit", "queues", "handSize"):
        if queuing[each] <= 0:
            yield causes.invalid(f"{path}.{each}", queuing[each], "must be positive")
    if queuing["queues"] > _MOST_QUEUES:
        yield causes.invalid(f"{path}.queues", queuing["queues"], f"must not be greater than {_MOST_QUEUES}")
    if queuing["handSize"] > queuing["queues"]:
        why = f"should not be greater than queues ({queuing['queues']})"
        yield causes.invalid(f"{path}.handSize", queuing["handSize"], why)


# Further servers


def api_service(obj: Manifest) -> Iterator[Cause]:
    """An APIService, which bears the name of what it serves."""
    spec = obj["spec"]
    group, version = spec.get("group", ""), spec.get("version", "")
    wanted = f"{version}.{group}"
    if obj["metadata"].get("name") != wanted:
        yield causes.invalid("metadata.name", obj["metadata"].get("name"), f'must be `spec.version+"."+spec.group`: "{wanted}"')
    if not group and version != "v1":
        yield causes.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        yield from values.named(group, "spec.group", names.subdomain)
    yield from values.named(version, "spec.version", names.label_1035)
    for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        if not 0 < spec[field] <= most:
            yield causes.invalid(f"spec.{field}", spec[field], f"must be positive and less than {most}")
    service = spec.get("service")
    if service is None:
        if spec.get("insecureSkipTLSVerify"):
            yield causes.invalid("spec.insecureSkipTLSVerify", True, "local APIServices may not have insecureSkipTLSVerify")
        return
    for each in ("namespace", "name"):
        if not service.get(each):
            yield causes.required(f"spec.service.{each}")
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        yield causes.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def controller_revision(obj: Manifest) -> Iterator[Cause]:
    """A ControllerRevision."""
    if obj.get("data") is None:
        yield causes.required("data", "data is mandatory")
    if obj["revision"] < 0:
        yield causes.invalid("revision", obj["revision"], metadata.NOT_NEGATIVE)


def controller_revision_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What was kept in a revision never changes."""
    if new["revision"] < 0:
        yield causes.invalid("revision", new["revision"], metadata.NOT_NEGATIVE)
    yield from metadata.immutable(new.get("data"), old.get("data"), "data")


# Addresses of the cluster


def service_cidr(obj: Manifest) -> Iterator[Cause]:
    """A ServiceCIDR."""
    for index, each in enumerate(obj["spec"].get("cidrs") or ()):
        yield from values.network(each, f"spec.cidrs[{index}]")


def ip_address(obj: Manifest) -> Iterator[Cause]:
    """An IPAddress, which bears the address as its name."""
    yield from values.address(obj["metadata"].get("name", ""), "metadata.name")
    if obj["spec"].get("parentRef") is None:
        yield causes.required("spec.parentRef")

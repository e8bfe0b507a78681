"""One webhook of a configuration: where it listens, and which requests it is about."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apis.meta import Manifest
from manager.embedded.policies.expression import Expression, compiled
from manager.embedded.policies.matching import Constraints, Matched, NamespaceLabels
from manager.embedded.policies.policy import holds
from manager.embedded.policies.request import AdmissionRequest
from manager.embedded.policies.variables import declared
from policy.cel.types import BOOL

TIMEOUT = 10


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook, compiled. `url` is empty for one that names a Service: nothing in this cluster runs behind those."""

    name: str
    configuration: str
    url: str
    ca: str  # PEM; empty for the roots of the system
    timeout: int  # seconds
    lenient: bool  # failurePolicy Ignore
    dry_runs: bool  # it has no side effects on a dry run
    versions: tuple[str, ...]
    mutating: bool  # it may answer a patch
    again: bool  # reinvocationPolicy IfNeeded: asked once more when others changed the object after it
    constraints: Constraints
    conditions: tuple[Expression, ...]

    @classmethod
    def of(cls, manifest: Manifest, configuration: str, *, mutating: bool = False) -> "Hook":
        """Read one of `webhooks`."""
        client = manifest.get("clientConfig") or {}
        rules = [{"scope": "*", **rule} for rule in manifest.get("rules") or ()]
        return cls(
            name=manifest["name"],
            configuration=configuration,
            url=client.get("url") or "",
            ca=b64decode(client.get("caBundle") or "").decode("ascii", "replace"),
            timeout=manifest.get("timeoutSeconds") or TIMEOUT,
            lenient=manifest.get("failurePolicy") == "Ignore",
            dry_runs=manifest.get("sideEffects") in ("None", "NoneOnDryRun"),
            versions=tuple(manifest.get("admissionReviewVersions") or ()),
            mutating=mutating,
            again=manifest.get("reinvocationPolicy") == "IfNeeded",
            constraints=Constraints.of({**manifest, "resourceRules": rules}),
            conditions=tuple(
                compiled(each["expression"].strip(), declared(params=False, authorizer=True), (BOOL,))
                for each in manifest.get("matchConditions") or ()
            ),
        )

    def match(self, request: AdmissionRequest, labels_of: NamespaceLabels) -> Matched | None:
        """The version in which it wants to see the request, or None when it is not about it; conditions are looked at later."""
        return self.constraints.match(request, labels_of) if self.constraints.rules else None

    def concerned(self, known: Mapping[str, Any]) -> bool:
        """Do its match conditions hold? Raises NoResult when one cannot be evaluated."""
        return holds(self.conditions, known)

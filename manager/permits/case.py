"""One permit under its template: who asks for what, who acts for it, and what its templates may know of it."""

from dataclasses import dataclass
from datetime import datetime

from apis.copyhold.globalresourcepermittemplate import GlobalResourcePermitTemplateSpec
from apis.copyhold.resourcepermit import KIND, ResourcePermitSpec
from apis.copyhold.resourcepermittemplate import ResourcePermitTemplateSpec
from apis.intent import Group, Identity
from apis.kind import Parent
from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from manager.permits.params import checked
from manager.permits.templatecheck import KINDS
from manager.world import Actor
from policy.account import Accounts, lent
from policy.decide import Owner
from policy.permits.moments import stamp


@dataclass(frozen=True, slots=True)
class Case:
    """A permit and its template, parsed; `params` has the defaults of the template's schema."""

    template: Manifest
    permit: Manifest
    spec: ResourcePermitTemplateSpec | GlobalResourcePermitTemplateSpec
    asked: ResourcePermitSpec
    params: Manifest

    @classmethod
    def of(cls, template: Manifest, permit: Manifest) -> "Case":
        """Raises Invalid, naming object, field and remedy, for what is not as its kind, or for parameters the template, says."""
        spec = KINDS[template["kind"]].parse(template).spec
        asked: ResourcePermitSpec = KIND.parse(permit).spec
        return cls(template, permit, spec, asked, checked(spec.param_schema, asked.params))

    @property
    def local(self) -> bool:
        """True for a template of the permit's own namespace, which reaches nothing else."""
        return isinstance(self.spec, ResourcePermitTemplateSpec)

    @property
    def parent(self) -> Parent:
        """The permit as a parent of targets."""
        return Parent(KIND, self.permit)

    @property
    def namespace(self) -> str:
        """The namespace of the permit."""
        return self.parent.namespace

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of the template, in order."""
        return tuple(group.lower(position) for position, group in enumerate(self.spec.resources))

    def actor(self, identity: Identity) -> Actor:
        """In whose name requests are sent."""
        return Actor(identity, self.parent.uid)

    @property
    def variables(self) -> Manifest:
        """What every template of the case sees: `params`, `request` and `parent`.

        `parent` is no more than the identity of the permit: its spec, labels and annotations are the requester's own words,
        which templates get as `params` and `request`, marked as foreign.
        """
        metadata = self.permit["metadata"]
        requester = self.asked.requester
        shown = {key: metadata[key] for key in ("name", "namespace", "uid", "creationTimestamp") if key in metadata}
        return {
            "params": self.params,
            "request": {
                "name": self.parent.name,
                "namespace": self.namespace,
                "username": requester.name if requester else "",
                "groups": list(requester.groups) if requester else [],
                "timestamp": metadata.get("creationTimestamp", ""),
            },
            "parent": {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": shown},
        }

    def account(self, accounts: Accounts) -> Identity:
        """The ServiceAccount that acts: the template's, else its default. Raises Blocked for one that is never lent."""
        return lent(self._named(), self.namespace if self.local else "", accounts, self.account_field)

    @property
    def account_field(self) -> str:
        """Where the account is named, for messages."""
        return f"spec.impersonation of {KINDS[self.template['kind']].title(self.template)}"

    def _named(self) -> Identity | None:
        if isinstance(self.spec, ResourcePermitTemplateSpec):
            return None if self.spec.impersonation is None else Identity(self.namespace, self.spec.impersonation.name)
        named = self.spec.impersonation
        return None if named is None else Identity(named.namespace, named.name)

    def owner(self, identity: Identity) -> Owner:
        """Who decides about the targets."""
        return Owner(self.parent.manager, self.parent.uid, f"{identity.namespace}/{identity.name}")

    @property
    def terms(self) -> Manifest:
        """The part of the snapshot that the template and the spec say: template, approvals, durations, start."""
        metadata, spec = self.template["metadata"], self.spec
        duration = self.asked.duration or spec.default_duration or spec.max_duration
        found = {
            "template": {
                "kind": self.template["kind"],
                "name": metadata["name"],
                "uid": metadata["uid"],
                "generation": metadata["generation"],
            },
            "approvals": spec.approvals.model_dump(mode="json", by_alias=True, exclude_none=True),
            "duration": duration,
            "maxDuration": spec.max_duration,
            "keepFor": spec.keep_for,
            "startTime": None if self.asked.start_time is None else _utc(self.asked.start_time),
        }
        return {key: value for key, value in found.items() if value is not None}


def _utc(text: str) -> str:
    try:
        return stamp(datetime.fromisoformat(text))
    except ValueError as error:
        raise Invalid(Reason.INVALID, "spec.startTime: is no time: write it as 2026-01-31T08:00:00Z") from error

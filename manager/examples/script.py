"""The format of expect.yaml: a script of steps, each a request or an expectation. Documented in docs/examples.md."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from apis.copyhold.duration import checked, long_checked
from apis.copyhold.permitstatus import Phase
from apis.copyhold.resourcepermit import KIND
from apis.meta import GROUP, Manifest, Model, Ref, split_api_version

WITHIN = "20s"
"""How long an expectation may take to come true, unless it says otherwise."""


def _listed(value: Any) -> Any:
    """One entry may stand without its list."""
    return [value] if isinstance(value, Mapping | str) else value


def _named(manifest: Manifest) -> Manifest:
    metadata = manifest.get("metadata")
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]
    if not named or not all(isinstance(manifest.get(field), str) and manifest[field] for field in ("apiVersion", "kind")):
        raise ValueError("apiVersion, kind and metadata.name say which object is meant: add them")
    return manifest


def _appliable(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError("must be a manifest, or the name of a file in the folder")
    return _named(value)


Named = Annotated[dict[str, Any], AfterValidator(_named)]
Duration = Annotated[str, AfterValidator(checked)]
Length = Annotated[str, AfterValidator(long_checked)]


class Place(Model):
    """Which object is meant. `namespace` is omitted for cluster-scoped kinds."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str

    @property
    def ref(self) -> Ref:
        """The same as a reference."""
        return Ref(*split_api_version(self.api_version), self.kind, self.namespace, self.name)


class Impersonate(Model):
    """Who does a step. The request impersonates this user."""

    user: str
    groups: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"user": value} if isinstance(value, str) else value


class Ask(Model):
    """A permit of which a transition is asked for, and what there is to say about it."""

    namespace: str
    name: str
    message: str = ""

    @property
    def ref(self) -> Ref:
        """The permit."""
        return Ref(KIND.group, KIND.version, KIND.kind, self.namespace, self.name)


class Approve(Ask):
    """An approval of what the permit is at that moment. What is given is changed by it; `start` is a time from then."""

    duration: Length | None = None
    keep_for: Length | None = None
    start: Length | None = None


class PhaseIs(Model):
    """Where a permit stands. `reason` is that of its last transition."""

    namespace: str
    name: str
    phase: Phase
    reason: str | None = None

    @property
    def ref(self) -> Ref:
        """The permit."""
        return Ref(KIND.group, KIND.version, KIND.kind, self.namespace, self.name)


class Right(Model):
    """What somebody may do, as the server's authorizer says: `resource` is `pods`, `pods/log` or `databases.example.com`."""

    person: Annotated[Impersonate, Field(alias="as")]
    verb: str
    resource: str
    namespace: str = ""
    name: str = ""


class ConditionIs(Model):
    """A condition of an object's status, of the present generation. `message` is a text that it contains."""

    api_version: str = f"{GROUP}/v1alpha1"
    kind: str
    namespace: str = ""
    name: str
    type: str = "Ready"
    status: str = "True"
    reason: str | None = None
    message: str | None = None

    @property
    def ref(self) -> Ref:
        """The object."""
        return Ref(*split_api_version(self.api_version), self.kind, self.namespace, self.name)


class Owners(Model):
    """Which field managers own fields of an object: field path -> manager, or Kind/name or Kind/namespace/name of a parent."""

    of: Place
    fields: dict[str, Annotated[tuple[str, ...], BeforeValidator(_listed)]]


class Value(Model):
    """A value that is kept under a name, or compared with one that was kept: for what templates draw by lot."""

    of: Place
    field: str
    keep: str | None = None
    same: str | None = None
    differs: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(word is not None for word in (self.keep, self.same, self.differs)) != 1:
            raise ValueError("say one of keep, same and differs, each with the name of a kept value")
        return self


class Expect(Model):
    """What must come true within `within`, all of it at the same time."""

    objects: Annotated[tuple[Named, ...], BeforeValidator(_listed)] = ()
    absent: Annotated[tuple[Place, ...], BeforeValidator(_listed)] = ()
    ready: Annotated[tuple[ConditionIs, ...], BeforeValidator(_listed)] = ()
    owners: Annotated[tuple[Owners, ...], BeforeValidator(_listed)] = ()
    values: Annotated[tuple[Value, ...], BeforeValidator(_listed)] = ()
    phases: Annotated[tuple[PhaseIs, ...], BeforeValidator(_listed)] = ()
    can: Annotated[tuple[Right, ...], BeforeValidator(_listed)] = ()
    cannot: Annotated[tuple[Right, ...], BeforeValidator(_listed)] = ()
    within: Duration = WITHIN

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(getattr(self, name) for name in type(self).model_fields if name != "within"):
            raise ValueError("expects nothing: add objects, absent, ready, owners, values, phases, can or cannot")
        return self


VERBS = ("apply", "edit", "delete", "approve", "deny", "expire", "retry", "advance", "expect")
"""What a step may do."""

_PHASES = {"approve": Phase.APPROVED, "deny": Phase.DENIED, "expire": Phase.EXPIRED, "retry": Phase.RETRYING}


class Step(Model):
    """One of the verbs. `refused`: the server must say no, with this text in its answer."""

    title: str = ""
    apply: Annotated[tuple[Annotated[Any, AfterValidator(_appliable)], ...], BeforeValidator(_listed)] = ()
    edit: Named | None = None
    delete: Annotated[tuple[Place, ...], BeforeValidator(_listed)] = ()
    approve: Approve | None = None
    deny: Ask | None = None
    expire: Ask | None = None
    retry: Ask | None = None
    advance: Duration | None = None
    expect: Expect | None = None
    person: Annotated[Impersonate | None, Field(alias="as")] = None
    manager: str = ""
    force: bool = False
    refused: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        done = self.verbs
        if len(done) != 1:
            what = f"has {' and '.join(done)}: make each a step of its own" if done else "does nothing"
            raise ValueError(f"{what}: a step is one of {', '.join(VERBS[:-1])} and {VERBS[-1]}")
        if done[0] in ("advance", "expect") and (self.person or self.manager or self.refused is not None):
            raise ValueError(f"as, manager and refused say how a request goes, and {done[0]} is none: remove them")
        if self.force and not self.apply:
            raise ValueError("force belongs to apply: remove it")
        return self

    @property
    def verbs(self) -> tuple[str, ...]:
        """What it does: one word."""
        return tuple(word for word in VERBS if getattr(self, word) not in ((), None))

    @property
    def transition(self) -> tuple[Phase, Ask] | None:
        """The phase that is asked for, and of which permit; None for another kind of step."""
        return next(((_PHASES[verb], getattr(self, verb)) for verb in self.verbs if verb in _PHASES), None)


class Script(Model):
    """An expect.yaml."""

    title: str = ""
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]

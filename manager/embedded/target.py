"""What a request is about and how it is meant: the object, and the options that all writes share."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from apis.meta import Manifest
from manager.embedded.attributes import User
from manager.embedded.registry import place_of
from manager.embedded.request import Request
from manager.embedded.served import Served
from manager.embedded.status import Cause, Named, StatusError, bad_request, invalid
from manager.embedded.store import Key


@dataclass(frozen=True, slots=True)
class Target:
    """An object, or (without a name) a collection."""

    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """Where it is stored."""
        return Key(place_of(self.served), self.namespace if self.served.namespaced else "", self.name)

    @property
    def about(self) -> Named:
        """What an answer calls it."""
        return Named(self.served.group, self.served.plural, self.name)

    @property
    def kind(self) -> Named:
        """What an error of validation calls it."""
        return Named(self.served.group, self.served.kind, self.name)

    def named(self, name: str) -> "Target":
        """Another object of the same collection."""
        return replace(self, name=name)


IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"
LONGEST_MANAGER = 128
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Options:
    """How a write is meant. `manager` is the field manager that the client named, `agent` its User-Agent.

    `doubts` is what strict validation has against the text of the body itself.
    """

    user: User
    manager: str = ""
    agent: str = ""
    dry_run: bool = False
    validation: str = WARN
    force: bool = False
    doubts: tuple[str, ...] = ()
    kind: str = ""  # CreateOptions, UpdateOptions, PatchOptions, DeleteOptions
    further: Manifest = field(default_factory=dict)  # what else was given, as admission sees it

    def manifest(self) -> Manifest:
        """The options as admission sees them: what was given."""
        given: Manifest = {"kind": self.kind or "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            given["dryRun"] = ["All"]
        if self.manager:
            given["fieldManager"] = self.manager
        if self.force:
            given["force"] = True
        return given | self.further


def options(request: Request, user: User, kind: str, *, patch: str = "") -> Options:
    """Read the query of a write. `kind` is CreateOptions, UpdateOptions or PatchOptions. Raises 422."""
    manager, validation = request.parameter("fieldManager"), request.parameter("fieldValidation")
    dry_run = [value for value in request.parameters.get("dryRun", ()) if value]
    causes = [*_force(request, patch), *_manager(manager, patch), *_dry_run(dry_run), *_validation(validation)]
    if causes:
        raise invalid(Named("meta.k8s.io", kind), causes)
    return Options(
        user=user,
        manager=manager,
        agent=request.header("user-agent"),
        dry_run=bool(dry_run),
        validation=validation or WARN,
        force=request.flag("force"),
        kind=kind,
        further={"fieldValidation": validation} if validation else {},
    )


def _force(request: Request, patch: str) -> Sequence[Cause]:
    if patch and patch != APPLY and "force" in request.parameters:
        return (Cause("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force"),)
    return ()


def _manager(manager: str, patch: str) -> Sequence[Cause]:
    if patch == APPLY and not manager:
        return (Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"),)
    if len(manager.encode()) > LONGEST_MANAGER:
        said = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        return (Cause("FieldValueTooLong", said, "fieldManager"),)
    if not manager.isprintable():
        said = f'Invalid value: "{manager}": should only contain printable characters'
        return (Cause("FieldValueInvalid", said, "fieldManager"),)
    return ()


def _dry_run(values: Sequence[str]) -> Sequence[Cause]:
    if all(value == "All" for value in values):
        return ()
    shown = ",".join(f'"{value}"' for value in values)
    return (Cause("FieldValueNotSupported", f'Unsupported value: [{shown}]: supported values: "All"', "dryRun"),)


def _validation(value: str) -> Sequence[Cause]:
    if value in ("", IGNORE, WARN, STRICT):
        return ()
    said = f'Unsupported value: "{value}": supported values: "", "Ignore", "Strict", "Warn"'
    return (Cause("FieldValueNotSupported", said, "fieldValidation"),)


BACKGROUND, FOREGROUND, ORPHAN = "Background", "Foreground", "Orphan"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How a deletion is meant. None is: not said."""

    options: Options
    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None
    orphan: bool | None = None  # the older form of propagation
    grace: int | None = None  # seconds
    collection: bool = False  # one of many: the request names none
    judged: bool = False  # admission has seen another form of it: an eviction


def delete_options(request: Request, user: User, body: object) -> DeleteOptions:
    """Read the options of a deletion, from its body or its query. Raises 400, 422."""
    given = body if isinstance(body, dict) else {}
    preconditions = given.get("preconditions") or {}
    dry_run = given.get("dryRun") or [value for value in request.parameters.get("dryRun", ()) if value]
    propagation = given.get("propagationPolicy") or request.parameter("propagationPolicy") or None
    orphan = given.get("orphanDependents")
    if orphan is None and "orphanDependents" in request.parameters:
        orphan = request.flag("orphanDependents")
    causes = [*_dry_run(dry_run), *_propagation(propagation, orphan)]
    if causes:
        raise invalid(Named("meta.k8s.io", "DeleteOptions"), causes)
    grace = _grace(given.get("gracePeriodSeconds"), request.parameter("gracePeriodSeconds"))
    told = {
        "gracePeriodSeconds": grace,
        "propagationPolicy": propagation,
        "orphanDependents": orphan,
        "preconditions": preconditions or None,
    }
    return DeleteOptions(
        options=Options(
            user=user,
            agent=request.header("user-agent"),
            dry_run=bool(dry_run),
            kind="DeleteOptions",
            further={key: value for key, value in told.items() if value is not None},
        ),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation=propagation,
        orphan=orphan,
        grace=grace,
    )


def _propagation(policy: str | None, orphan: bool | None) -> Sequence[Cause]:
    if policy is not None and orphan is not None:
        said = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        return (Cause("FieldValueInvalid", said, "propagationPolicy"),)
    if policy not in (None, BACKGROUND, FOREGROUND, ORPHAN):
        said = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        return (Cause("FieldValueNotSupported", said, "propagationPolicy"),)
    return ()


def _grace(given: object, parameter: str) -> int | None:
    if isinstance(given, int):
        return given
    if not parameter:
        return None
    try:
        return int(parameter)
    except ValueError as error:
        raise bad_number(parameter) from error


def bad_number(text: str) -> StatusError:
    """400: a parameter that is no number."""
    return bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')

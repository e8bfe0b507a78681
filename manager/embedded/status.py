"""How the server says no: a `Status` with a code, a reason and causes, in the words that clients of Kubernetes know."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apis.meta import Manifest

UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class Cause:
    """One of `details.causes`: `reason` is a word such as FieldValueInvalid, `field` a path such as `spec.replicas`."""

    reason: str
    message: str
    field: str = ""

    def manifest(self) -> Manifest:
        """As it is sent."""
        return {"reason": self.reason, "message": self.message} | ({"field": self.field} if self.field else {})


@dataclass(frozen=True, slots=True)
class Named:
    """What an answer is about: `resource` is the plural (in errors of validation, the kind)."""

    group: str
    resource: str
    name: str = ""
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class StatusError(Exception):
    """A request that fails. `retry_after` is in seconds; `details` are those of a `Status`."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        about: Named | None = None,
        causes: Sequence[Cause] = (),
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.about = about
        self.causes = tuple(causes)
        self.retry_after = retry_after

    def manifest(self) -> Manifest:
        """The `Status` (meta/v1) that the client gets."""
        details: dict[str, Any] = {}
        if self.about is not None:
            named = {"name": self.about.name, "group": self.about.group, "kind": self.about.resource, "uid": self.about.uid}
            details |= {key: value for key, value in named.items() if value}
        if self.causes:
            details["causes"] = [cause.manifest() for cause in self.causes]
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        status: Manifest = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        if self.reason:
            status["reason"] = self.reason
        return status | ({"details": details} if details else {}) | {"code": self.code}


def not_found(about: Named) -> StatusError:
    """404: the object is not there."""
    return StatusError(404, "NotFound", f'{about} "{about.name}" not found', about)


def no_such_path() -> StatusError:
    """404: nothing is served under this path."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def already_exists(about: Named) -> StatusError:
    """409: a create of what is there."""
    return StatusError(409, "AlreadyExists", f'{about} "{about.name}" already exists', about)


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(about: Named, why: str = MODIFIED) -> StatusError:
    """409: a precondition does not hold."""
    return StatusError(409, "Conflict", f'Operation cannot be fulfilled on {about} "{about.name}": {why}', about)


def forbidden(about: Named, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    """403: not allowed, by RBAC or by admission."""
    subject = f'{about} "{about.name}"' if about.name else f"{about}"
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", about, causes)


def unauthorized() -> StatusError:
    """401: nobody whom the server knows."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def invalid(about: Named, causes: Sequence[Cause]) -> StatusError:
    """422: the object breaks rules; `about.resource` is its kind."""
    said = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    subject = f"{about.resource}.{about.group}" if about.group else about.resource
    return StatusError(UNPROCESSABLE, "Invalid", f'{subject} "{about.name}" is invalid: {text}', about, causes)


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def not_allowed(method: str) -> StatusError:
    """405: this resource has no such verb."""
    return StatusError(405, "MethodNotAllowed", f"the server does not allow this method on the requested resource ({method})")


def not_acceptable(offered: Sequence[str]) -> StatusError:
    """406: no such media type for this answer."""
    listed = ", ".join(offered)
    return StatusError(406, "NotAcceptable", f"only the following media types are accepted: {listed}")


def unsupported(accepted: Sequence[str]) -> StatusError:
    """415: a body of a type that is not understood."""
    listed = ", ".join(accepted)
    return StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {listed}",
    )


def expired(message: str) -> StatusError:
    """410: that revision, or that page, is not kept any more."""
    return StatusError(410, "Expired", message)


def too_large(message: str) -> StatusError:
    """413: more than the server takes."""
    return StatusError(413, "RequestEntityTooLarge", message)


def internal(message: str) -> StatusError:
    """500: the server failed, or says so of a manifest that does not fit its schema under server-side apply."""
    return StatusError(500, "InternalError", message)

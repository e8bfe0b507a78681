"""One compiled policy, and what it says of a request."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apis.meta import Manifest
from manager.embedded.policies import structures
from manager.embedded.policies.expression import Expression, NoResult, compiled
from manager.embedded.policies.matching import Constraints
from manager.embedded.policies.scope import VARIABLES, OutOfBudget, Scope
from manager.embedded.policies.variables import declared
from policy.cel.types import BOOL, NULL, STRING, Type

BUDGET = 10_000_000
"""Units for all validations of one request, variables included."""
CONDITIONS_BUDGET = 2_500_000
LONGEST_MESSAGE = 5 * 1024  # bytes of what a messageExpression says

INVALID = "Invalid"


@dataclass(frozen=True, slots=True)
class Denial:
    """What a policy has against a request; `reason` is that of the answer."""

    message: str
    reason: str = INVALID


@dataclass(frozen=True, slots=True)
class Validation:
    """What must be true, and what is said when it is not."""

    must: Expression
    message: str
    explain: Expression | None
    reason: str

    def denial(self, messages: Scope) -> Denial:
        """The words for a request that breaks it: those of `explain`, else the fixed ones, else the expression."""
        said = self._explained(messages) or self.message.strip() or f"failed expression: {self.must.text.strip()}"
        return Denial(said, self.reason)

    def _explained(self, messages: Scope) -> str:
        if self.explain is None:
            return ""
        try:
            said = self.explain.value(messages)
        except NoResult:
            return ""
        text = said.strip() if isinstance(said, str) else ""
        return text if len(text.encode()) <= LONGEST_MESSAGE and "\n" not in text else ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a policy is asked about. `known` are the variables of the request, `rights` those that ask the authorizer."""

    known: Mapping[str, Any]
    rights: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Policy:
    """A stored policy, compiled. `lenient` is failurePolicy Ignore: an expression that fails then lets the request pass."""

    name: str
    lenient: bool
    constraints: Constraints
    param_kind: Manifest | None
    conditions: tuple[Expression, ...]
    variables: Mapping[str, Expression]  # its own
    validations: tuple[Validation, ...]
    annotations: tuple[Expression, ...]

    def denials(self, subject: Subject) -> Iterator[Denial]:
        """What it has against a request that its constraints are about."""
        try:
            if not self._concerned(subject):
                return
            yield from self._broken(subject)
            yield from self._unpublished(subject)
        except (NoResult, OutOfBudget) as error:
            if not self.lenient:
                yield Denial(str(error))

    def _concerned(self, subject: Subject) -> bool:
        return holds(self.conditions, {**subject.known, **subject.rights})

    def _broken(self, subject: Subject) -> Iterator[Denial]:
        scope = Scope({**subject.known, **subject.rights}, self.variables, BUDGET)
        results: list[tuple[Validation, Any]] = []
        for validation in self.validations:
            try:
                results.append((validation, validation.must.value(scope)))
            except NoResult as error:
                results.append((validation, error))
        # Messages do not ask for rights, so they have a scope of their own, with what is left of the budget.
        messages = Scope(subject.known, self.variables, scope.left)
        for validation, result in results:
            if isinstance(result, NoResult):
                if not self.lenient:
                    yield Denial(str(result))
            elif result is not True:
                yield self._said(validation, messages)

    def _said(self, validation: Validation, messages: Scope) -> Denial:
        try:
            return validation.denial(messages)
        except OutOfBudget as error:
            return Denial(f"failed messageExpression: {error}")

    def _unpublished(self, subject: Subject) -> Iterator[Denial]:
        """Audit annotations go nowhere here, but one that cannot be computed is a reason to refuse."""
        if self.lenient or not self.annotations:
            return
        scope = Scope({**subject.known, **subject.rights}, self.variables, BUDGET)
        for annotation in self.annotations:
            try:
                annotation.value(scope)
            except NoResult as error:
                yield Denial(str(error))


def holds(conditions: Sequence[Expression], known: Mapping[str, Any]) -> bool:
    """Do all match conditions hold? One that is false decides, whatever the others do. They see no namespace.

    Raises NoResult when none is false and some have no result, and OutOfBudget.
    """
    if not conditions:
        return True
    scope = Scope({**known, "namespaceObject": None}, {}, CONDITIONS_BUDGET)
    failed = []
    for condition in conditions:
        try:
            if condition.value(scope) is False:
                return False
        except NoResult as error:
            failed.append(str(error))
    if failed:
        raise NoResult(failed[0] if len(failed) == 1 else f"[{', '.join(dict.fromkeys(failed))}]")
    return True


def compile_policy(manifest: Manifest) -> Policy:
    """Compile a stored policy. What is wrong with its expressions is told when they are evaluated; see `checks`."""
    spec = manifest["spec"]
    params = spec.get("paramKind")
    visible = declared(params=params is not None, authorizer=True)
    conditions = tuple(compiled(each["expression"].strip(), visible, (BOOL,)) for each in spec.get("matchConditions") or ())
    variables: dict[str, Expression] = {}
    for each in spec.get("variables") or ():
        # A variable sees those before it.
        variables[each["name"]] = compiled(each["expression"], visible)
        visible = {**visible, VARIABLES: structures.variables({name: known.type for name, known in variables.items()})}
    in_messages = {name: kind for name, kind in visible.items() if not name.startswith("authorizer")}
    return Policy(
        name=manifest["metadata"]["name"],
        lenient=spec.get("failurePolicy") == "Ignore",
        constraints=Constraints.of(spec.get("matchConstraints") or {}),
        param_kind=params,
        conditions=conditions,
        variables=variables,
        validations=tuple(_validation(each, visible, in_messages) for each in spec.get("validations") or ()),
        annotations=tuple(
            compiled(each["valueExpression"].strip(), visible, (STRING, NULL)) for each in spec.get("auditAnnotations") or ()
        ),
    )


def _validation(manifest: Manifest, visible: Mapping[str, Type], in_messages: Mapping[str, Type]) -> Validation:
    explain = manifest.get("messageExpression") or ""
    return Validation(
        must=compiled(manifest["expression"], visible, (BOOL,)),
        message=manifest.get("message") or "",
        explain=compiled(explain, in_messages, (STRING,)) if explain.strip() else None,
        reason=manifest.get("reason") or INVALID,
    )

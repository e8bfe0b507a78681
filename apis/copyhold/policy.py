"""`spec.resources[].policy`: how the targets of one group are written and taken back."""

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from apis.intent import Creation, Deletion, Policy
from apis.rule import Rule, Ruled


class ResourcePolicy(Ruled):
    """How the targets of one group are written and taken back. It is judged for each target on its own."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            r"!has(self.condition) || self.condition.matches('\\S')",
            "an empty condition is not a condition: omit the field to apply always",
            lambda self: self.condition is None or bool(self.condition.strip()),
            ("condition",),
        ),
    )

    creation: Creation = Creation.OWNER
    """`Owner`: a target must be absent, or belong to this family of parents. `Merge`: a target that is there is adopted."""
    protect: Annotated[bool, Strict()] = True
    """Refuse updates and deletion of the targets by anybody but the parent and its ServiceAccount."""
    force: Annotated[bool, Strict()] = False
    """Take fields over that another field manager holds with another value, instead of reporting a conflict."""
    deletion: Deletion = Deletion.REMOVE
    """What happens to a target that is no longer wanted. `Remove`: what was created is deleted, what was adopted is given back.
    `Orphan`: the content stays, our marks go."""
    condition: Annotated[str, Field(max_length=4096)] | None = None
    """A CEL expression over `object` (the live target, or null) and `now`: the target is written only while it is true.
    Omit the field to apply always."""

    def lower(self) -> Policy:
        """The policy in the planner's words."""
        return Policy(self.creation, self.protect, self.force, self.deletion, self.condition)

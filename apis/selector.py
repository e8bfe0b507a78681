"""Label selectors: the matching rules of `metav1.LabelSelector`, pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression: `key` `operator` (In, NotIn, Exists, DoesNotExist) `values`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Kubernetes' rule: `NotIn` also matches when the label is absent."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values and self.key in labels
            case "NotIn":
                return labels.get(self.key) not in self.values or self.key not in labels
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        raise ValueError(f"operator {self.operator!r} is not one of In, NotIn, Exists, DoesNotExist")

    def __str__(self) -> str:
        match self.operator:
            case "In" | "NotIn":
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
            case "Exists":
                return self.key
            case _:
                return f"!{self.key}"


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements together; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when every requirement holds for these labels."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that the selector looks at."""
        return frozenset(requirement.key for requirement in self.requirements)

    def __str__(self) -> str:
        """The text form that the API server takes as `labelSelector`."""
        return ",".join(str(requirement) for requirement in self.requirements)

    @classmethod
    def of(cls, match_labels: Mapping[str, str], match_expressions: Sequence[Requirement] = ()) -> "Selector":
        """From the two halves of a `metav1.LabelSelector`."""
        equal = tuple(Requirement(key, "In", (value,)) for key, value in sorted(match_labels.items()))
        return cls(equal + tuple(match_expressions))

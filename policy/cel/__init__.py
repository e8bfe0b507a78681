"""The port to the Common Expression Language: compile a text once, evaluate it over plain JSON.

    program = cel.compile("object.spec.replicas > 3", {"object": "dyn"})
    program.evaluate({"object": {"spec": {"replicas": 5}}})

Text -> `parse` -> tree -> `check` -> types and meanings -> `compiler` -> closures. Libraries of functions are in `ext`.
"""

from policy.cel.budget import LIMIT, Budget
from policy.cel.environment import Environment, default
from policy.cel.error import CelError, Exhausted
from policy.cel.parse import Limits
from policy.cel.program import CACHED, Program, compile
from policy.cel.program import program as prepare

__all__ = [
    "CACHED",
    "LIMIT",
    "Budget",
    "CelError",
    "Environment",
    "Exhausted",
    "Limits",
    "Program",
    "compile",
    "default",
    "prepare",
]

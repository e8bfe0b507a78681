"""Go templates: parsed once, executed over data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from manager.render.gotemplate.bounds import SOURCE, Budget
from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.evaluate import Execution, MissingKey
from manager.render.gotemplate.expressions import Slot
from manager.render.gotemplate.function import Context, Functions
from manager.render.gotemplate.functions import FUNCTIONS
from manager.render.gotemplate.nodes import Nodes
from manager.render.gotemplate.parser import trees
from manager.render.gotemplate.source import Source
from manager.render.gotemplate.value import MISSING, encoded


@dataclass(frozen=True, slots=True)
class Template:
    """A template, and those that it defines."""

    source: Source
    functions: Functions
    trees: Mapping[str, Nodes]

    @property
    def names(self) -> frozenset[str]:
        """The templates in it; its own name is one of them."""
        return frozenset(self.trees)

    def execute(
        self,
        data: Any,
        *,
        missingkey: MissingKey = "default",
        budget: Budget | None = None,
        now: datetime | None = None,
        random: Callable[[int], bytes] | None = None,
    ) -> str:
        """The text that the template makes of Go data (`value.decoded` makes some of JSON). Raises TemplateError.

        `now` is the time that its functions see, `random` answers so many random bytes; without them, those functions fail.
        """
        context = Context(Budget() if budget is None else budget, now, random)
        out: list[str] = []
        name, dot = self.source.name, Slot(MISSING if data is None else data)
        Execution(
            name,
            dot,
            out,
            trees=self.trees,
            source=self.source,
            functions=self.functions,
            context=context,
            missingkey=missingkey,
        ).run(dot, self.trees[name])
        text = "".join(out)
        if not _is_utf8(text):
            raise TemplateError(f"template: {name}: the output is not valid UTF-8", name=name)
        return text


def parse(name: str, text: str, functions: Functions = FUNCTIONS) -> Template:
    """The template of this text. Raises TemplateError."""
    if not _is_utf8(text):
        raise TemplateError(f"template: {name}: the text is not valid UTF-8", name=name)
    if len(encoded(text)) > SOURCE:
        raise TemplateError(f"template: {name}: the text has more than {SOURCE} bytes", name=name)
    return Template(Source(name, text), functions, trees(name, text, functions))


def _is_utf8(text: str) -> bool:
    """Are there no bytes in it that are no characters?"""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


__all__ = ["Template", "parse"]

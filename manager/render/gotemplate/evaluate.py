"""Trees are executed over data, and text comes out."""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from manager.render.gotemplate.errors import Exceeded
from manager.render.gotemplate.expressions import Expressions, MissingKey, Slot
from manager.render.gotemplate.function import Context, Functions
from manager.render.gotemplate.nodes import Action, Break, Call, Continue, If, Node, Nodes, Range, Text, With
from manager.render.gotemplate.quote import quote
from manager.render.gotemplate.source import Source
from manager.render.gotemplate.value import ANY, MISSING, Sized, element, encoded, truth


class _Leave(Enum):
    """How a list of nodes was left before its end."""

    BREAK = auto()
    CONTINUE = auto()


class Execution(Expressions):
    """One template while it is executed; `trees` are those that it may call, `out` is what is written so far."""

    def __init__(
        self,
        name: str,
        dot: Slot,
        out: list[str],
        *,
        trees: Mapping[str, Nodes],
        source: Source,
        functions: Functions,
        context: Context,
        missingkey: MissingKey,
    ) -> None:
        super().__init__(name, dot, source=source, functions=functions, context=context, missingkey=missingkey)
        self.trees = trees
        self.out = out

    def walk(self, dot: Slot, nodes: Nodes) -> _Leave | None:
        """Execute the nodes one after the other, until one of them leaves the range around them."""
        for node in nodes.nodes:
            left = self._node(dot, node)
            if left is not None:
                return left
        return None

    def _node(self, dot: Slot, node: Node) -> _Leave | None:
        self.at(node)
        match node:
            case Text():
                self._write(node.text)
            case Action():
                # Its variables stay until the end of the block around it.
                value = self.pipeline(dot, node.pipe)
                if not node.pipe.variables:
                    self._write(self.printed(value))
            case If() | With():
                return self._branch(dot, node)
            case Range():
                return self._range(dot, node)
            case Call():
                self._template(dot, node)
            case Break():
                return _Leave.BREAK
            case Continue():
                return _Leave.CONTINUE
        return None

    def _write(self, text: str) -> None:
        self.context.budget.write(len(text) if text.isascii() else len(encoded(text)))
        self.out.append(text)

    def _branch(self, dot: Slot, node: If | With) -> _Leave | None:
        visible = len(self.variables)
        value = self.pipeline(dot, node.pipe)
        left = None
        if truth(value):
            left = self.walk(Slot(value) if isinstance(node, With) else dot, node.body)
        elif node.otherwise is not None:
            left = self.walk(dot, node.otherwise)
        del self.variables[visible:]
        return left

    def _range(self, dot: Slot, node: Range) -> _Leave | None:
        visible = len(self.variables)
        value = self.pipeline(dot, node.pipe)
        inside = len(self.variables)
        left, ran = None, False
        for index, item in self._items(value, node):
            ran = True
            self.context.budget.step(4)  # about the time of four nodes
            self._bind(node, index, item)
            left = self.walk(item, node.body)
            del self.variables[inside:]
            if left is _Leave.BREAK:
                break
        if not ran and node.otherwise is not None:
            left = self.walk(dot, node.otherwise)
        del self.variables[visible:]
        # A `break` in the `else` ends this range; a `continue` there is one of the range around it.
        return left if left is _Leave.CONTINUE and not ran else None

    def _bind(self, node: Range, index: Slot, item: Slot) -> None:
        names = [variable.names[0] for variable in node.pipe.variables]
        for name, slot in zip(names, [index, item] if len(names) > 1 else [item], strict=False):
            if node.pipe.assigns:
                self.assign(name, slot)
        if names and not node.pipe.assigns:
            self.variables[-1] = (self.variables[-1][0], item)
            if len(names) > 1:
                self.variables[-2] = (self.variables[-2][0], index)

    def _items(self, value: Any, node: Range) -> Iterator[tuple[Slot, Slot]]:
        """Indexes or keys, and elements, in the order of the keys."""
        if isinstance(value, int) and not isinstance(value, bool):
            if len(node.pipe.variables) > 1:
                raise self.error(f"can't use {int(value)} to iterate over more than one variable")
            kind = type(value) if isinstance(value, Sized) else int
            return ((Slot(MISSING), Slot(kind(number))) for number in range(value))
        if isinstance(value, list):
            boxed = element(value) == ANY
            return ((Slot(number), Slot(item, boxed)) for number, item in enumerate(value))
        if isinstance(value, dict):
            boxed = element(value) == ANY
            self.context.budget.step(len(value))  # they are sorted
            return iter([(Slot(key), Slot(value[key], boxed)) for key in sorted(value)])
        if value is not MISSING:
            raise self.error(f"range can't iterate over {self.printed(value)}", "range can't iterate over it")
        return iter(())

    def _template(self, dot: Slot, node: Call) -> None:
        tree = self.trees.get(node.name)
        if tree is None:
            raise self.error(f"template {quote(node.name)} not defined")
        self.context.budget.enter()
        inner = Slot(self.pipeline(dot, node.pipe))
        # It sees none of our variables.
        called = Execution(
            node.name,
            inner,
            self.out,
            trees=self.trees,
            source=self.source,
            functions=self.functions,
            context=self.context,
            missingkey=self.missingkey,
        )
        called.run(inner, tree)
        self.context.budget.leave()

    def run(self, dot: Slot, tree: Nodes) -> None:
        """Execute the whole template. Raises TemplateError."""
        try:
            self.walk(dot, tree)
        except Exceeded as error:
            raise self.error(error.message) from None
        except RecursionError:
            raise self.error("the template or its data is nested too deeply") from None


__all__ = ["Execution", "MissingKey"]

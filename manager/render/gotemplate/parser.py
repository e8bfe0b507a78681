"""Tokens become trees: one for the template, one for each `define` and `block` in it. The errors are Go's."""

from collections.abc import Container
from typing import Final

from manager.render.gotemplate.lexer import Kind, Token, tokens
from manager.render.gotemplate.nodes import Action, Break, Call, Continue, If, Node, Nodes, Range, Text, With, empty
from manager.render.gotemplate.pipelines import Pipelines
from manager.render.gotemplate.quote import quote
from manager.render.gotemplate.reading import Stream


class _End:
    """`{{end}}`, or `{{else}}`: what a list of nodes ends with."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


_END: Final = _End("{{end}}")
_ELSE: Final = _End("{{else}}")


def trees(name: str, text: str, functions: Container[str]) -> dict[str, Nodes]:
    """The trees by their names; that of the whole text is called `name`. Raises TemplateError."""
    stream = Stream(name, tokens(text), functions)
    tree = _Tree(name, stream)
    try:
        tree.whole()
    except RecursionError:
        raise tree.error("blocks or parentheses are nested too deeply") from None
    return stream.trees


class _Tree(Pipelines):
    """One template while it is read."""

    def __init__(self, name: str, stream: Stream) -> None:
        super().__init__(stream)
        self.name = name
        self.ranges = 0  # around us, of which `break` ends one

    def whole(self) -> None:
        nodes: list[Node] = []
        while self.peek().kind is not Kind.EOF:
            before = self.stream.at
            if self.peek().kind is Kind.LEFT_DELIM:
                self.next()
                if self.next_word().kind is Kind.DEFINE:
                    _Tree("", self.stream).definition()
                    continue
                self.stream.at = before
            node = self.text_or_action()
            if isinstance(node, _End):
                raise self.error(f"unexpected {node}")
            nodes.append(node)
        self.add(Nodes(0, tuple(nodes)))

    def definition(self) -> None:
        context = "define clause"
        self.name = self.template_name(self.next_word(), context)
        self.expect(Kind.RIGHT_DELIM, context)
        nodes, end = self.items()
        if end is not _END:
            raise self.error(f"unexpected {end} in {context}")
        self.add(nodes)

    def add(self, nodes: Nodes) -> None:
        """A tree replaces an empty one of its name, and an empty one replaces none."""
        known = self.stream.trees.get(self.name)
        if known is None or empty(known):
            self.stream.trees[self.name] = nodes
        elif not empty(nodes):
            raise self.error(f"template: multiple definition of template {quote(self.name)}")

    def items(self) -> tuple[Nodes, _End]:
        nodes: list[Node] = []
        at = self.peek_word().at
        while self.peek_word().kind is not Kind.EOF:
            node = self.text_or_action()
            if isinstance(node, _End):
                return Nodes(at, tuple(nodes)), node
            nodes.append(node)
        raise self.error("unexpected EOF")

    def text_or_action(self) -> Node | _End:
        token = self.next_word()
        if token.kind is Kind.TEXT:
            return Text(token.at, token.text)
        if token.kind is not Kind.LEFT_DELIM:
            raise self.unexpected(token, "input")
        self.action = token.line
        node = self.control()
        self.action = 0
        return node

    def control(self) -> Node | _End:
        token = self.next_word()
        match token.kind:
            case Kind.BLOCK:
                return self.block()
            case Kind.BREAK:
                self.leave_range("{{break}}")
                return Break(token.at)
            case Kind.CONTINUE:
                self.leave_range("{{continue}}")
                return Continue(token.at)
            case Kind.ELSE:
                if self.peek_word().kind not in (Kind.IF, Kind.WITH):
                    self.expect(Kind.RIGHT_DELIM, "else")
                return _ELSE
            case Kind.END:
                self.expect(Kind.RIGHT_DELIM, "end")
                return _END
            case Kind.IF | Kind.WITH | Kind.RANGE:
                return self.branch(token.kind)
            case Kind.TEMPLATE:
                return self.call()
        self.back()
        return Action(token.at, self.pipeline("command", Kind.RIGHT_DELIM))

    def leave_range(self, word: str) -> None:
        token = self.next_word()
        if token.kind is not Kind.RIGHT_DELIM:
            raise self.unexpected(token, word)
        if not self.ranges:
            raise self.error(f"{word} outside {{{{range}}}}")

    def branch(self, kind: Kind) -> If | With | Range:
        self.deeper("blocks are nested too deeply")
        visible = len(self.variables)
        pipe = self.pipeline(kind.name.lower(), Kind.RIGHT_DELIM)
        self.ranges += kind is Kind.RANGE
        body, end = self.items()
        self.ranges -= kind is Kind.RANGE
        otherwise = self.otherwise(kind) if end is _ELSE else None
        del self.variables[visible:]
        self.stream.depth -= 1
        return _BRANCHES[kind](pipe.at, pipe, body, otherwise)

    def otherwise(self, kind: Kind) -> Nodes:
        """What follows `else`: up to `end`, or another branch whose `end` is that of this one."""
        token = self.peek()
        if kind in (Kind.IF, Kind.WITH) and token.kind is kind:
            self.next_word()
            return Nodes(token.at, (self.branch(kind),))
        nodes, end = self.items()
        if end is not _END:
            raise self.error(f"expected end; found {end}")
        return nodes

    def block(self) -> Call:
        context = "block clause"
        token = self.next_word()
        name = self.template_name(token, context)
        pipe = self.pipeline(context, Kind.RIGHT_DELIM)
        self.deeper("blocks are nested too deeply")
        inner = _Tree(name, self.stream)
        nodes, end = inner.items()
        if end is not _END:
            raise self.error(f"unexpected {end} in {context}")
        inner.add(nodes)
        self.stream.depth -= 1
        return Call(token.at, name, pipe)

    def call(self) -> Call:
        context = "template clause"
        token = self.next_word()
        name = self.template_name(token, context)
        if self.next_word().kind is Kind.RIGHT_DELIM:
            return Call(token.at, name, None)
        self.back()
        return Call(token.at, name, self.pipeline(context, Kind.RIGHT_DELIM))

    def template_name(self, token: Token, context: str) -> str:
        if token.kind not in (Kind.STRING, Kind.RAW_STRING):
            raise self.unexpected(token, context)
        return self.unquoted(token)


_BRANCHES: Final[dict[Kind, type[If | With | Range]]] = {Kind.IF: If, Kind.WITH: With, Kind.RANGE: Range}

__all__ = ["trees"]

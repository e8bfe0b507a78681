"""From text to syntax tree, by recursive descent with bounds: chains do not recurse, nesting does so far.

The grammar is that of the CEL specification, with optional selection (`a.?b`, `a[?k]`, `[?e]`, `{?k: v}`) and quoted
fields (a word in backticks after a dot). Message literals are understood and refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from policy.cel import types
from policy.cel.error import CelError
from policy.cel.library import Macro
from policy.cel.syntax import (
    Branch,
    Call,
    Chain,
    Choice,
    Constant,
    Entry,
    Index,
    Item,
    ListOf,
    Logic,
    MapOf,
    Name,
    Node,
    Refused,
    Select,
    Step,
    Unary,
    children,
    place,
)
from policy.cel.tokens import END, Token, number, string, tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a text may be: characters, levels of nesting, words and signs."""

    length: int = 65_536
    depth: int = 100
    words: int = 20_000


RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace",
        "return", "var", "void", "while",
    }
)  # fmt: skip
LITERALS = {
    "true": (True, types.BOOL),
    "false": (False, types.BOOL),
    "null": (None, types.NULL),
}
LEVELS = ("||", "&&", "relation", "addition", "multiplication")
OPERATORS = {
    "||": 0, "&&": 1, "==": 2, "!=": 2, "<": 2, "<=": 2, ">": 2, ">=": 2, "in": 2, "+": 3, "-": 3, "*": 4, "/": 4, "%": 4,
}  # fmt: skip
NUMBER_TYPES = {"int": types.INT, "uint": types.UINT, "double": types.DOUBLE}

Macros = Mapping[tuple[str, bool], Macro]


def parse(text: str, macros: Macros, limits: Limits) -> Node:
    """The tree of a text, macros expanded. Raises CelError with the place and what was expected there."""
    if len(text) > limits.length:
        raise CelError(f"the expression has more than {limits.length} characters")
    try:
        tree = Parser(tokens(text, limits.words), macros, limits.depth).whole()
        _bound(tree, limits.depth)
    except Refused as refused:
        raise CelError(refused.message, *place(text, refused.at)) from None
    except RecursionError as error:
        raise CelError("the expression is nested too deeply") from error
    return tree


def _bound(tree: Node, deepest: int) -> None:
    """Refuse a tree that is higher than its text is nested, as `a.b().b().b()`: whoever walks it recurses."""
    level = [tree]
    for _ in range(deepest):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise Refused("the expression is nested too deeply", level[0].at)


class Parser:
    """One pass over the tokens. Macros use `fresh` to make nodes."""

    __slots__ = ("_ahead", "_deepest", "_depth", "_macros", "_made", "_next", "_tokens")

    def __init__(self, words: list[Token], macros: Macros, deepest: int) -> None:
        self._tokens = words
        self._next = 0
        self._ahead = words[0]
        self._macros = macros
        self._deepest = deepest
        self._depth = 0
        self._made = 0

    def fresh(self) -> int:
        """The id of a new node."""
        self._made += 1
        return self._made

    def whole(self) -> Node:
        """The tree of all tokens."""
        tree = self._expression()
        if self._ahead.kind != END:
            raise self._unexpected("an operator or the end")
        return tree

    def _take(self) -> Token:
        token = self._ahead
        self._next += 1
        self._ahead = self._tokens[self._next]
        return token

    def _accept(self, kind: str) -> bool:
        if self._ahead.kind == kind:
            self._take()
            return True
        return False

    def _expect(self, kind: str, wanted: str = "") -> Token:
        if self._ahead.kind != kind:
            raise self._unexpected(wanted or f"`{kind}`")
        return self._take()

    def _unexpected(self, wanted: str) -> Refused:
        token = self._ahead
        found = "the end" if token.kind == END else f"`{token.text[:40]}`"
        return Refused(f"the syntax is wrong here: expected {wanted}, found {found}", token.at)

    def _expression(self) -> Node:
        """A conditional, or what stands between its signs."""
        self._depth += 1
        if self._depth > self._deepest:
            raise Refused("the expression is nested too deeply", self._ahead.at)
        start = self._ahead.at
        value = self._binary()
        branches: list[Branch] = []
        while self._ahead.kind == "?":
            sign = self._take()
            chosen = self._binary()  # the grammar wants parentheses around a conditional in the middle
            self._expect(":", "`:`, and the value for the other case")
            branches.append(Branch(sign.at, value, chosen))
            value = self._binary()
        self._depth -= 1
        return Choice(self.fresh(), start, tuple(branches), value) if branches else value

    def _binary(self) -> Node:
        """Operators by precedence: one open chain per level, closed when a weaker operator comes."""
        operands: list[list[Node]] = [[] for _ in LEVELS]
        operators: list[list[Token]] = [[] for _ in LEVELS]
        value = self._operand()
        while True:
            level = OPERATORS.get(self._ahead.kind, -1)
            for stronger in range(len(LEVELS) - 1, level, -1):
                if operands[stronger]:
                    value = self._chain(stronger, [*operands[stronger], value], operators[stronger])
                    operands[stronger], operators[stronger] = [], []
            if level < 0:
                return value
            operands[level].append(value)
            operators[level].append(self._take())
            value = self._operand()

    def _chain(self, level: int, operands: list[Node], operators: list[Token]) -> Node:
        if LEVELS[level] in ("||", "&&"):
            return Logic(self.fresh(), operators[0].at, LEVELS[level], tuple(operands))
        signs = zip(operators, operands[1:], strict=True)
        steps = tuple(Step(self.fresh(), token.at, token.kind, operand) for token, operand in signs)
        return Chain(self.fresh(), operators[-1].at, operands[0], steps)

    def _operand(self) -> Node:
        """Signs, a primary, and all that is selected from it."""
        operators: list[Token] = []
        while self._ahead.kind in ("!", "-"):
            if self._ahead.kind == "-" and self._tokens[self._next + 1].kind in NUMBER_TYPES:
                break  # the minus belongs to the literal: the smallest integer has no positive twin
            operators.append(self._take())
            if operators[-1].kind != operators[0].kind:
                raise Refused("the syntax is wrong here: `!` and `-` need parentheses between them", operators[-1].at)
        value = self._members(self._primary())
        if len(operators) % 2:
            return Unary(self.fresh(), operators[0].at, operators[0].kind, value)
        if operators:  # an even number of signs: still an operation on a bool or a number
            inner = Unary(self.fresh(), operators[1].at, operators[1].kind, value)
            return Unary(self.fresh(), operators[0].at, operators[0].kind, inner)
        return value

    def _members(self, value: Node) -> Node:
        while True:
            token = self._ahead
            if token.kind == ".":
                value = self._member(self._take(), value)
            elif token.kind == "[":
                self._take()
                optional = self._accept("?")
                index = self._expression()
                self._expect("]")
                value = Index(self.fresh(), token.at, value, index, optional)
            elif token.kind == "{" and _names(value):
                raise Refused("message literals are not available: write a map, `{'field': value}`", token.at)
            else:
                return value

    def _member(self, dot: Token, value: Node) -> Node:
        if self._accept("?"):
            return Select(self.fresh(), dot.at, value, self._field("a field"), optional=True)
        word = self._ahead
        field = self._field("a field or a method")
        if word.kind == "name" and self._ahead.kind == "(":
            return self._call(word, value)
        return Select(self.fresh(), dot.at, value, field)

    def _field(self, wanted: str) -> str:
        token = self._ahead
        if token.kind == "quoted":
            return self._take().text[1:-1]
        if token.kind != "name" or token.text in LITERALS:
            raise self._unexpected(wanted)
        return self._take().text

    def _primary(self) -> Node:
        token = self._ahead
        match token.kind:
            case "name":
                return self._word(self._take())
            case "int" | "uint" | "double":
                self._take()
                return Constant(self.fresh(), token.at, number(token), NUMBER_TYPES[token.kind])
            case "-":
                self._take()
                digits = self._take()
                return Constant(self.fresh(), token.at, number(digits, negative=True), NUMBER_TYPES[digits.kind])
            case "text" | "raw":
                self._take()
                value = string(token)
                return Constant(self.fresh(), token.at, value, types.STRING if isinstance(value, str) else types.BYTES)
            case "(":
                self._take()
                inner = self._expression()
                self._expect(")")
                return inner
            case "[":
                return self._list(self._take())
            case "{":
                return self._map(self._take())
            case ".":
                self._take()
                word = self._expect("name", "a name")
                return self._word(Token("name", f".{word.text}", token.at))
        raise self._unexpected("an expression")

    def _word(self, token: Token) -> Node:
        if token.text in LITERALS:
            value, kind = LITERALS[token.text]
            return Constant(self.fresh(), token.at, value, kind)
        if token.text in RESERVED:
            raise Refused(f"`{token.text}` is a reserved word and no name", token.at)
        if self._ahead.kind == "(":
            return self._call(token, None)
        return Name(self.fresh(), token.at, token.text)

    def _call(self, name: Token, target: Node | None) -> Node:
        self._expect("(")
        arguments: list[Node] = []
        if self._ahead.kind != ")":
            arguments.append(self._expression())
            while self._accept(","):
                arguments.append(self._expression())
        self._expect(")", "`,` or `)`")
        call = Call(self.fresh(), name.at, name.text, target, tuple(arguments))
        macro = self._macros.get((name.text, target is not None))
        if macro is None or (macro.arguments and len(arguments) not in macro.arguments):
            return call
        return macro.expand(call, self.fresh) or call

    def _list(self, bracket: Token) -> Node:
        items: list[Item] = []
        while self._ahead.kind != "]":
            optional = self._accept("?")
            items.append(Item(self._expression(), optional))
            if not self._accept(","):
                break
        self._expect("]", "`,` or `]`")
        return ListOf(self.fresh(), bracket.at, tuple(items))

    def _map(self, brace: Token) -> Node:
        entries: list[Entry] = []
        while self._ahead.kind != "}":
            optional = self._accept("?")
            key = self._expression()
            self._expect(":", "`:` and the value of the key")
            entries.append(Entry(key, self._expression(), optional))
            if not self._accept(","):
                break
        self._expect("}", "`,` or `}`")
        return MapOf(self.fresh(), brace.at, tuple(entries))


def _names(value: Node) -> bool:
    """Is it a name, perhaps qualified, as stands before a message literal?"""
    while isinstance(value, Select) and not value.optional:
        value = value.operand
    return isinstance(value, Name)

"""Pipelines and what they consist of: declarations, commands, operands, terms."""

from typing import Final

from manager.render.gotemplate.lexer import Kind
from manager.render.gotemplate.nodes import (
    Bool,
    Chain,
    Command,
    Dot,
    Field,
    Identifier,
    Nil,
    Number,
    Operand,
    Pipe,
    String,
    Variable,
)
from manager.render.gotemplate.numbers import number
from manager.render.gotemplate.quote import Malformed, quote
from manager.render.gotemplate.reading import Reader, Stream

VARIABLES: Final = 1000
"""Variables that are visible in one place."""

_OPERANDS: Final = frozenset(
    {
        Kind.BOOL,
        Kind.CHAR_CONSTANT,
        Kind.COMPLEX,
        Kind.DOT,
        Kind.FIELD,
        Kind.IDENTIFIER,
        Kind.NUMBER,
        Kind.NIL,
        Kind.RAW_STRING,
        Kind.STRING,
        Kind.VARIABLE,
        Kind.LEFT_PAREN,
    }
)
_LITERALS: Final = (Bool, String, Number, Nil, Dot)


class Pipelines(Reader):
    """The pipelines of one template. `variables` are those that may be used now."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.variables = ["$"]

    def pipeline(self, context: str, end: Kind) -> Pipe:
        """Commands up to `end`, and the variables that get their value."""
        at = self.peek_word().at
        variables, assigns = self.declarations(context)
        commands: list[Command] = []
        while (token := self.next_word()).kind is not end:
            if token.kind not in _OPERANDS:
                raise self.unexpected(token, context)
            self.back()
            commands.append(self.command())
        if not commands:
            raise self.error(f"missing value for {context}")
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.args[0], _LITERALS):
                raise self.error(f"non executable command in pipeline stage {stage}")
        return Pipe(at, tuple(variables), assigns, tuple(commands))

    def declarations(self, context: str) -> tuple[list[Variable], bool]:
        """`$x :=`, `$x =`, and for ranges `$i, $x :=`."""
        variables: list[Variable] = []
        while (token := self.peek_word()).kind is Kind.VARIABLE:
            self.next_word()
            after = self.stream.at
            following = self.next_word()
            comma = following.kind is Kind.CHAR and following.text == ","
            if not comma and following.kind not in (Kind.ASSIGN, Kind.DECLARE):
                # A variable among the arguments; the space behind it counts.
                self.stream.at = after - 1
                break
            variables.append(Variable(token.at, (token.text,)))
            self.declare(token.text)
            if not comma:
                return variables, following.kind is Kind.ASSIGN
            if context != "range" or len(variables) > 1:
                raise self.error(f"too many declarations in {context}")
            if self.peek_word().kind not in (Kind.VARIABLE, Kind.RIGHT_DELIM, Kind.RIGHT_PAREN):
                raise self.error("range can only initialize variables")
        return variables, False

    def declare(self, name: str) -> None:
        """Another variable that may be used from here on."""
        if len(self.variables) == VARIABLES:
            raise self.error(f"more than {VARIABLES} variables")
        self.variables.append(name)

    def command(self) -> Command:
        """Operands up to the next `|` or the end of the pipeline."""
        at = self.peek_word().at
        args: list[Operand] = []
        while True:
            self.peek_word()
            operand = self.operand()
            if operand is not None:
                args.append(operand)
            token = self.next()
            if token.kind is Kind.SPACE:
                continue
            if token.kind in (Kind.RIGHT_DELIM, Kind.RIGHT_PAREN):
                self.back()
            elif token.kind is not Kind.PIPE:
                raise self.unexpected(token, "operand")
            break
        if not args:
            raise self.error("empty command")
        return Command(at, tuple(args))

    def operand(self) -> Operand | None:
        """A term, and the fields of it."""
        term = self.term()
        if term is None or self.peek().kind is not Kind.FIELD:
            return term
        at = self.peek().at
        names: list[str] = []
        while self.peek().kind is Kind.FIELD:
            names.append(self.next().text[1:])
        if isinstance(term, Field | Variable):
            return type(term)(at, (*term.names, *names))
        if isinstance(term, _LITERALS):
            raise self.error(f"unexpected . after term {quote(str(term))}")
        return Chain(at, term, tuple(names))

    def term(self) -> Operand | None:
        """A single expression; None where there is none."""
        token = self.next_word()
        match token.kind:
            case Kind.IDENTIFIER:
                if token.text not in self.stream.functions:
                    raise self.error(f"function {quote(token.text)} not defined")
                return Identifier(token.at, token.text)
            case Kind.DOT:
                return Dot(token.at)
            case Kind.NIL:
                return Nil(token.at)
            case Kind.VARIABLE:
                if token.text not in self.variables:
                    raise self.error(f"undefined variable {quote(token.text)}")
                return Variable(token.at, (token.text,))
            case Kind.FIELD:
                return Field(token.at, (token.text[1:],))
            case Kind.BOOL:
                return Bool(token.at, token.text == "true")
            case Kind.CHAR_CONSTANT | Kind.COMPLEX | Kind.NUMBER:
                try:
                    return number(token.at, token.text, token.kind)
                except Malformed as error:
                    raise self.error(str(error)) from None
            case Kind.LEFT_PAREN:
                self.deeper("max expression depth exceeded")
                pipe = self.pipeline("parenthesized pipeline", Kind.RIGHT_PAREN)
                self.stream.depth -= 1
                return pipe
            case Kind.STRING | Kind.RAW_STRING:
                return String(token.at, token.text, self.unquoted(token))
        self.back()
        return None


__all__ = ["Pipelines"]

"""Reading tokens: ahead, back, and the errors with the line of the last token that was read."""

from collections.abc import Container
from typing import Final

from manager.render.gotemplate.errors import TemplateError
from manager.render.gotemplate.lexer import Kind, Token
from manager.render.gotemplate.nodes import Nodes
from manager.render.gotemplate.quote import Malformed, unquote

NESTED: Final = 100
"""Blocks and parentheses within each other."""


class Stream:
    """What all trees of one text share: its tokens and where they are read, and the finished trees."""

    def __init__(self, name: str, tokens: list[Token], functions: Container[str]) -> None:
        self.name = name
        self.tokens = tokens
        self.functions = functions
        self.at = 0
        self.depth = 0
        self.trees: dict[str, Nodes] = {}


class Reader:
    """The tokens of one template while it is read."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.action = 0  # the line of the action that is being read
        self.reached = stream.at - 1
        self.line = 0

    def peek(self) -> Token:
        """The next token, which stays."""
        at = min(self.stream.at, len(self.stream.tokens) - 1)
        if at > self.reached:
            self.reached, self.line = at, self.stream.tokens[at].line
        return self.stream.tokens[at]

    def next(self) -> Token:
        """The next token."""
        token = self.peek()
        self.stream.at += 1
        return token

    def back(self) -> None:
        """One token back."""
        self.stream.at -= 1

    def next_word(self) -> Token:
        """The next token that is no space."""
        while (token := self.next()).kind is Kind.SPACE:
            pass
        return token

    def peek_word(self) -> Token:
        """The next token that is no space, which stays."""
        token = self.next_word()
        self.back()
        return token

    def expect(self, kind: Kind, context: str) -> Token:
        """The next word, which must be of this kind."""
        token = self.next_word()
        if token.kind is not kind:
            raise self.unexpected(token, context)
        return token

    def error(self, message: str) -> TemplateError:
        """The error, at the last token that was read."""
        name = self.stream.name
        return TemplateError(f"template: {name}:{self.line}: {message}", self.line, name=name)

    def unexpected(self, token: Token, context: str) -> TemplateError:
        """The error of a token that cannot stand here."""
        if token.kind is not Kind.ERROR:
            return self.error(f"unexpected {token} in {context}")
        started = ""
        if self.action not in (0, token.line):
            action = "" if token.text.endswith(" action") else " in action"
            started = f"{action} started at {self.stream.name}:{self.action}"
        return self.error(f"{token}{started}")

    def deeper(self, message: str) -> None:
        """One level deeper, if that is allowed."""
        self.stream.depth += 1
        if self.stream.depth > NESTED:
            raise self.error(message)

    def unquoted(self, token: Token) -> str:
        """What a string literal stands for."""
        try:
            return unquote(token.text)
        except Malformed as error:
            raise self.error(str(error)) from None


__all__ = ["NESTED", "Reader", "Stream"]

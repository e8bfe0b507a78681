"""The text of a template becomes tokens: text between actions, and words within them; the trim markers are gone."""

import unicodedata
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from manager.render.gotemplate.quote import printable, quote
from manager.render.gotemplate.value import encoded


class Kind(Enum):
    """What a token is."""

    ERROR = auto()
    EOF = auto()
    TEXT = auto()
    LEFT_DELIM = auto()
    RIGHT_DELIM = auto()
    SPACE = auto()
    BOOL = auto()
    CHAR = auto()  # a character that has no other meaning here, as a comma
    CHAR_CONSTANT = auto()
    NUMBER = auto()
    COMPLEX = auto()
    STRING = auto()
    RAW_STRING = auto()
    ASSIGN = auto()
    DECLARE = auto()
    FIELD = auto()
    IDENTIFIER = auto()
    VARIABLE = auto()
    PIPE = auto()
    LEFT_PAREN = auto()
    RIGHT_PAREN = auto()
    DOT = auto()
    # What follows are keywords.
    BLOCK = auto()
    BREAK = auto()
    CONTINUE = auto()
    DEFINE = auto()
    ELSE = auto()
    END = auto()
    IF = auto()
    NIL = auto()
    RANGE = auto()
    TEMPLATE = auto()
    WITH = auto()


_KEYWORDS: Final = {kind.name.lower(): kind for kind in Kind if kind.value >= Kind.BLOCK.value}
_SPACES: Final = " \t\r\n"
_ENDS: Final = " \t\r\n.,|:)("  # what may follow a word
_SINGLE: Final = {"=": Kind.ASSIGN, "|": Kind.PIPE}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. `at` counts characters from 0, `line` from 1. The text of an error is its message."""

    kind: Kind
    at: int
    text: str
    line: int

    def __str__(self) -> str:
        if self.kind in (Kind.EOF, Kind.ERROR):
            return self.text
        if self.kind in _WORDS:
            return f"<{self.text}>"
        return f"{quote(self.text[:10])}..." if len(encoded(self.text)) > 10 else quote(self.text)


_WORDS: Final = frozenset({*_KEYWORDS.values(), Kind.DOT})


class _Unclear(Exception):
    """The text cannot be read on from here."""


def tokens(text: str) -> list[Token]:
    """The tokens; the last one is EOF, or ERROR where the text cannot be read."""
    return _Lexer(text).all()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0  # the next character
        self.start = 0  # where the token began
        self.line = 1  # of `start`
        self.parens = 0
        self.made: list[Token] = []

    def all(self) -> list[Token]:
        try:
            while self._text():
                while not self._right_delim():
                    self._inside()
            self._emit(Kind.EOF, text="EOF")
        except _Unclear as error:
            self.made.append(Token(Kind.ERROR, self.start, str(error), self.line))
        return self.made

    def _emit(self, kind: Kind, *, text: str | None = None) -> None:
        piece = self.text[self.start : self.at]
        self.made.append(Token(kind, self.start, piece if text is None else text, self.line))
        self._skip()

    def _skip(self) -> None:
        self.line += self.text.count("\n", self.start, self.at)
        self.start = self.at

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _run(self, allowed: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in allowed:
            self.at += 1

    def _text(self) -> bool:
        """The text up to the next action, and its delimiter; false at the end."""
        while True:
            found = self.text.find("{{", self.at)
            end = len(self.text) if found < 0 else found
            trims = self.text[end + 2 : end + 3] == "-" and self.text[end + 3 : end + 4] in (*_SPACES,)
            self.at = self.start + len(self.text[self.start : end].rstrip(_SPACES)) if trims else end
            if self.at > self.start:
                self._emit(Kind.TEXT)
            self.at = end
            self._skip()
            if found < 0:
                return False
            after = end + (4 if trims else 2)
            if not self.text.startswith("/*", after):
                self.at = end + 2
                self._emit(Kind.LEFT_DELIM)
                self.at = after
                self._skip()
                self.parens = 0
                return True
            self.at = after
            self._skip()
            self._comment()

    def _comment(self) -> None:
        end = self.text.find("*/", self.at + 2)
        if end < 0:
            raise _Unclear("unclosed comment")
        self.at = end + 2
        size = self._delim_size()
        if not size:
            raise _Unclear("comment ends before closing delimiter")
        self.at += size
        if size > 2:
            self._run(_SPACES)
        self._skip()

    def _delim_size(self) -> int:
        """Characters of the right delimiter that is here, with its trim marker; 0 if there is none."""
        if self.text.startswith("}}", self.at):
            return 2
        return 4 if self._peek() in (*_SPACES,) and self.text.startswith("-}}", self.at + 1) else 0

    def _right_delim(self) -> bool:
        size = self._delim_size()
        if not size:
            return False
        if self.parens:
            raise _Unclear("unclosed left paren")
        if size > 2:
            self.at += 2
            self._skip()
        self.at += 2
        self._emit(Kind.RIGHT_DELIM)
        if size > 2:
            self._run(_SPACES)
            self._skip()
        return True

    def _inside(self) -> None:
        char = self._peek()
        self.at += 1
        if not char:
            self.at -= 1
            raise _Unclear("unclosed action")
        if char in _SPACES:
            self._space()
        elif char in _SINGLE:
            self._emit(_SINGLE[char])
        elif char == ":":
            if self._peek() != "=":
                raise _Unclear("expected :=")
            self.at += 1
            self._emit(Kind.DECLARE)
        elif char in "\"'":
            self._quoted(char)
        elif char == "`":
            end = self.text.find("`", self.at)
            if end < 0:
                raise _Unclear("unterminated raw quoted string")
            self.at = end + 1
            self._emit(Kind.RAW_STRING)
        elif char == "$":
            self._word(Kind.VARIABLE, Kind.VARIABLE)
        elif char == "." and self._peek() and not "0" <= self._peek() <= "9":
            self._word(Kind.FIELD, Kind.DOT)
        elif char in "+-." or "0" <= char <= "9":
            self.at -= 1
            self._number()
        elif _alphanumeric(char):
            self._identifier()
        elif char in "()":
            self._paren(char)
        elif char < "\x7f" and printable(char):
            self._emit(Kind.CHAR)
        else:
            raise _Unclear(f"unrecognized character in action: {_unicode(char)}")

    def _paren(self, char: str) -> None:
        self.parens += 1 if char == "(" else -1
        if self.parens < 0:
            raise _Unclear("unexpected right paren")
        self._emit(Kind.LEFT_PAREN if char == "(" else Kind.RIGHT_PAREN)

    def _space(self) -> None:
        self._run(_SPACES)
        if self.text.startswith("-}}", self.at):  # the last space belongs to the marker
            self.at -= 1
        if self.at > self.start:
            self._emit(Kind.SPACE)

    def _quoted(self, mark: str) -> None:
        what = "quoted string" if mark == '"' else "character constant"
        while (char := self._peek()) != mark:
            self.at += 1
            if char == "\\":
                char = self._peek()
                self.at += 1
            if char in ("", "\n"):
                raise _Unclear(f"unterminated {what}")
        self.at += 1
        self._emit(Kind.STRING if mark == '"' else Kind.CHAR_CONSTANT)

    def _word(self, kind: Kind, alone: Kind) -> None:
        """A field or a variable, whose first character has been read."""
        if self._at_end():
            self._emit(alone)
            return
        while _alphanumeric(self._peek()):
            self.at += 1
        self._need_end()
        self._emit(kind)

    def _identifier(self) -> None:
        while _alphanumeric(self._peek()):
            self.at += 1
        self._need_end()
        word = self.text[self.start : self.at]
        self._emit(Kind.BOOL if word in ("true", "false") else _KEYWORDS.get(word, Kind.IDENTIFIER))

    def _at_end(self) -> bool:
        return self._peek() in ("", *_ENDS) or self.text.startswith("}}", self.at)

    def _need_end(self) -> None:
        if not self._at_end():
            raise _Unclear(f"bad character {_unicode(self._peek())}")

    def _number(self) -> None:
        well, kind = self._scan(), Kind.NUMBER
        if well and self._peek() in ("+", "-"):
            well = self._scan() and self.text[self.at - 1] == "i"
            kind = Kind.COMPLEX
        if not well:
            raise _Unclear(f"bad number syntax: {quote(self.text[self.start : self.at])}")
        self._emit(kind)

    def _scan(self) -> bool:
        """Read what looks like a number; false when something else is attached to it. The parser looks closer."""
        self._accept("+-")
        digits, exponent = "0123456789_", "eE"
        if self._accept("0"):
            if self._accept("xX"):
                digits, exponent = "0123456789abcdefABCDEF_", "pP"
            elif self._accept("oO"):
                digits, exponent = "01234567_", ""
            elif self._accept("bB"):
                digits, exponent = "01_", ""
        self._run(digits)
        if self._accept("."):
            self._run(digits)
        if self._accept(exponent):
            self._accept("+-")
            self._run("0123456789_")
        self._accept("i")
        if _alphanumeric(self._peek()):
            self.at += 1
            return False
        return True

    def _accept(self, chars: str) -> bool:
        if self._peek() and self._peek() in chars:
            self.at += 1
            return True
        return False


def _alphanumeric(char: str) -> bool:
    return char == "_" or (char != "" and unicodedata.category(char) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))


def _unicode(char: str) -> str:
    """What `%#U` prints."""
    code = ord(char) if char else -1
    seen = f" '{char}'" if char and printable(char) else ""
    return f"U+{code & 0xFFFFFFFFFFFFFFFF:04X}{seen}"


__all__ = ["Kind", "Token", "tokens"]

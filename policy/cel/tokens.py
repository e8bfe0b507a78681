"""From text to tokens, and from literals to values."""

import re
from dataclasses import dataclass

from policy.cel.syntax import Refused
from policy.cel.values import UINT_MAX, UInt

_PATTERN = re.compile(
    r"""
      (?P<blank> [\t\n\f\r ]+ | //[^\n]* )
    | (?P<raw> (?:[rR][bB]?|[bB][rR]) (?: \"\"\"(?s:.)*?\"\"\" | '''(?s:.)*?''' | "[^"\n\r]*" | '[^'\n\r]*' ) )
    | (?P<text> [bB]? (?:
          \"\"\"(?s:\\.|[^\\])*?\"\"\" | '''(?s:\\.|[^\\])*?'''
        | "(?:\\[^\n\r]|[^"\\\n\r])*" | '(?:\\[^\n\r]|[^'\\\n\r])*' ) )
    | (?P<double> (?:[0-9]+)?\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+[eE][+-]?[0-9]+ )
    | (?P<uint> (?:0x[0-9a-fA-F]+|[0-9]+)[uU] )
    | (?P<int> 0x[0-9a-fA-F]+|[0-9]+ )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<quoted> `[A-Za-z0-9_.\-/ ]+` )
    | (?P<operator> && | \|\| | [=!<>]= | [-+*/%!<>?:.,()\[\]{}] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. `kind` is a group of the pattern; for operators and the word `in` it is the text itself."""

    kind: str
    text: str
    at: int


END = "the end"


def tokens(text: str, most: int) -> list[Token]:
    """The tokens, ended by one of kind END. Raises Refused for a character that begins none, or more than `most`."""
    found: list[Token] = []
    at = 0
    match = _PATTERN.match
    while at < len(text):
        piece = match(text, at)
        if piece is None:
            raise Refused(_unreadable(text, at), at)
        kind = piece.lastgroup or ""
        if kind != "blank":
            word = piece.group()
            found.append(Token(word if kind == "operator" or word == "in" else kind, word, at))
            if len(found) > most:
                raise Refused(f"the expression has more than {most} words and signs", at)
        at = piece.end()
    found.append(Token(END, "", len(text)))
    return found


def _unreadable(text: str, at: int) -> str:
    if text[at] in "\"'" or text[at : at + 2].lower() in ('r"', "r'", 'b"', "b'"):
        return "a string that begins here does not end, on this line or at all"
    if text[at] == "`":
        return "a quoted field holds letters, digits, `_`, `.`, `-`, `/` and spaces, and ends with a backtick"
    return f"no word or sign begins with {text[at]!r}"


def number(token: Token, *, negative: bool = False) -> int | UInt | float:
    """The value of a number literal, with the minus that stands before it. Raises Refused when it is out of range."""
    sign = -1 if negative else 1
    if token.kind == "double":
        return sign * float(token.text)
    digits = token.text.rstrip("uU")
    if len(digits) > 30:  # no 64 bits have more digits, and Python takes its time for thousands
        raise Refused("the number does not fit in 64 bits", token.at)
    value = int(digits, 16 if digits.startswith("0x") else 10)
    if token.kind == "uint":
        if value > UINT_MAX:
            raise Refused("the number does not fit in an unsigned integer of 64 bits", token.at)
        return UInt(value)
    if value > 2**63 - (not negative):
        raise Refused("the number does not fit in a signed integer of 64 bits", token.at)
    return sign * value


_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{2})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


def string(token: Token) -> str | bytes:
    """The value of a string or bytes literal. Raises Refused for an escape that there is not."""
    text = token.text
    start = 0
    while text[start] not in "\"'":
        start += 1
    binary = "b" in text[:start].lower()
    width = 3 if text[start : start + 3] in ('"""', "'''") and len(text) >= start + 6 else 1
    body = text[start + width : -width]
    if width == 3:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if token.kind == "raw" or "\\" not in body:
        return body.encode("utf-8", "surrogatepass") if binary else body
    return _bytes(body, token.at) if binary else _ESCAPE.sub(lambda found: _character(found, token.at), body)


def _character(found: re.Match[str], at: int) -> str:
    octal, hexadecimal, short, long, simple = found.groups()
    if simple is not None:
        if simple not in _SIMPLE:
            raise Refused(f"there is no escape `\\{simple}` in a string", at)
        return _SIMPLE[simple]
    code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise Refused("an escape of a string stands for no character", at)
    return chr(code)


def _bytes(body: str, at: int) -> bytes:
    made = bytearray()
    end = 0
    for found in _ESCAPE.finditer(body):
        made += body[end : found.start()].encode("utf-8", "surrogatepass")
        octal, hexadecimal, short, long, _ = found.groups()
        if short or long:
            raise Refused("bytes have no escapes `\\u` and `\\U`", at)
        if octal or hexadecimal:
            made.append(int(octal, 8) if octal else int(hexadecimal, 16))
        else:
            made += _character(found, at).encode()
        end = found.end()
    return bytes(made + body[end:].encode("utf-8", "surrogatepass"))

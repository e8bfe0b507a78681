"""What is wrong with a JSON text, in the words of Go's encoding/json, which clients of Kubernetes see."""

_SPACE = b" \t\r\n"
_HEX = b"0123456789abcdefABCDEF"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
END = "unexpected end of JSON input"
DEEPEST = 10_000


class _Wrong(Exception):
    pass


def fault(text: bytes) -> str:
    """The first fault of a text that is not JSON; for JSON, an empty string."""
    scanner = _Scanner(text)
    try:
        scanner.whole()
    except _Wrong as wrong:
        return str(wrong)
    return ""


class _Scanner:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> None:
        """A value, and nothing after it. The open containers are kept here, since text may be nested deeper than Python is."""
        open_: list[bool] = []  # True for an object
        while True:
            if self.value(open_):
                continue  # a container was opened: its first value, or its end
            while open_:
                letter = self.next()
                if letter == ord(","):
                    if open_[-1]:
                        self.key(self.next())
                    break
                if letter != ord("}" if open_[-1] else "]"):
                    raise self.wrong(letter, "after object key:value pair" if open_[-1] else "after array element")
                open_.pop()
            else:
                break
        self.space()
        if self.at < len(self.text):
            raise self.wrong(self.text[self.at], "after top-level value")

    def value(self, open_: list[bool]) -> bool:
        """Read a value. True when it is a container that has something in it, which comes next."""
        letter = self.next()
        if letter in (ord("{"), ord("[")):
            if len(open_) >= DEEPEST:
                raise self.wrong(letter, "exceeded max depth")
            return self.opened(open_, is_object=letter == ord("{"))
        if letter == ord('"'):
            self.string()
        elif letter in _LITERALS:
            self.literal(_LITERALS[letter])
        elif letter == ord("-") or chr(letter).isdigit():
            self.number(letter)
        else:
            raise self.wrong(letter, "looking for beginning of value")
        return False

    def opened(self, open_: list[bool], *, is_object: bool) -> bool:
        letter = self.next()
        if letter == ord("}" if is_object else "]"):
            return False
        open_.append(is_object)
        if is_object:
            self.key(letter)
        else:
            self.at -= 1
        return True

    def key(self, letter: int) -> None:
        if letter != ord('"'):
            raise self.wrong(letter, "looking for beginning of object key string")
        self.string()
        letter = self.next()
        if letter != ord(":"):
            raise self.wrong(letter, "after object key")

    def string(self) -> None:
        while True:
            letter = self.take()
            if letter == ord('"'):
                return
            if letter < 0x20:
                raise self.wrong(letter, "in string literal")
            if letter == ord("\\"):
                self.escape()

    def escape(self) -> None:
        letter = self.take()
        if letter == ord("u"):
            for _ in range(4):
                digit = self.take()
                if digit not in _HEX:
                    raise self.wrong(digit, "in \\u hexadecimal character escape")
        elif letter not in b'bfnrt\\/"':
            raise self.wrong(letter, "in string escape code")

    def literal(self, word: bytes) -> None:
        for expected in word[1:]:
            letter = self.take()
            if letter != expected:
                raise self.wrong(letter, f"in literal {word.decode()} (expecting '{chr(expected)}')")

    def number(self, letter: int) -> None:
        if letter == ord("-"):
            letter = self.take()
            if letter not in b"0123456789":
                raise self.wrong(letter, "in numeric literal")
        if letter != ord("0"):
            self.digits()
        if self.peek() == ord("."):
            self.at += 1
            self.some_digits("after decimal point in numeric literal")
        if self.peek() in (ord("e"), ord("E")):
            self.at += 1
            if self.peek() in (ord("+"), ord("-")):
                self.at += 1
            self.some_digits("in exponent of numeric literal")

    def some_digits(self, where: str) -> None:
        letter = self.take()
        if letter not in b"0123456789":
            raise self.wrong(letter, where)
        self.digits()

    def digits(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in b"0123456789":
            self.at += 1

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def next(self) -> int:
        self.space()
        return self.take()

    def take(self) -> int:
        if self.at >= len(self.text):
            raise _Wrong(END)
        self.at += 1
        return self.text[self.at - 1]

    def peek(self) -> int:
        return self.text[self.at] if self.at < len(self.text) else -1

    def wrong(self, letter: int, where: str) -> _Wrong:
        quoted = {ord("'"): "'\\''", ord('"'): "'\"'"}.get(letter)
        if quoted is None:
            shown = chr(letter)
            quoted = f"'{shown}'" if shown.isprintable() else f"'\\x{letter:02x}'"
            quoted = {9: "'\\t'", 10: "'\\n'", 13: "'\\r'", 92: "'\\\\'"}.get(letter, quoted)
        return _Wrong(f"invalid character {quoted} {where}")

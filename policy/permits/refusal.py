"""A client's mistake: what admission answers instead of doing what was asked."""


class Refused(Exception):
    """What was asked is not done.

    `code` is the HTTP status of the answer: 400 (not readable), 403 (not by this user), 409 (not now, or not what was seen),
    422 (not at all). The message names field and remedy; it holds no content of an object.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

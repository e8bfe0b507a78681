"""What one evaluation may cost: charged before the work is done, so that exceeding it takes neither time nor memory."""

from policy.cel.error import Exhausted

LIMIT = 1_000_000  # units, as Kubernetes allows for one expression
READ = 10  # characters or bytes that are looked at for one unit
GROWTH = 4  # characters or bytes that are made for one unit: 4 bytes each at worst
FAILURE = 50  # units for a failure that is absorbed: raising one takes as long as many steps
MESSAGE = "the expression costs more than its budget allows"


class Budget:
    """The units that are left. One belongs to one evaluation; nested evaluations may share it.

    Every method raises Exhausted when the units do not suffice, before anything is done.
    """

    __slots__ = ("left", "limit")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.left = limit

    @property
    def spent(self) -> int:
        """The units used so far."""
        return self.limit - self.left

    def charge(self, units: int) -> None:
        """Take units: one per item that is visited or made."""
        self.left -= units
        if self.left < 0:
            raise Exhausted(MESSAGE)

    def read(self, length: int) -> None:
        """Pay for looking at `length` characters or bytes."""
        self.left -= length // READ + 1
        if self.left < 0:
            raise Exhausted(MESSAGE)

    def grow(self, length: int) -> None:
        """Pay for making `length` characters or bytes."""
        self.left -= length // GROWTH + 1
        if self.left < 0:
            raise Exhausted(MESSAGE)

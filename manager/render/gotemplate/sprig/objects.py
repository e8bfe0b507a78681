"""The values of named Go types that sprig's functions answer: times, versions, certificates."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from manager.render.gotemplate.sprig import layouts
from manager.render.gotemplate.sprig.moments import MONTHS, WEEKDAYS, ZERO, Moment
from manager.render.gotemplate.sprig.versions import Version
from manager.render.gotemplate.value import Int64, Object, Uint64


class Written(Object):
    """An object that JSON can hold."""

    @abstractmethod
    def json(self) -> Any:
        """What stands for it in JSON."""


@dataclass(frozen=True, slots=True)
class Month(Object):
    """A `time.Month`; January is 1."""

    number: int

    gotype: ClassVar[str] = "time.Month"
    kind: ClassVar[str] = "int"

    def text(self) -> str:
        """Its English name."""
        return MONTHS[self.number - 1]


@dataclass(frozen=True, slots=True)
class Weekday(Object):
    """A `time.Weekday`; Sunday is 0."""

    number: int

    gotype: ClassVar[str] = "time.Weekday"
    kind: ClassVar[str] = "int"

    def text(self) -> str:
        """Its English name."""
        return WEEKDAYS[self.number]


@dataclass(frozen=True, slots=True)
class Time(Written):
    """A `time.Time`."""

    moment: Moment

    gotype: ClassVar[str] = "time.Time"

    def text(self) -> str:
        """As Go prints times."""
        return layouts.written(self.moment, "2006-01-02 15:04:05.999999999 -0700 MST")

    def json(self) -> str:
        """In the format of RFC 3339."""
        return layouts.written(self.moment, "2006-01-02T15:04:05.999999999Z07:00")

    def field(self, name: str) -> Any:
        """The parts of the date."""
        return _TIME[name](self.moment)


_TIME: Mapping[str, Callable[[Moment], Any]] = {
    "Year": lambda moment: moment.date.year,
    "Month": lambda moment: Month(moment.date.month),
    "Day": lambda moment: moment.date.day,
    "Weekday": lambda moment: Weekday(moment.weekday),
    "YearDay": lambda moment: moment.yearday,
    "Hour": lambda moment: moment.clock[0],
    "Minute": lambda moment: moment.clock[1],
    "Second": lambda moment: moment.clock[2],
    "Nanosecond": lambda moment: moment.nanos,
    "Unix": lambda moment: Int64(moment.seconds),
    "UnixMilli": lambda moment: Int64(moment.total // 1_000_000),
    "UnixMicro": lambda moment: Int64(moment.total // 1000),
    "UnixNano": lambda moment: Int64(moment.total),
    "UTC": lambda moment: Time(Moment(moment.seconds, moment.nanos)),
    "Local": lambda moment: Time(Moment(moment.seconds, moment.nanos)),
    "IsZero": lambda moment: moment.total == ZERO.total,
    "String": lambda moment: Time(moment).text(),
}


@dataclass(frozen=True, slots=True)
class SemVer(Written):
    """A `*semver.Version`."""

    version: Version

    gotype: ClassVar[str] = "*semver.Version"
    kind: ClassVar[str] = "ptr"

    def text(self) -> str:
        """The version, complete."""
        return str(self.version)

    def json(self) -> str:
        """The same text."""
        return str(self.version)

    def field(self, name: str) -> Any:
        """The parts of the version."""
        return _VERSION[name](self.version)


_VERSION: Mapping[str, Callable[[Version], Any]] = {
    "Major": lambda version: Uint64(version.major),
    "Minor": lambda version: Uint64(version.minor),
    "Patch": lambda version: Uint64(version.patch),
    "Prerelease": lambda version: version.pre,
    "Metadata": lambda version: version.metadata,
    "Original": lambda version: version.original,
    "String": str,
}

"""Whether a replica serves permits: where admission is served, and where it was before."""

from typing import Any, cast

import pytest

from manager.permits.desk import Permits
from manager.permits.keys import Keyring
from manager.run import Settings, _served


class Keys:
    """A keyring that says whether there are keys, and notes what it is asked."""

    def __init__(self, there: bool) -> None:
        self.made = there
        self.refreshed = 0

    async def there(self) -> bool:
        """As told."""
        return self.made

    async def refresh(self) -> None:
        """Read the keys, or make them."""
        self.refreshed += 1


async def _template_of(_kind: str, _namespace: str, _name: str) -> Any:
    raise AssertionError("nobody asks for a template at the start")


@pytest.mark.parametrize(
    ("admission_url", "there", "served"),
    [
        pytest.param("https://127.0.0.1:0", False, True, id="admission is served"),
        pytest.param("", True, True, id="without it, active permits of before must end"),
        pytest.param("", False, False, id="there never was any"),
    ],
)
async def test_permits_are_served_where_they_are_or_were_asked_for(admission_url: str, there: bool, served: bool) -> None:
    """A manager that is started without admission still takes back what it gave; where nothing was given it makes no keys."""
    keys = Keys(there)
    permits = Permits(cast(Keyring, keys), "copyhold-system", _template_of)
    found = await _served(permits, Settings(admission_url=admission_url))
    assert (found is permits) == served
    assert keys.refreshed == served

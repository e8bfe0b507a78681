"""ConfigMaps: keys, size, and immutability."""

from collections.abc import Iterator

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, secrets
from manager.embedded.status import Cause


def check(config: Manifest) -> Iterator[Cause]:
    """Keys of both kinds of data, which share their names and their size."""
    texts, binary = config.get("data", {}), config.get("binaryData", {})
    for key in texts:
        yield from secrets.config_key(key, "data")
        if key in binary:
            yield causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from secrets.config_key(key, "binaryData")
    total = sum(len(text.encode()) for text in texts.values()) + sum(map(secrets.size, binary.values()))
    if total > secrets.MOST_DATA:
        # The real server means the whole object, and writes it like this.
        yield causes.too_long("[]", secrets.MOST_DATA)


def check_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """Nothing of an immutable ConfigMap changes."""
    yield from secrets.check_fixed(new, old, "data", "binaryData")
    yield from metadata.standard_finalizers(new)
    yield from check(new)

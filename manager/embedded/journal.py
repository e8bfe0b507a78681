"""The store's changes on disk: a SQLite database in which every acknowledged write survives the process.

Guarantees
    `commit` returns when everything that the store had recorded is on disk, in one transaction: a process that is killed at any
    moment finds, when it starts again, all writes that were answered, and of a transaction everything or nothing.
    The database and its folder are for their owner alone: they hold Secrets, tokens and the key of the CA.
Caveats
    The only user of a database is one process, which a lock holds to.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

from manager.embedded.store import Change, Key, Kind, Store

FILE = "cluster.db"

_TABLES = """
CREATE TABLE IF NOT EXISTS object (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fact (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_PUT = "INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?"
_FACT = "INSERT OR REPLACE INTO fact VALUES (?, ?)"


class InUse(Exception):
    """Another process has this folder open."""


class Journal:
    """A folder's database. Raises InUse, or what the file system and SQLite say."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        path = folder / FILE
        # Made with its mode before SQLite opens it, which gives the same mode to the files beside it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
        # Commits run in a thread, one at a time.
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(_TABLES)

    def load(self, store: Store) -> None:
        """Fill an empty store with what was written."""
        store.restore(self._objects(), int(self.fact("revision") or b"0"))

    def fact(self, key: str) -> bytes | None:
        """Something about the cluster that is no object: its CA, its tokens."""
        row = self._database.execute("SELECT value FROM fact WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, key: str, value: bytes) -> None:
        """Write a fact; it is on disk when this returns."""
        self._database.execute(_FACT, (key, value))

    def commit(self, changes: Sequence[Change]) -> None:
        """Write changes, oldest first, in one transaction. It may run in a thread; only the newest state of an object counts."""
        newest = {change.stored.key: change for change in changes}
        puts = [(*key, change.revision, change.stored.raw) for key, change in newest.items() if change.kind is not Kind.DELETED]
        gone = [key for key, change in newest.items() if change.kind is Kind.DELETED]
        with closing(self._database.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                cursor.executemany(_PUT, puts)
                cursor.executemany(_DELETE, gone)
                cursor.execute(_FACT, ("revision", str(changes[-1].revision).encode()))
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the files."""
        self._database.close()
        self._lock.close()

    def _objects(self) -> Iterator[tuple[Key, int, bytes]]:
        for resource, namespace, name, revision, body in self._database.execute("SELECT * FROM object"):
            yield Key(resource, namespace, name), revision, body


def _locked(path: Path) -> IO[bytes]:
    handle = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        handle.close()
        raise InUse(f"{path.parent} is in use by another process") from error
    return handle

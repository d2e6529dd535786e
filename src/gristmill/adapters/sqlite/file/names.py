"""Small numbers for names that many rows share, remembered by the writing connection."""

from __future__ import annotations

import apsw

from gristmill.domain.log import NEVER_MS

__all__ = ["Names"]


class Names:
    """Looks names up and, inside a turn, gives new ones a number.

    Numbers are never reused, so what is remembered stays true; a rolled-back turn forgets what it added.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str, str], int] = {}
        self._added: list[tuple[str, str, str]] = []

    def topic(self, name: str) -> int:
        """Return the number of a topic, a new one if need be."""
        return self._number("topic", name)

    def owner(self, name: str) -> int:
        """Return the number of an owner, a new one if need be."""
        return self._number("owner", name)

    def generator(self, name: str) -> int:
        """Return the number of a generator, a new one if need be."""
        return self._number("generator", name)

    def space(self, name: str) -> int:
        """Return the number of a space of contributions, a new one if need be."""
        return self._number("space", name)

    def group(self, topic: str, name: str) -> int:
        """Return the number of a group, a new one at the oldest record of its topic if need be."""
        found = self.try_group(topic, name)
        if found is not None:
            return found
        self._connection.execute(
            "INSERT INTO grp(topic_id, name, passed, earliest_end_ms) "
            "SELECT topic_id, ?2, trimmed_count, ?3 FROM topic WHERE topic_id = ?1",
            (self.topic(topic), name, NEVER_MS),
        )
        return self._remember(("grp", topic, name), self._connection.last_insert_rowid())

    def try_topic(self, name: str) -> int | None:
        """Return the number of a topic that exists."""
        return self._try_number("topic", name)

    def try_owner(self, name: str) -> int | None:
        """Return the number of an owner that is known."""
        return self._try_number("owner", name)

    def try_group(self, topic: str, name: str) -> int | None:
        """Return the number of a group that has claimed before."""
        key = ("grp", topic, name)
        if key in self._known:
            return self._known[key]
        sql = "SELECT grp_id FROM grp JOIN topic USING(topic_id) WHERE topic.name = ?1 AND grp.name = ?2"
        found = self._connection.execute(sql, (topic, name)).get
        return None if found is None else self._remember(key, found)

    def keep(self) -> None:
        """The turn was committed."""
        self._added.clear()

    def forget_added(self) -> None:
        """The turn was rolled back."""
        for key in self._added:
            self._known.pop(key, None)
        self._added.clear()

    def _number(self, table: str, name: str) -> int:
        found = self._try_number(table, name)
        if found is not None:
            return found
        self._connection.execute(f"INSERT INTO {table}(name) VALUES(?)", (name,))
        return self._remember((table, name, ""), self._connection.last_insert_rowid())

    def _try_number(self, table: str, name: str) -> int | None:
        key = (table, name, "")
        if key in self._known:
            return self._known[key]
        found = self._connection.execute(f"SELECT {table}_id FROM {table} WHERE name = ?", (name,)).get
        return None if found is None else self._remember(key, found)

    def _remember(self, key: tuple[str, str, str], number: int) -> int:
        self._known[key] = number
        self._added.append(key)
        return number

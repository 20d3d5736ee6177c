"""The records that a row of a table is made from."""

from collections.abc import Sequence
from typing import Any

from slisde.experiments.record import Record


def distinct(records: Sequence[Record], key: str) -> list[Any]:
    """Return the values of a key, each once, in the order of the records.

    >>> distinct([{"arm": "b"}, {"arm": "a"}, {"arm": "b"}], "arm")
    ['b', 'a']
    """
    return list(dict.fromkeys(record[key] for record in records))


def matching(records: Sequence[Record], **wanted: Any) -> list[Record]:
    """Return the records that have the wanted values.

    >>> matching([{"arm": "a", "seed": 0}, {"arm": "b", "seed": 0}], arm="b")
    [{'arm': 'b', 'seed': 0}]
    """
    return [
        record for record in records if all(record[key] == value for key, value in wanted.items())
    ]

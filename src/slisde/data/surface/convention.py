"""The conventions by name."""

from enum import StrEnum
from pathlib import Path

from slisde.data.chain import Chain


class Convention(StrEnum):
    """How quotes become targets."""

    MARKET = "market"
    PAPER = "paper"
    AS_PUBLISHED = "as-published"

    def name_of(self, chain: Chain) -> str:
        """Return the name of a problem made of a chain: the file and the convention."""
        return f"{Path(chain.name).stem} {self.value}"

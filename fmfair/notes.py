"""Notes: what was decided, left out or assumed, in the order in which it happened."""

from __future__ import annotations

from fmfair.errors import plural


class Notes(list[str]):
    """A list of sentences in which nothing is said twice.

    Attributes:
        warnings: Those of the sentences that a function which returns one bare number must not keep to itself.
        least: The smallest number of rows that may be told; None for all.
    """

    def __init__(self, least: int | None = None) -> None:
        super().__init__()
        self.warnings: list[str] = []
        self.least = least

    def counted(self, rows: int, noun: str) -> str:
        """So many of a thing, or fewer than may be told.

        Examples:
            >>> Notes().counted(3, "row"), Notes(10).counted(3, "row"), Notes(10).counted(12, "row")
            ('3 rows', 'fewer than 10 rows', '12 rows')
        """
        return f"fewer than {self.least} {noun}s" if self.hides(rows) else plural(rows, noun)

    def hides(self, rows: int) -> bool:
        """Whether so few rows may not be told."""
        return self.least is not None and 0 < rows < self.least

    def say(self, sentence: str) -> None:
        """Note a sentence."""
        if sentence not in self:
            self.append(sentence)

    def warn(self, sentence: str) -> None:
        """Note a sentence that changes how the numbers must be read, such as rows left out."""
        if sentence not in self:
            self.warnings.append(sentence)
        self.say(sentence)

    def take(self, other: Notes) -> None:
        """Note all that another list holds, its warnings as warnings."""
        for sentence in other:
            (self.warn if sentence in other.warnings else self.say)(sentence)

"""Notes: what was decided, left out or assumed, in the order in which it happened."""

from __future__ import annotations


class Notes(list[str]):
    """A list of sentences in which nothing is said twice.

    Attributes:
        warnings: Those of the sentences that a function which returns one bare number must not keep to itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []

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

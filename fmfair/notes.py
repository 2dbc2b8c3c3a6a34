"""Notes: what was decided, left out or assumed, in the order in which it happened."""

from __future__ import annotations


class Notes(list[str]):
    """A list of sentences in which nothing is said twice."""

    def say(self, sentence: str) -> None:
        if sentence not in self:
            self.append(sentence)

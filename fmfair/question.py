"""The question behind an evaluation: a table, which column plays which part, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fmfair.options import Options, check_options

# The arguments that name columns, or are read together with the columns.
COLUMNS = (
    *("y_true", "y_score", "y_pred", "y_logit", "attributes", "by", "labels", "sample_id", "cluster", "weight"),
    "bins",
)


@dataclass(frozen=True)
class Question:
    """What `evaluate` was asked.

    Attributes:
        frame: The table, anything tabular.
        metadata: The table with the attributes, where there is one.
        on: What joins the two.
        given: The arguments that name columns, None where the user said nothing.
        options: All others.
    """

    frame: Any
    metadata: Any
    on: str | tuple[str, str] | None
    given: Mapping[str, Any]
    options: Options


def asked(frame: Any, metadata: Any = None, on: str | tuple[str, str] | None = None, **arguments: Any) -> Question:
    """The question behind the arguments of `evaluate`.

    Raises:
        FmfairError: An option has a value that is not known or does not make sense.
    """
    others = {name: value for name, value in arguments.items() if name not in COLUMNS or name == "bins"}
    options = check_options(**others)
    return Question(frame, metadata, on, {name: arguments.get(name) for name in COLUMNS}, options)

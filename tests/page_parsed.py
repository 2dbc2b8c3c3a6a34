"""A document of a report, taken apart: its tables and sentences, and whether their numbers are those of the frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

import fmfair
from fmfair.metrics.registry import REGISTRY
from fmfair.numerals import as_sentence, spoken

Row = Mapping[str, Any]
# Each begins a piece of text of its own.
PIECES = ("p", "li", "dt", "dd", "figcaption", "summary", "h1", "h2", "h3", "h4", "title", "desc", "text")
NUMBER = re.compile(r"(?P<side>(?:just )?(?:below|above) )?(?P<number>-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)")
# By its heading or its name in a sentence, which are those of one metric alone.
METRICS = {as_sentence(spoken(name)): name for name in REGISTRY}


@dataclass
class Piece:
    """A text or a table of the document.

    Attributes:
        tag: The element.
        text: Its text; of a table the caption.
        section: The key of its section.
        heads: The headings above it within the section, the innermost last.
        rows: The cells of a table, the heading first.
    """

    tag: str
    text: str
    section: str
    heads: tuple[str, ...]
    rows: list[list[str]] = field(default_factory=list)


class Document(HTMLParser):
    """The pieces of a document in their order, apart from style, script and navigation; drawings where `drawn`."""

    def __init__(self, text: str, *, drawn: bool = False) -> None:
        super().__init__()
        self.pieces: list[Piece] = []
        self._section, self._heads, self._skipped, self._drawn = "", ["", ""], 0, drawn
        self._piece: Piece | None = None
        self._table: Piece | None = None
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipped += self._is_skipped(tag)
        if tag == "section":
            self._section, self._heads = str(dict(attrs)["id"]), ["", ""]
        elif tag == "table":
            self._table = self._new(tag)
        elif tag == "caption":
            self._piece = self._table
        elif tag == "tr" and self._table is not None:
            self._table.rows.append([])
        elif tag in ("th", "td") and self._table is not None:
            self._table.rows[-1].append("")
            self._cell = True
        elif tag in PIECES and not self._skipped:
            self._piece = self._new(tag)

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= self._is_skipped(tag)
        if tag in ("h3", "h4") and self._piece is not None:
            self._heads = [self._piece.text, ""] if tag == "h3" else [self._heads[0], self._piece.text]
        if tag in (*PIECES, "caption"):
            self._piece = None
        self._cell = self._cell and tag not in ("th", "td")
        self._table = None if tag == "table" else self._table

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._cell and self._table is not None:
            self._table.rows[-1][-1] += data
        elif self._piece is not None:
            self._piece.text += data

    def tables(self) -> Iterator[Piece]:
        """The tables."""
        return (piece for piece in self.pieces if piece.tag == "table")

    def _is_skipped(self, tag: str) -> bool:
        return tag in ("style", "script", "nav") or (tag == "svg" and not self._drawn)

    def _new(self, tag: str) -> Piece:
        self.pieces.append(Piece(tag, "", self._section, tuple(self._heads)))
        return self.pieces[-1]


@dataclass(frozen=True)
class Shown:
    """A number as it is shown: the text stands for every number between `low` and `high`."""

    text: str
    low: float
    high: float

    def stands_for(self, value: float, *, percent: bool) -> bool:
        """Whether a number of the frames is shown so."""
        scaled = 100 * value if percent else value
        return self.low - 1e-9 <= scaled <= self.high + 1e-9


def numbers_in(text: str) -> list[Shown]:
    """The numbers of a text, in their order."""
    found = []
    for match in NUMBER.finditer(text):
        number = match["number"].replace(",", "")
        value, decimals = float(number), len(number.partition("e")[0].partition(".")[2])
        step = 10.0**-decimals
        low, high = value - step / 2, value + step / 2
        if match["side"] in ("below ", "above "):  # next to an edge that it is not, such as 0 or 100 %
            low, high = (value - step, value) if match["side"] == "below " else (value, value + step)
        found.append(Shown(match[0], low, high))
    return found


def check(text: str, expected: Sequence[tuple[float, bool] | int], where: str) -> None:
    """That a text holds these numbers, in this order and no others.

    Args:
        text: What is shown.
        expected: Numbers of the frames: a whole number for a count, else the number and whether it is in per cent.
        where: What is told if not.
    """
    found = numbers_in(text)
    assert len(found) == len(expected), f"{where}: {text!r} holds {[n.text for n in found]}, expected {expected}"
    for number, wanted in zip(found, expected, strict=True):
        value, percent = wanted if isinstance(wanted, tuple) else (float(wanted), False)
        exact = isinstance(wanted, tuple) or re.fullmatch(r"[\d,]+", number.text)
        assert exact, f"{where}: {number.text} in {text!r} is no count"
        assert number.stands_for(value, percent=percent), f"{where}: {number.text} in {text!r} is not {value}"


def without(text: str, *names: str) -> str:
    """A text without names, the longest first, so that their digits are no numbers of the report."""
    for name in sorted((name for name in names if name), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "~", text)
    return text


def in_percent(metric: str) -> bool:
    """Whether the values of a metric are shares of rows."""
    return metric in REGISTRY and REGISTRY[metric].interval == "proportion"


def carrier(row: Row) -> int:
    """The count that carries a value: of a metric of both classes the rarer one."""
    known = REGISTRY[row["metric"]]
    both = known.family in ("ranking", "calibration") or row["metric"] in ("balanced_accuracy", "mcc")
    return int(min(row["n_pos"], row["n"] - row["n_pos"]) if both else row["denominator"])


def limits(row: Row, low: str = "ci_low", high: str = "ci_high") -> list[tuple[float, bool]]:
    percent = in_percent(row["metric"])
    return [] if row.get(low) is None else [(row[low], percent), (row[high], percent)]


def is_open(row: Row) -> bool:
    """Whether counts leave a value open by more than a rounding."""
    return row.get("bound_low") is not None and row["bound_high"] - row["bound_low"] >= 0.0005


def named(row: Row) -> str:
    """A group as sentences name it: with its attribute where it has no letters."""
    letters = any(character.isalpha() for character in row["group"])
    return str(row["group"]) if letters else f"{row['attribute']} {row['group']}"


def check_value(text: str, row: Row, where: str) -> None:
    """A value with its interval and the counts that it is a share of, or why there is none."""
    if row["value"] is None:
        assert text in ("suppressed", f"not defined: {row['note']}"), where
        return
    percent = in_percent(row["metric"])
    exact = percent and row["weight_sum"] is None and not is_open(row) and row["denominator"] is not None
    share: list[Any] = [round(row["value"] * row["denominator"]), row["denominator"]] if exact else []
    if row.get("mark") == "counts only":
        check(text, share or [carrier(row)], where)
        return
    said = [(row["value"], percent), *limits(row), *(limits(row, "bound_low", "bound_high") if is_open(row) else [])]
    check(text, [*said, *share], where)


def check_positives(text: str, row: Row, where: str) -> None:
    if row["n_pos"] is None:
        assert text == "suppressed", where
    else:
        check(text, [row["n_pos"], (row["n_pos"] / row["n"], True)], where)


def check_count(text: str, row: Row, name: str, where: str) -> None:
    if row[name] is None:
        assert text == ("suppressed" if row["note"] == "suppressed" else "\N{EN DASH}"), where
    else:
        check(text, [row[name]], where)


def check_threshold(text: str, row: Row, where: str) -> None:
    rule = row["threshold_rule"]
    if rule is None or rule == "y_pred":
        assert text == ("decisions as given" if rule else ""), where
        return
    text = text.removesuffix(f" ({rule})") if rule != "fixed" else text
    assert text == "-" if row["threshold"] is None else float(text) == pytest.approx(row["threshold"], rel=5e-4), where


def check_p(text: str, p: float | None, where: str) -> None:
    if p is None:
        assert text == "\N{EN DASH}", where
    elif text.startswith(("<", ">")):
        assert (p < 0.001) if text == "< 0.001" else (p > 0.99 and text == "> 0.99"), where
    else:
        check(text, [(p, False)], where)


class View:
    """The frames of one by-key as rows, and those at the threshold of the summary."""

    def __init__(self, report: fmfair.Report, keys: Sequence[str], key: tuple[Any, ...]) -> None:
        self.title = ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True))
        self.key, self.level, self.margins = key, report.metadata["ci"], report.metadata["margins"]
        here = [pl.col(name).eq_missing(value) for name, value in zip(keys, key, strict=True)]
        for name, frame in report._frames().items():
            setattr(self, name, (frame.filter(here) if here else frame).to_dicts())
        self._shown: dict[str, list[Row]] = {}
        self.everything: list[Row] = self.overall  # type: ignore[attr-defined]
        cuts = [(row["attribute"], row.get("threshold"), row.get("threshold_rule")) for row in self.summary]  # type: ignore[attr-defined]
        self._cuts = {attribute: cut for attribute, *cut in cuts}
        self._first = next(iter(self._cuts.values()), [None, None])

    def at_summary(self, frame: str) -> list[Row]:
        """The rows of a frame without those at other thresholds."""

        def fits(row: Row) -> bool:
            cut = self._cuts[row["attribute"]] if "attribute" in row else self._first
            return row["threshold_rule"] is None or [row["threshold"], row["threshold_rule"]] == cut

        if frame not in self._shown:
            self._shown[frame] = [row for row in getattr(self, frame) if fits(row)]
        return self._shown[frame]

    def one(self, frame: str, **where: Any) -> dict[str, Any]:
        """The row at the threshold of the summary; an error unless there is exactly one."""
        found = [
            dict(row) for row in self.at_summary(frame) if all(row[name] == value for name, value in where.items())
        ]
        assert len(found) == 1, (frame, where, len(found))
        return found[0]

    def difference(self, attribute: str, metric: str) -> dict[str, Any]:
        """The difference that is told: the gap, or where an end has counts only the largest pair of the others."""
        gap = self.one("gaps", attribute=attribute, metric=metric, statistic="difference")
        here = {"attribute": attribute, "metric": metric}
        groups = [row for row in self.at_summary("groups") if here.items() <= row.items()]
        small = {row["group"] for row in groups if row.get("mark") == "counts only"}
        if not small & {gap["worst_group"], gap["best_group"]}:
            return gap
        nothing = {name: None for name in gap if name not in (*here, "threshold", "threshold_rule", "statistic")}
        pairs = [
            row
            for row in (self.at_summary("pairs") if hasattr(self, "pairs") else [])
            if here.items() <= row.items()
            and row["difference"] is not None
            and not small & {row["group"], row["other_group"]}
        ]
        if not pairs:
            few, end = "fewer than two groups have more than counts", "a group at one end has counts only"
            return {**gap, **nothing, "note": few if hasattr(self, "pairs") else end}
        pair = max(pairs, key=lambda row: abs(row["difference"]))
        limits = (pair["ci_low"], pair["ci_high"])
        ends = [pair["other_group"], pair["group"]]
        if pair["difference"] < 0:
            limits, ends = (-limits[1], -limits[0]), ends[::-1]
        several = len({row[end] for row in pairs for end in ("group", "other_group")})
        low = 0.0 if several > 2 and pair["p_holm"] >= 0.05 else max(limits[0], 0.0)
        if REGISTRY[metric].direction == "lower":
            ends = ends[::-1]
        found = {"value": abs(pair["difference"]), "ci_low": low, "ci_high": limits[1], "p_value": pair["p_holm"]}
        told = {"worst_group": ends[0], "best_group": ends[1], "n_groups": several, "verdict": pair["verdict"]}
        return {**gap, **nothing, **found, **told, "note": pair["note"]}


def views_of(report: fmfair.Report) -> dict[str, View]:
    """The by-keys of a report by their titles; one without a title where there are none."""
    keys = report._by()
    rows = report.overall.select(keys).unique(maintain_order=True).rows() if keys else [()]
    views = [View(report, keys, row) for row in rows]
    return {view.title if len(views) > 1 else "": view for view in views}

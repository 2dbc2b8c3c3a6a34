"""The tables of a document that hold no results: what was stated, how the numbers were made, and fixed texts."""

from __future__ import annotations

import re

from page_parsed import Piece, check, in_percent, numbers_in

import fmfair
from fmfair.metrics.registry import REGISTRY
from fmfair.page.sections import crosswalk, methods


class Facts:
    """These tables of one document, beside the metadata of its report; a method for each kind."""

    def __init__(self, report: fmfair.Report) -> None:
        self.report, self.classes = report, report.metadata["task"] == "classification"

    def stated(self, piece: Piece) -> None:
        """What was stated, the thresholds, and the margins."""
        found = dict(piece.rows[1:])
        margins = self.report.metadata["margins"]
        expected = [(value, in_percent(metric)) for metric, value in margins.items()]
        check(found.pop("Differences that matter (margins)"), expected, piece.text)
        cuts = {(r["threshold"], r["threshold_rule"]) for r in self.report.overall.to_dicts() if "threshold_rule" in r}
        known = [f"{value:.4g}" if rule == "fixed" else f"{value:.4g} ({rule})" for value, rule in cuts if value]
        said = found.pop("Thresholds")
        assert set(said.split(", ")) == (set(known) or {"none" if not self.classes else "decisions as given"})
        assert not any(numbers_in(text) for text in found.values())

    def made(self, piece: Piece) -> None:
        found = dict(piece.rows[1:])
        check(found["Rows evaluated, over all by-keys"], [self.report.metadata["n_samples"]], piece.text)
        facts = self.report.metadata
        assert found["Evaluated"] == facts["evaluated"]
        assert found["Evaluated with"] == ", ".join(f"{name} {number}" for name, number in facts["versions"].items())

    def inputs(self, piece: Piece) -> None:
        told = [(name, table, digest) for name, table, digest in piece.rows[1:]]
        assert told == [(one["name"], one["table"], one["sha256"]) for one in self.report.metadata["inputs"]]

    def options(self, piece: Piece) -> None:
        facts = self.report.metadata
        columns = {f"column {role}": column for role, column in facts["columns"].items()}
        for name, text in piece.rows[1:]:
            value = columns.get(name, facts.get(name))
            expected = numbers_in(str(value))
            assert [n.text for n in numbers_in(text)] == [n.text for n in expected], (name, text, value)

    def hashes(self, piece: Piece) -> None:
        for name, rows, digest in piece.rows[1:]:
            check(rows, [self.report._frames()[name].height], piece.text)
            assert re.fullmatch(r"[0-9a-f]{64}", digest)

    def words(self, piece: Piece) -> None:
        """Tables of fixed texts: definitions and the items of guidelines."""
        if piece.text == "Metrics":
            names = self.report.overall["metric"].unique()
            known = {REGISTRY[name].title: REGISTRY[name] for name in names}
            for title, definition, span, *_ in piece.rows[1:]:
                metric = known[title]
                assert definition == metric.definition
                check(span, [int(v) for v in (metric.low, metric.high) if v is not None], title)
        elif piece.text == "Statistics of gaps":
            assert {row[2] for row in piece.rows[1:]} <= set(methods._STATISTICS.values())
        elif piece.text == "Guidelines and sections":
            assert [row[1] for row in piece.rows[1:]] == [item.item for item in crosswalk._ITEMS]
        else:
            assert not [cell for row in piece.rows[1:] for cell in row[1:] if numbers_in(cell)]

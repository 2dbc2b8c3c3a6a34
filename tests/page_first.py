"""The first page beside the frames: the numbers of the lines of its answer, and of the cells of its table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from page_parsed import Piece, Row, View, carrier, check, in_percent, named, numbers_in, without

import fmfair
from fmfair.marks import MARKS
from fmfair.numerals import as_sentence
from fmfair.page.material import Material, material_of
from fmfair.page.plain import title
from fmfair.page.plan import plan_of
from fmfair.page.screening import screen
from fmfair.page.telling import GLOSSES, result_name, told_metrics

Expected = list[tuple[float, bool] | int]


class FirstPage:
    """The answer and the table of one document."""

    def __init__(self, of: Material, views: Sequence[View], names: Sequence[str]) -> None:
        self.of, self.found, self.metrics = of, screen(of), told_metrics(of)
        self.views = list(views)
        self.results = [result_name(view) for view in of.views]
        self.names = [*names, *self.results, *map(as_sentence, self.results)]

    def plain(self, text: str) -> str:
        """A text without names, levels and what words mean."""
        for gloss in GLOSSES.values():
            text = text.replace(f" ({gloss})", "")
        return re.sub(r"\b95% interval\b", "interval", without(text, *self.names))

    def gap(self, position: int, attribute: str, metric: str) -> Row:
        return self.views[position].difference(attribute, metric)

    def told(self, metric: str, value: float) -> tuple[float, bool]:
        """A value as it is told: of specificity what it lacks to 1."""
        return (1 - value if metric == "tnr" else value, in_percent(metric))

    def end(self, position: int, row: Row, end: str, *, counted: bool) -> Expected:
        """The value of a group at an end and its count, or of few only this."""
        where = {"attribute": row["attribute"], "metric": row["metric"], "group": row[f"{end}_group"]}
        group = self.views[position].one("groups", **where)
        if carrier(group) < min(MARKS):
            return [carrier(group)]
        return [self.told(row["metric"], group["value"]), *([carrier(group)] if counted else [])]

    def limits(self, row: Row) -> Expected:
        percent = in_percent(row["metric"])
        return [] if row.get("ci_low") is None else [(row["ci_low"], percent), (row["ci_high"], percent)]

    def still_possible(self, row: Row) -> Expected:
        margin, percent = self.of.metadata["margins"].get(row["metric"]), in_percent(row["metric"])
        excluded = margin is not None and row["ci_high"] < margin
        return [(row["ci_high"], percent), *([(margin, percent)] if excluded else [])]

    # The lines of the answer.

    def line(self, piece: Piece) -> None:
        head, _, said = piece.text.partition(". ")
        text = self.plain(said)
        if head == "How sure":
            self.sure(said, text)
        elif head == "Overall":
            self.overall(said)
        elif head == "More":
            check(text, [len({key[:2] for key in self.found.passed}) - 3], said)
        else:
            self.attribute(head, said, text)

    def sure(self, said: str, text: str) -> None:
        if said.startswith("Without"):
            assert not numbers_in(text)
            return
        many: Expected = [self.found.compared] if self.found.compared > 1 else []
        check(text, [95, 100, *many, *([1, 10] if self.found.passed else [])], said)

    def overall(self, said: str) -> None:
        """A sentence for each metric, and what the rates mean for 1,000, which is checked elsewhere."""
        said = re.sub(r" Of [\d,]+ such .*", "", said)
        for metric, sentence in zip(self.metrics, re.split(r"(?<=\.) (?=[A-Z])", said), strict=True):
            rows = [view.one("overall", metric=metric) for view in self.views]
            known = [row for row in rows if row["value"] is not None]
            if len(rows) > 1:
                values = sorted(self.told(metric, row["value"]) for row in known)
                lacking: Expected = [len(known), len(rows)] if len(known) < len(rows) else []
                check(self.plain(sentence), [values[0], values[-1], *lacking], sentence)
                continue
            (row,) = rows
            ends = sorted(self.told(metric, row[end]) for end in ("ci_low", "ci_high") if row.get(end) is not None)
            between = [
                (row[end], in_percent(metric)) for end in ("bound_low", "bound_high") if "leave open" in sentence
            ]
            check(self.plain(sentence), [self.told(metric, row["value"]), *ends, *between, carrier(row)], sentence)

    def attribute(self, head: str, said: str, text: str) -> None:
        name, _, result = head.partition(", ")
        attribute = next(one for one in self.of.attributes if as_sentence(one) == name)
        if "Not compared: " in said:
            assert said == f"Not compared: {self.gap(0, attribute, self.metrics[0])['note']}."
            return
        position = self.results.index(result) if result in self.results else -1
        keys = [(position, attribute, metric) for metric in self.metrics]
        passed = [key for key in keys if key in self.found.passed]
        check(text, self._difference(keys, passed) if passed else self._bounds(attribute), said)

    def _difference(self, keys: Sequence[tuple[int, str, str]], passed: Sequence[tuple[int, str, str]]) -> Expected:
        expected: Expected = []
        first = self.gap(*passed[0])
        for key in passed:
            row = self.gap(*key)
            turned = row["best_group"] == first["worst_group"]
            for end in ("best", "worst") if turned else ("worst", "best"):
                expected += self.end(key[0], row, end, counted=False)
            expected += [row["n_groups"]] if row["n_groups"] > 2 else []
            expected += [(row["value"], in_percent(key[2])), *self.limits(row)]
        for key in keys:
            row = self.gap(*key)
            if key not in passed and row["value"] is not None:
                shown = row["ci_low"] > 0
                expected += (
                    [(row["value"], in_percent(key[2])), *self.limits(row)] if shown else self.still_possible(row)
                )
        return expected

    def _bounds(self, attribute: str) -> Expected:
        """The largest difference that is possible in the results of which no other line speaks."""
        told = {position for position, of, _ in self.found.passed if of == attribute}
        expected: Expected = []
        for metric in self.metrics:
            rows = [self.gap(at, attribute, metric) for at in range(len(self.views)) if at not in told]
            highs = [row["ci_high"] for row in rows if row.get("ci_high") is not None]
            expected += [(max(highs), in_percent(metric))] if highs else []
        return expected

    # The table.

    def table(self, piece: Piece) -> None:
        names = {f"{as_sentence(result)}\n{title(m)}" if result else as_sentence(title(m)): (at, m)
                 for at, result in enumerate(self.results) for m in self.metrics}  # fmt: skip
        alone = {names[row[0]][0] for row in piece.rows[1:] if row[0] in names}
        for head, *cells in piece.rows[1:]:
            for column, cell in zip(piece.rows[0][1:], cells, strict=True):
                attribute = next(one for one in self.of.attributes if as_sentence(one) == column)
                if head in names:
                    self.cell(cell.split("\n"), (names[head][0], attribute, names[head][1]))
                else:
                    rest = [at for at in range(len(self.views)) if at not in alone]
                    metric = next(metric for metric in self.metrics if head.endswith(title(metric)))
                    check(head, [len(rest)], head)
                    self.together(cell, [(at, attribute, metric) for at in rest])

    def cell(self, lines: Sequence[str], key: tuple[int, str, str]) -> None:
        position, _, metric = key
        row, (verdict, said, *ends) = self.gap(*key), lines
        assert (verdict.startswith("Difference")) == (key in self.found.passed), lines
        if row["value"] is None:
            assert [verdict, said, *ends] == ["Not compared", row["note"]]
            return
        value = (row["value"], in_percent(metric))
        if verdict == "No difference shown":
            assert row["ci_low"] <= 0
            check(self.plain(said), self.still_possible(row), said)
        elif verdict == "The data cannot tell" and row.get("ci_low") is not None:
            assert said.endswith("percentage points") or "margin" in said
        else:
            chance = row.get("chance_gap") if row["n_groups"] > 2 and row.get("ci_low") is not None else None
            usual: Expected = [] if chance is None else [(chance, in_percent(metric))]
            check(self.plain(said), [value, *self.limits(row), *usual], said)
        both = [number for end in ("worst", "best") for number in self.end(position, row, end, counted=True)]
        check(self.plain(ends[0]), both, ends[0])

    def together(self, cell: str, keys: Sequence[tuple[int, str, str]]) -> None:
        rows: Mapping[tuple[int, str, str], Row] = {key: self.gap(*key) for key in keys}
        defined = {key: row for key, row in rows.items() if row["value"] is not None and key not in self.found.passed}
        sure = [row for row in defined.values() if row.get("ci_low") is not None]
        counts = [
            sum(key in self.found.passed for key in keys),
            sum(row["ci_low"] > 0 for row in sure),
            sum(row["ci_low"] <= 0 for row in sure),
            len(defined) - len(sure),
            sum(row["value"] is None for row in rows.values()),
        ]
        highs = [(row["ci_high"], in_percent(row["metric"])) for row in sure if row["ci_low"] <= 0]
        ends: Expected = [min(highs), max(highs)] if highs else []
        check(cell, [n for count in counts if count for n in (count, len(keys))] + ends, cell)


def results_numbers(of: Material) -> Expected:
    """How many results there are, and of how many values of each by-key."""
    kinds: Expected = [len({view.key[key] for view in of.views}) for key in of.keys]
    return kinds if len(kinds) == 1 else [len(of.views), *kinds]


def short_title(keys: Sequence[str], view: View) -> str:
    """A by-key as the first page names it."""
    return ", ".join(named({"attribute": k, "group": str(value)}) for k, value in zip(keys, view.key, strict=True))


def first_page(report: fmfair.Report, plan: Mapping[str, Any], views: Iterable[View]) -> FirstPage:
    """The first page of the document of a report."""
    groups = report.groups.unique(["attribute", "group"]).to_dicts()
    names = [*map(named, groups), *(row["group"] for row in groups if not row["group"].isdigit())]
    of = material_of(report._frames(), report.notes, report.metadata, plan_of(plan))
    return FirstPage(of, list(views), names)

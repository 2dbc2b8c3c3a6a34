"""Every number in every sentence of the document is that of the frames; none is left that nothing accounts for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from page_checked import PLAN
from page_first import first_page, results_numbers
from page_parsed import (
    METRICS,
    Document,
    Piece,
    Row,
    View,
    carrier,
    check,
    check_p,
    in_percent,
    limits,
    named,
    numbers_in,
    views_of,
    without,
)
from test_page_numbers import REPORTS, page_of, tables_alone  # noqa: F401  # a fixture of every test here

import fmfair
from fmfair.marks import MARKS
from fmfair.numerals import as_sentence
from fmfair.page.material import material_of
from fmfair.page.plan import plan_of
from fmfair.page.screening import screen
from fmfair.page.sections.limits import n_comparisons
from fmfair.page.telling import GLOSSES, result_name, told_metrics

Expected = list[tuple[float, bool] | int]
SPOKEN = sorted(METRICS, key=len, reverse=True)


class Said:
    """The sentences of one document beside the frames of its report."""

    def __init__(self, report: fmfair.Report) -> None:
        self.report, self.views = report, views_of(report)
        self.of = material_of(report._frames(), report.notes, report.metadata, plan_of(PLAN))
        self.found = screen(self.of)
        rows = report.groups.unique(["attribute", "group"]).to_dicts()
        self.single = {row["attribute"] for row in rows if len(row["attribute_parts"]) == 1}
        self.names = [*self.views, *map(named, rows), *(row["group"] for row in rows if not row["group"].isdigit())]
        self.first = first_page(report, PLAN, self.views.values())

    def piece(self, piece: Piece) -> None:
        """Every sentence with a number is of a kind that is known, and its numbers are those of the frames."""
        text = self._plain(piece.text)
        if piece.section == "summary" and piece.tag == "li" and piece.heads[0] == "":
            self.first.line(piece)
            if not re.search(r"Of [\d,]+ such ", piece.text):
                return
        if not numbers_in(text) or self._is_stored(piece.text):
            return
        for pattern, method in KINDS.items():
            if re.search(pattern, piece.text):
                method(self, piece, text)
                return
        raise AssertionError(f"nothing accounts for: {piece.section} {piece.tag} {piece.text!r}")

    def _plain(self, text: str) -> str:
        """A text without names, levels and what words mean."""
        for gloss in GLOSSES.values():
            text = text.replace(f" ({gloss})", "")
        return re.sub(r"\b95% intervals?\b", "interval", without(text, *self.names))

    def _is_stored(self, text: str) -> bool:
        """Whether a text is one of the report's own notes, or was stated."""
        return text == PLAN["title"] or any(text.rstrip(".") == note.rstrip(".") for note in self.report.notes)

    def _metric(self, text: str) -> str:
        """The metric that a sentence speaks of."""
        return METRICS[next(name for name in SPOKEN if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE))]

    def _view(self, piece: Piece) -> View:
        """The by-key that a sentence or the heading above it names."""
        short = [result_name(view) for view in self.of.views]
        named_ = [v for title, v in self.views.items() if title and (title in piece.text or title in piece.heads)]
        named_ += [
            view
            for name, view in zip(short, self.views.values(), strict=True)
            if name and piece.heads[0].startswith(f"{as_sentence(name)}: ")
        ]
        return named_[0] if named_ else next(iter(self.views.values()))

    def _attribute(self, piece: Piece) -> str:
        heads = [head for head in piece.heads if head in self.single]
        return heads[0] if heads else next(a for a in self.single if re.search(rf"\b{a}\b", piece.text))

    def _ends(self, view: View, row: Row) -> tuple[Expected, Expected]:
        """The values of the groups at the ends, as far as enough rows carry them, and these rows."""
        where = {"attribute": row["attribute"], "metric": row["metric"]}
        worst, best = (view.one("groups", **where, group=row[f"{end}_group"]) for end in ("worst", "best"))
        counts: Expected = [carrier(worst), carrier(best)]
        percent = in_percent(row["metric"])
        values: Expected = [
            int(str(count)) if int(str(count)) < min(MARKS) else (end["value"], percent)
            for end, count in zip((worst, best), counts, strict=True)
        ]
        return values, counts

    def _signed(self, view: View, row: Row) -> tuple[float, float] | None:
        ends = {row["worst_group"], row["best_group"]}
        for pair in view.at_summary("pairs"):
            same = (pair["attribute"], pair["metric"]) == (row["attribute"], row["metric"])
            if same and {pair["group"], pair["other_group"]} == ends:
                low, high = pair["ci_low"], pair["ci_high"]
                return (low, high) if pair["group"] == row["worst_group"] else (-high, -low)
        return None

    def gap_numbers(self, view: View, row: Row) -> Expected:
        """What a sentence on a gap holds, in its order, apart from the p value."""
        percent, margin = in_percent(row["metric"]), view.margins.get(row["metric"])
        (worst, best), counts = self._ends(view, row)
        gap: Expected = [(row["value"], percent)]
        if row.get("ci_low") is None:
            return [worst, best, *gap, *counts]
        within, high = limits(row), (row["ci_high"], percent)
        of_margin: Expected = [] if margin is None else [(margin, percent)]
        shown = row["ci_low"] > 0
        beside = of_margin if shown or (margin is not None and row["ci_high"] < margin) else []
        if row["n_groups"] > 2:
            chance: Expected = [] if row["chance_gap"] is None else [(row["chance_gap"], percent)]
            largest = [worst, best, row["n_groups"], *gap, *within, *counts, *chance]
            return [*largest, *([] if shown else [high]), *beside]
        if shown:
            return [worst, best, *gap, *within, *counts, *beside]
        signed = self._signed(view, row)
        if margin is not None and signed is not None and signed[0] < -margin and signed[1] > margin:
            return [best, worst, (-signed[0], percent), (signed[1], percent), *counts, *of_margin]
        return [worst, best, *counts, high, *beside]

    def gap(self, piece: Piece, text: str) -> None:
        view = self._view(piece)
        row = view.difference(self._attribute(piece), self._metric(piece.text))
        for told in re.findall(r"p ([<>=] [\d.]+?)(?=[;)])", text):
            check_p(told.removeprefix("= "), row["p_value"], piece.text)
        check(re.sub(r"p [<>=] [\d.]+(?=[;)])", "", text), self.gap_numbers(view, row), piece.text)

    def size(self, piece: Piece, text: str) -> None:
        counts = [view.at_summary("overall")[0]["n"] for view in self.views.values()]
        expected: Expected = [min(counts)] if min(counts) != max(counts) else []
        expected += [max(counts)]
        if len(self.views) > 1:
            expected += results_numbers(self.of)
        elif (n_pos := next(iter(self.views.values())).at_summary("overall")[0]["n_pos"]) is not None:
            expected += [n_pos]
        check(text, expected, piece.text)

    def day(self, piece: Piece, text: str) -> None:
        del text
        facts = self.report.metadata
        assert piece.text == f"{facts['evaluated'][:10]}, with fmfair {facts['versions']['fmfair']}"

    def thousand(self, piece: Piece, text: str) -> None:
        """Found, missed and wrongly flagged, from the rates and the share of positives among all rows."""
        view = self._view(piece)
        text = text.partition("Of ")[2]
        head, _, _ = piece.text.partition(": Of ")
        group = head if head in self.names else None
        rates = []
        for metric in ("tpr", "tnr"):
            found = [row for row in view.at_summary("groups") if row["metric"] == metric and named(row) == group]
            rates.append(found[0] if found else view.one("overall", metric=metric))
        whole = view.one("overall", metric="tpr")
        size = 1000 if whole["n_pos"] / whole["n"] >= 0.01 else 10_000
        cases = round(size * whole["n_pos"] / whole["n"])
        sensitivity, specificity = rates
        found_ = round(cases * sensitivity["value"])
        within = [round(cases * sensitivity[end]) for end in ("ci_low", "ci_high")]
        flagged = round((size - cases) * (1 - specificity["value"]))
        wrongly = [round((size - cases) * (1 - specificity[end])) for end in ("ci_high", "ci_low")]
        check(text, [size, cases, found_, *within, cases - found_, flagged, *wrongly], piece.text)

    def screened(self, piece: Piece, text: str) -> None:
        check(text, [self.found.compared, (0.1, False), 0, (0.1, False), 1995], piece.text)

    def cases(self, piece: Piece, text: str) -> None:
        row = self._view(piece).one("overall", metric="tpr")
        check(text, [row["n"], row["n_pos"]], piece.text)

    def few(self, piece: Piece, text: str) -> None:
        least: dict[str, int] = {}
        for view in self.views.values():
            for row in view.at_summary("groups"):
                if row["metric"] == told_metrics(self.of)[0] and row["attribute"] in self.single:
                    name = f"{row['attribute']} {row['group']}"
                    least[name] = min(carrier(row), least.get(name, carrier(row)))
        small = {name: count for name, count in least.items() if count < 20}
        told = re.findall(r"(?:: |, | and )(.+?) \((\d+) ", piece.text)
        assert {name: int(count) for name, count in told} == dict(list(small.items())[: len(told)]) or len(small) > 10
        assert all(small[name] == int(count) for name, count in told)
        more = re.search(r"and (\d+) more\.", text)
        assert len(told) + (int(more[1]) if more else 0) == len(small)

    def imprecise(self, piece: Piece, text: str) -> None:
        metric = told_metrics(self.of)[0]
        counts = [
            carrier(row)
            for view in self.views.values()
            for row in view.at_summary("groups")
            if row["metric"] == metric and row["attribute"] in self.single
        ]
        check(text, [sum(count < 100 for count in counts), len(counts), 100], piece.text)

    def comparisons(self, piece: Piece, text: str) -> None:
        tested = self.report.metadata["tested"]["gaps"]
        assert n_comparisons(self.of) == tested
        check(text, [tested], piece.text)

    def tuned(self, piece: Piece, text: str) -> None:
        cuts = {
            row["threshold"] for row in self.report.overall.to_dicts() if row["threshold_rule"] not in (None, "fixed")
        }
        told = float(numbers_in(text)[0].text)
        assert any(told == pytest.approx(cut, rel=5e-4) for cut in cuts), piece.text

    def cells(self, piece: Piece, text: str) -> None:
        view, metric = self._view(piece), told_metrics(self.of)[0]
        rows = [r for r in view.at_summary("groups") if r["metric"] == metric and r["attribute"] not in self.single]
        small = [row for row in rows if row["mark"] == "counts only"]
        undefined = sum(row["value"] is None for row in rows)
        few: Expected = [len(small), sum(row["n"] for row in small)] if small else []
        check(text, [len(rows), *few, *([undefined] if undefined else [])], piece.text)

    def listed(self, piece: Piece, text: str) -> None:
        """How many results have a gap, and of how many the largest are listed."""
        attribute, metric = self._attribute(piece), told_metrics(self.of)[0]
        rows = [v.difference(attribute, metric) for v in self.views.values()]
        known = sum(row["value"] is not None for row in rows)
        check(text.partition(" are listed")[0], [known, len(rows), min(known, 20)], piece.text)

    def about(self, piece: Piece, text: str) -> None:
        check(text, results_numbers(self.of), piece.text)

    def further(self, piece: Piece, text: str) -> None:
        check(text, [len(self.views) - 20], piece.text)

    def fixed(self, piece: Piece, text: str) -> None:
        """Numbers that are the same in every document."""
        del text
        assert piece.text


KINDS: Mapping[str, Callable[[Said, Piece, str], None]] = {
    r"^\d{4}-\d\d-\d\d, with fmfair": Said.day,
    r"; (those of one \w+ taken together|each \w+ counted as independent)": Said.size,
    r"Of [\d,]+ such ": Said.thousand,
    r"^The summary: Exploratory, ": Said.screened,
    r"^The number of cases .* is the same|^The number of cases is the same": Said.cases,
    r"^Exploratory, ": Said.comparisons,
    r"^There are .* comparisons? over all": Said.comparisons,
    r"^Too small to judge": Said.few,
    r"groups? ha(s|ve) fewer than 100": Said.imprecise,
    r"was chosen on these labels": Said.tuned,
    r"cells? of intersections\.": Said.cells,
    r"results have a gap; the": Said.listed,
    r"(No difference in .* was shown|was (lower|higher) in|largest gap of|data cannot tell|differed most)": Said.gap,
    # the marks below values, and what is said of every report
    r"^Below a value: .*|^Counts only: |^† imprecise: 20 to 99|^‡ very imprecise: 10 to 19|^Intervals: ": Said.fixed,
    r"They were picked for|^Share: of all rows|^Values are marked by|^Every value has a 95% interval": Said.fixed,
    r"^A 95% interval is|a share of 0\.10 of whose finds|^What is not defined has no value": Said.fixed,
    r"^Accuracy and F1 weigh|^fmfair report|^Made by fmfair \d": Said.fixed,
    r"^Carried by: |^The interval of a gap holds": Said.fixed,
    r"^(Classification|Segmentation), ": Said.about,
    r"further results? (is|are) in groups.parquet": Said.further,
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_number_of_every_sentence_is_that_of_the_frames(name: str, tmp_path: Path) -> None:
    report = REPORTS[name]()
    said = Said(report)
    pieces = [
        p for p in Document(page_of(report, tmp_path, **PLAN)).pieces if p.tag not in ("table", "summary", "title")
    ]

    for piece in pieces:
        said.piece(piece)

    assert any(piece.section == "summary" and numbers_in(piece.text) for piece in pieces)


@pytest.mark.parametrize(
    ("told", "changed", "reason"),
    [
        (r"of up to \d+ percentage", "of up to 3 percentage", "is not"),
        ("<h3>Main limits</h3>", "<p>The score is 7.</p>", "nothing accounts for"),
    ],
)
def test_a_number_that_is_not_that_of_the_frames_is_found(told: str, changed: str, reason: str, tmp_path: Path) -> None:
    text = re.sub(told, changed, page_of(REPORTS["decided"](), tmp_path, **PLAN), count=1)
    with pytest.raises(AssertionError, match=reason):
        list(map(Said(REPORTS["decided"]()).piece, [p for p in Document(text).pieces if p.tag in ("li", "p")]))

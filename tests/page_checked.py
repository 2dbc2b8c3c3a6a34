"""The tables of a document beside the frames of its report: a method for each kind of table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from page_facts import Facts
from page_first import first_page, short_title
from page_parsed import (
    METRICS,
    Piece,
    Row,
    View,
    carrier,
    check,
    check_count,
    check_p,
    check_positives,
    check_threshold,
    check_value,
    in_percent,
    is_open,
    limits,
    named,
    numbers_in,
    views_of,
    without,
)

import fmfair
from fmfair.marks import MARKS
from fmfair.metrics.registry import REGISTRY

# What the documents state.
PLAN = {
    "title": "Net 7",
    "groups": ["smoker yes", "sex F", "scanner A", "site"],
    "criteria": {"auc": {"at_least": 0.75}, "tpr": {"at_least": 0.805, "at_most": 0.99}, "dice": {"at_least": 0.8}},
}


class Checked(Facts):
    """The tables of one document beside the frames of the report; each kind of table has a method."""

    def __init__(self, report: fmfair.Report) -> None:
        super().__init__(report)
        self.views, self.keys = views_of(report), report._by()

    def view(self, caption: str, heads: Sequence[str]) -> View:
        """The by-key that a caption or a heading ends in; the first where none is named."""
        for title, view in self.views.items():
            ends = f", {title}", f": {title}", f", {short_title(self.keys, view)}"
            if title and (caption.endswith(ends) or title in heads):
                return view
        return next(iter(self.views.values()))

    def differences(self, piece: Piece) -> None:
        """The table of the first page."""
        first_page(self.report, PLAN, self.views.values()).table(piece)

    def by_keys(self, cells: Sequence[str]) -> View:
        """The by-key whose values are in the first cells."""
        return next(view for view in self.views.values() if [str(k) for k in view.key] == list(cells[: len(self.keys)]))

    def table(self, piece: Piece) -> None:
        """A table is of one kind, and its numbers are those of the frames."""
        of = [method for pattern, method in KINDS.items() if re.fullmatch(pattern, piece.text)]
        assert len(of) == 1, piece.text
        for row in piece.rows[1:]:
            assert len(row) == len(piece.rows[0]), piece.text
        of[0](self, piece)

    def flow(self, piece: Piece) -> None:
        """The rows of the table less those that were left out are those that were evaluated."""
        (view, *_) = self.views.values()
        facts, whole, adds_up = self.report.metadata, view.everything[0]["n"], 0
        findings = max(1, len(facts["columns"]["pairs"]))
        for step, text in piece.rows[1:]:
            if step == "Rows of the table":
                check(text, [facts["n_rows"]], piece.text)
                adds_up += facts["n_rows"]
            elif step.startswith("The same, once for each"):
                check(without(step) + text, [findings, findings * facts["n_rows"]], piece.text)
                adds_up = findings * facts["n_rows"]
            elif step.startswith("Left out"):
                adds_up -= int(text.replace(",", ""))
            elif step.startswith("Rows evaluated"):
                check(text, [facts["n_samples"]], piece.text)
                assert adds_up in (facts["n_samples"], 0)
            else:
                attribute = re.fullmatch("Of these, (.*) not recorded", step)
                assert attribute is not None
                here = next(row["n"] for row in view.summary if row["attribute"] == attribute[1])  # type: ignore[attr-defined]
                check(text, [whole - here, ((whole - here) / whole, True)], piece.text)

    def characteristics(self, piece: Piece) -> None:
        wanted = dict(part.split(" ", 1) for part in piece.text.partition(": ")[2].split("; ") if part)
        wanted = {key: re.split(", | and ", names)[0] for key, names in wanted.items() if key != "every"}
        views = [v for v in self.views.values() if all(f"{k} {name}" in v.title for k, name in wanted.items())]
        whole, header = views[0].everything[0], piece.rows[0]
        groups = {(r["attribute"], r["group"]): r for r in views[0].groups}  # type: ignore[attr-defined]
        for cells in piece.rows[1:]:
            if cells[1] == "not recorded":
                row = self._rest(whole, [row for row in groups.values() if row["attribute"] == cells[0]])
            else:
                row = whole if cells[0] == "All rows" else groups[cells[0], cells[1]]
            found = dict(zip(header, cells, strict=True))
            check(found["Rows"], [row["n"]], piece.text)
            check(found["Share"], [(row["n"] / whole["n"], True)], piece.text)
            if "Positives" in found:
                check_positives(found["Positives"], row, piece.text)
            mean_of = next((title for title in ("Mean score", "Mean Dice") if title in found), "")
            if mean_of and cells[1] == "not recorded":
                assert found[mean_of] == "\N{EN DASH}"
            elif mean_of:
                place = ("", "") if cells[0] == "All rows" else (cells[0], cells[1])
                bins = [c for c in views[0].curves if (c["attribute"], c["group"]) == place]  # type: ignore[attr-defined]
                mean = sum(c["sum_score"] for c in bins) / sum(c["n"] for c in bins)
                check(found[mean_of], [(mean, False)], piece.text)
            least = row["n"] if row["n_pos"] is None else min(row["n_pos"], row["n"] - row["n_pos"])
            mark = next((text for most, text in sorted(MARKS.items()) if least < most), "")
            assert found["Mark"].removesuffix(", not compared") == mark, piece.text

    @staticmethod
    def _rest(whole: Row, groups: Sequence[Row]) -> Row:
        """The rows that are in none of the groups of an attribute."""
        n_pos = None if whole["n_pos"] is None else whole["n_pos"] - sum(row["n_pos"] for row in groups)
        return {"n": whole["n"] - sum(row["n"] for row in groups), "n_pos": n_pos}

    def all_rows(self, piece: Piece) -> None:
        rows = [
            row
            for row in self.view(piece.text, piece.heads).everything
            if row["value"] is not None or REGISTRY[row["metric"]].family != "count"
        ]
        assert len(rows) == len(piece.rows) - 1
        for (metric, value, threshold, carried), row in zip(piece.rows[1:], rows, strict=True):
            assert METRICS[metric] == row["metric"]
            if REGISTRY[row["metric"]].family == "count":
                check(value, [int(row["value"])], piece.text)
            else:
                check_value(value, row, f"{piece.text}, {metric}")
            check_threshold(threshold, row, piece.text)
            if row["denominator"] is None:
                check_count(carried, row, "denominator", piece.text)
            else:
                check(carried, [carrier(row)], piece.text)

    def all_rows_by_key(self, piece: Piece) -> None:
        assert len(piece.rows) - 1 == len(self.views)
        for cells in piece.rows[1:]:
            view, (n, n_pos, *values) = self.by_keys(cells), cells[len(self.keys) :]
            for metric, text in zip(piece.rows[0][len(self.keys) + 2 :], values, strict=True):
                row = view.one("overall", metric=METRICS[metric])
                check_value(text, row, f"{piece.text}, {cells}")
                check(n, [row["n"]], piece.text)
                check(n_pos, [row["n_pos"]], piece.text)

    def groups(self, piece: Piece) -> None:
        view, header = self.view(piece.text, piece.heads), piece.rows[0]
        of = re.sub(rf", {re.escape(view.title)}$", "", piece.text) if view.title else piece.text
        names = re.split(", | & ", re.sub(r"^Groups of |^The numbers: .*? by ", "", of))
        asked = {" & ".join(names)} if " & " in of else set(names)
        self.every_group(piece, [row for row in view.at_summary("groups") if row["attribute"] in asked])
        for cells in piece.rows[1:]:
            attribute = (found := dict(zip(header, cells, strict=True))).get("Attribute", next(iter(asked)))
            for metric in [title for title in header if title in METRICS]:
                row = view.one("groups", attribute=attribute, group=found["Group"], metric=METRICS[metric])
                check_value(found[metric], row, f"{piece.text}: {cells[0]}, {metric}")
                check(found["Rows"], [row["n"]], piece.text)
                if "Positives" in found:
                    check_positives(found["Positives"], row, piece.text)

    @staticmethod
    def every_group(piece: Piece, rows: Sequence[Row]) -> None:
        """No group is left out, and none is there twice."""
        groups = {(row["attribute"], row["group"]) for row in rows}
        assert len(groups) == len(piece.rows) - 1, piece.text

    def score_bins(self, piece: Piece) -> None:
        view, (_, _, attribute) = self.view(piece.text, piece.heads), piece.text.partition(" by ")
        curves = [row for row in view.curves if row["attribute"] == attribute]  # type: ignore[attr-defined]
        told = 0
        for cells in piece.rows[1:]:
            row = dict(zip(piece.rows[0], cells, strict=True))
            low, high = ((number.low + number.high) / 2 for number in numbers_in(row["Values from"]))
            bins = [c for c in curves if c["group"] == row.get("Group", "") and low < (c["low"] + c["high"]) / 2 < high]
            n = sum(c["n"] for c in bins)
            told += n
            check(row["Rows"], [n], piece.text)
            check(row["Mean"], [(sum(c["sum_score"] for c in bins) / n, False)], piece.text)
            if "Positives" in row:
                n_pos = sum(c["n_pos"] for c in bins)
                check(row["Positives"], [n_pos, (n_pos / n, True)], piece.text)
        assert told == sum(c["n"] for c in curves)

    def check_gap(self, texts: Sequence[str], row: Row, where: str) -> None:
        """The lowest and the highest group, the gap, and how sure it is."""
        lowest, highest, gap, *sure = texts
        if row["value"] is None:
            assert gap in ("suppressed", f"not defined: {row['note']}"), where
            return
        check(gap, [(row["value"], in_percent(row["metric"]))], where)
        ends = {lowest, highest}
        assert ends == {row["worst_group"], row["best_group"]}, where
        if sure:
            interval, p, chance = sure
            check(interval, limits(row), where)
            check_p(p, row["p_value"], where)
            check(chance, [] if row["chance_gap"] is None else [(row["chance_gap"], in_percent(row["metric"]))], where)

    def gaps(self, piece: Piece) -> None:
        view = self.view(piece.text, piece.heads)
        attribute = re.sub(r"^Gaps between the groups of ", "", piece.text).removesuffix(f", {view.title}")
        for metric, *cells in piece.rows[1:]:
            row = view.one("gaps", attribute=attribute, metric=METRICS[metric], statistic="difference")
            self.check_gap(cells, row, f"{piece.text}: {metric}")

    def largest_gaps(self, piece: Piece) -> None:
        """Over by-keys, the largest gaps of one attribute, or of all intersections."""
        found = re.fullmatch(r"(.*): the largest gaps between (?:groups of (.*)|cells)", piece.text)
        assert found is not None
        keys = len(self.keys)
        for cells in piece.rows[1:]:
            attribute, own = (found[2], keys) if found[2] else (cells[keys], keys + 1)
            view, metric = self.by_keys(cells), METRICS[found[1]]
            row = view.one("gaps", attribute=attribute, metric=metric, statistic="difference")
            row = view.difference(attribute, metric) if found[2] else row
            self.check_gap(cells[own:], row, piece.text)

    def pairs(self, piece: Piece) -> None:
        view = self.view(piece.text.removesuffix(", two by two"), piece.heads)
        attribute = piece.text.removesuffix(", two by two").removeprefix("Groups of ").removesuffix(f", {view.title}")
        for metric, group, other, less, interval, ratio, p in piece.rows[1:]:
            row = view.one("pairs", attribute=attribute, group=group, other_group=other, metric=METRICS[metric])
            where = f"{piece.text}: {metric} {group} {other}"
            if row["difference"] is None:
                assert less == f"not defined: {row['note']}", where
                continue
            check(less, [(row["difference"], in_percent(row["metric"]))], where)
            check(interval, limits(row), where)
            ratios = [row[name] for name in ("ratio", "ratio_low", "ratio_high") if row[name] is not None]
            check(ratio, [(value, False) for value in ratios], where)
            check_p(p, row["p_holm"], where)

    def cells(self, piece: Piece) -> None:
        """The cells of intersections that are furthest from all rows."""
        view, header = self.view(piece.text, piece.heads), piece.rows[0]
        metric = next(title for title in header if title in METRICS)
        whole = view.one("overall", metric=METRICS[metric])["value"]
        check(re.sub(r"^.*: the (.*) cells.*$", r"\1", piece.text), [len(piece.rows) - 1], piece.text)
        for cells in piece.rows[1:]:
            found = dict(zip(header, cells, strict=True))
            row = view.one("groups", attribute=found["Intersection"], group=found["Cell"], metric=METRICS[metric])
            percent = in_percent(row["metric"])
            check(found["Rows"], [row["n"]], piece.text)
            if "Positives" in found:
                check_positives(found["Positives"], row, piece.text)
            check_value(found[metric], row, piece.text)
            check(found["Less all rows"], [(row["value"] - whole, percent)], piece.text)
            drawn = [row.get(name) for name in ("model_based", "model_based_low", "model_based_high")]
            if "Model-based" in found:
                check(found["Model-based"], [(v, percent) for v in drawn if v is not None], piece.text)

    def beside(self, piece: Piece) -> None:
        """By-keys beside each other: all rows and every group of an attribute."""
        found = re.fullmatch(r"The numbers: (.*) of every (.*?), by (.*?)(?:, (.*))?", piece.text)
        assert found is not None
        free, held = found[2].split(" and "), found[4] or ""
        for *key, name, n, text, served in piece.rows[1:]:
            title = ", ".join([*(f"{k} {v}" for k, v in zip(free, key, strict=True)), *([held] if held else [])])
            view = self.views[title]
            where = {"metric": METRICS[found[1]]}
            row = view.one("overall", **where)
            if name != "all rows":
                row = view.one("groups", **where, attribute=found[3], group=name)
            check(n, [row["n"]], piece.text)
            check_value(text, row, piece.text)
            gap = view.difference(found[3], METRICS[found[1]])
            assert (served == "worst") == (name == gap["worst_group"]), piece.text

    def models(self, piece: Piece) -> None:
        keys, (metric, _) = len(self.keys), piece.text.split(" and its gaps")
        for cells in piece.rows[1:]:
            view = self.by_keys(cells)
            check_value(cells[keys], view.one("overall", metric=METRICS[metric]), piece.text)
            for title, text in zip(piece.rows[0][keys + 1 :], cells[keys + 1 :], strict=True):
                row = view.difference(title.removeprefix("Gap by "), METRICS[metric])
                if row["value"] is None:
                    assert text == f"not defined: {row['note']}"
                else:
                    check(text, [(row["value"], in_percent(row["metric"])), *limits(row)], piece.text)

    def every_row(self, piece: Piece) -> None:
        """The full results, row by row."""
        frame = self.report.groups if piece.text.startswith("Groups") else self.report.gaps
        assert len(piece.rows) - 1 == frame.height
        for cells, row in zip(piece.rows[1:], frame.to_dicts(), strict=True):
            found, where = dict(zip(piece.rows[0], cells, strict=True)), f"{piece.text}: {cells}"
            assert found["Metric"] == row["metric"], where
            assert found["Attribute"] == row["attribute"], where
            check_threshold(found["Threshold"], row, where)
            (self._group if "Group" in found else self._gap)(found, row, where)

    @staticmethod
    def _group(found: Mapping[str, str], row: Row, where: str) -> None:
        assert found["Group"] == row["group"], where
        percent = in_percent(row["metric"])
        if row["value"] is None:
            assert found["Value"] in ("suppressed", f"not defined: {row['note']}"), where
        else:
            check(found["Value"], [(row["value"], percent)], where)
        told = limits(row) or (limits(row, "bound_low", "bound_high") if is_open(row) else [])
        check(found["Interval"], told, where)
        for title, name in (("Rows", "n"), ("Positives", "n_pos"), ("Denominator", "denominator")):
            if title in found:
                check_count(found[title], row, name, where)
        notes = (row["note"] if row["value"] is not None else None, row.get("mark"), row.get("ci_note"))
        assert found["Note"] == "; ".join(note for note in notes if note), where

    @staticmethod
    def _gap(found: Mapping[str, str], row: Row, where: str) -> None:
        assert found["Statistic"] == row["statistic"], where
        spread = row["statistic"] in ("difference", "std", "average_difference", "difference_to_overall")
        percent = in_percent(row["metric"]) and (spread or row["statistic"] in ("worst", "best"))
        if row["value"] is None:
            assert found["Value"] in ("suppressed", f"not defined: {row['note']}"), where
        else:
            check(found["Value"], [(row["value"], percent)], where)
        check(found["Interval"], limits(row), where)
        check_p(found["p"], row.get("p_value"), where)
        for title, name in (("By chance", "chance_gap"), ("95% of chance", "chance_gap_95")):
            check(found[title], [] if row.get(name) is None else [(row[name], percent)], where)
        check(found["Groups"], [row["n_groups"]], where)
        dash = "\N{EN DASH}"
        assert [found["Lowest"], found["Highest"]] == [row["worst_group"] or dash, row["best_group"] or dash], where

    def named_groups(self, piece: Piece) -> None:
        (view, *_) = self.views.values()
        for name, _, held in piece.rows[1:]:
            where = [r for r in view.groups if name == f"{r['attribute']} {r['group']}"]  # type: ignore[attr-defined]
            expected = [where[0]["n"]] if where else []
            check(held.rpartition(": ")[2], expected, piece.text)

    def criteria(self, piece: Piece) -> None:
        """Of the intervals of all rows and of every single group, how many lie within the criterion."""
        for title, asked, judged in piece.rows[1:]:
            metric = METRICS[title]
            criterion: dict[str, float] = PLAN["criteria"][metric]  # type: ignore[index]
            percent = in_percent(metric)
            check(asked, [(value, percent) for value in criterion.values()], piece.text)
            rows = list(self._values(metric))
            if not (known := [(name, row) for name, row in rows if row.get("ci_low") is not None]):
                assert judged == "no interval of this metric"
                continue
            low, high = criterion.get("at_least", -1.0), criterion.get("at_most", 9.0)
            outside = [row for _, row in known if row["ci_low"] < low or row["ci_high"] > high]
            said = without(judged, *(name for name, _ in known))
            shown = [limit for row in outside[:8] for limit in limits(row)]
            more = [len(outside) - 8] if len(outside) > 8 else []
            lacking = [len(rows) - len(known)] if len(rows) > len(known) else []
            check(said, [len(known) - len(outside), len(known), *shown, *more, *lacking], piece.text)

    def _values(self, metric: str) -> Iterator[tuple[str, Row]]:
        for view in self.views.values():
            single = {row["attribute"] for row in view.groups if len(row["attribute_parts"]) == 1}  # type: ignore[attr-defined]
            rows = [*view.at_summary("overall"), *view.at_summary("groups")]
            for row in rows:
                if row["metric"] == metric and row.get("attribute", next(iter(single))) in single:
                    name = named(row) if "group" in row else "all rows"
                    yield f"{view.title}: {name}" if view.title else name, row


KINDS: Mapping[str, Callable[[Checked, Piece], None]] = {
    "Rows, from the table to the analysis": Checked.flow,
    "Characteristics of every group.*": Checked.characteristics,
    "All rows(: .*)?": Checked.all_rows,
    "All rows, by .*": Checked.all_rows_by_key,
    "Groups of (?!interest).*(?<!, two by two)": Checked.groups,
    "The numbers: (?!scores|values)(?!.* of every ).*": Checked.groups,
    "The numbers: .* of every .*": Checked.beside,
    "The numbers: (scores|values).*": Checked.score_bins,
    "Gaps between the groups of .*": Checked.gaps,
    "The largest difference between groups.*": Checked.differences,
    ".*: the largest gaps between .*": Checked.largest_gaps,
    "Groups of .*, two by two": Checked.pairs,
    ".* cells? furthest from all rows.*": Checked.cells,
    ".* and its gaps": Checked.models,
    "Groups: every metric|Gaps: every statistic": Checked.every_row,
    "Groups named in advance": Checked.named_groups,
    "Acceptance criteria": Checked.criteria,
    "What is asked, of whom, and how": Checked.stated,
    "What the numbers were made with": Checked.made,
    "Columns and options of the evaluation": Checked.options,
    "The results": Checked.hashes,
    "The data that were read": Checked.inputs,
    "Metrics|Statistics of gaps|Guidelines and sections|Analyses": Checked.words,
}

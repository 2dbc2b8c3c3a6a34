"""The report: the result frames of an evaluation, and every form in which they can be shown or written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from fmfair import export
from fmfair.atomic import PathLike, whole_file
from fmfair.columns import PAIRS
from fmfair.digest import digest
from fmfair.errors import FmfairError, near
from fmfair.render import to_html, to_text
from fmfair.version import installed_version


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What an evaluation found. Printed, it shows the largest gaps, the summary, the groups, and the notes.

    Undefined is NULL in every frame, never NaN or 0; the column `note` beside it says why. By-keys, where there are
    any, are the first columns of every frame.

    Where intervals were asked for (`metadata["ci"]` is their level) there are more columns behind `value`, all NULL
    where `value` is. In `groups` and `overall`: the limits `ci_low` and `ci_high` (floats in the range of the metric,
    `ci_low` <= `value` <= `ci_high`; NULL without a closed form or where too few rows or patients carry the value),
    `ci_method` (its name, NULL without limits), `ci_note` (why there are none, or what makes them doubtful), `mark`
    (`counts only` below 10 of the rows that carry the value, `very imprecise` below 20, `imprecise` below 100, else
    NULL), and of the metric `ece` `expected` (that of a perfectly calibrated model), `debiased` and `p_value` (of
    perfect calibration; NULL with patients). In `gaps`, of the statistics `difference` and `worst`, the same four `ci_`
    columns, of `difference` for all pairs of groups at once; of `difference` also `p_value` and `p_method` (of no
    difference between any groups), `chance_gap` and `chance_gap_95` (median and 95 % point of the gap between equal
    groups of these sizes), and `detectable_gap` (the smallest true gap that would be found four times in five). All of
    them are NULL for the other statistics, and for metrics without a closed form.

    Attributes:
        summary: One row per by-key and attribute, in the columns of the FairMedFM benchmark (`overall-auc` to `eo`, or
            `mean_dice` to `es_dice`).
        groups: One row per by-key, attribute, group, metric and threshold: `value`, the rows behind it (`n`, `n_pos`,
            `weight_sum`), the count that carries the metric (`denominator`), whether the group is compared (`in_gaps`)
            and `note`.
        gaps: One row per by-key, attribute, metric, threshold and `statistic` (difference, ratio, worst, ...), with
            `worst_group` and `best_group`.
        overall: One row per by-key, metric and threshold, on all evaluated rows.
        pairs: Where intervals were asked for, one row per by-key, attribute (no intersections), metric, threshold and
            pair of groups: `difference` (`value` less `other_value`) with its interval, the p value of the pair and
            that of Holm among all pairs of the comparison, the `ratio` with its interval (MOVER; `ratio_high` NULL
            where unbounded), and the `verdict` on the margin. All pairs of up to 20 groups, of more each group with
            the reference: the group named in `reference`, else the largest. Empty without intervals.
        notes: What was left out, assumed or found by name, one sentence each.
        metadata: Task, conventions, columns and options.

    Examples:
        >>> import polars as pl
        >>> import fmfair
        >>> df = pl.DataFrame({"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.9, 0.8, 0.3], "sex": ["F", "F", "M", "M"]})
        >>> report = fmfair.evaluate(df)
        >>> report.summary.select("attribute", "n", "worst-auc", "auc-gap").rows()
        [('sex', 4, 0.0, 1.0)]
        >>> print(report)
        fmfair report: classification, 4 samples; attributes sex; ...
        ...
    """

    summary: pl.DataFrame
    groups: pl.DataFrame
    gaps: pl.DataFrame
    overall: pl.DataFrame
    notes: tuple[str, ...]
    metadata: dict[str, Any]
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(PAIRS)))

    def __repr__(self) -> str:
        return to_text(digest(self._frames(), self.notes, self.metadata))

    def _repr_html_(self) -> str:
        return to_html(digest(self._frames(), self.notes, self.metadata))

    def to_frame(self, which: str = "groups") -> pl.DataFrame:
        """A copy of one of the frames.

        Args:
            which: `"groups"`, `"gaps"`, `"overall"`, `"pairs"` or `"summary"`.

        Raises:
            FmfairError: There is no frame of that name.

        Examples:
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> frame = fmfair.evaluate(df, metrics="tpr").to_frame()
            >>> frame.select("group", "value", "denominator").rows()
            [('F', 1.0, 1), ('M', 0.0, 1)]
        """
        frames = {**self._frames(), "pairs": self.pairs}
        if which not in frames:
            raise FmfairError(f"no frame {which!r}{near(str(which), frames)}; expected one of {', '.join(frames)}")
        return frames[which].clone()

    def to_dict(self) -> dict[str, Any]:
        """The whole report as plain Python values: what `to_json` writes.

        Returns:
            `fmfair_version`, `schema_version` (1), `task`, `metadata`, `notes`, and `summary`, `groups`, `gaps` and
            `overall` as lists of rows. Undefined is None with its `note` beside it. Dates, decimals and categories
            become text; texts are never changed.

        Examples:
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> rows = fmfair.evaluate(df, metrics="auc").to_dict()["groups"]
            >>> [(row["group"], row["value"], row["note"]) for row in rows]
            [('F', 1.0, None), ('M', None, 'no negatives')]
        """
        by = export.by_keys(self._frames())
        rows = {name: export.json_rows(frame, by) for name, frame in self._frames().items()}
        return {**export.plain(self._facts()), **rows}

    def to_json(self, path: PathLike | None = None, *, indent: int | None = 2) -> str:
        """The whole report as strict JSON, also written to a file if a path is given.

        Numbers keep their full precision. NaN and Infinity do not occur as numbers: undefined is null, with its reason
        in `note`.

        Args:
            path: The file to write; parent folders are made, and the file appears whole or not at all.
            indent: Spaces per level; None for one long line.

        Returns:
            The JSON text, of the shape that `to_dict` describes.

        Raises:
            FmfairError: The file cannot be written.

        Examples:
            >>> import json
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> list(json.loads(fmfair.evaluate(df).to_json()))[:3]
            ['fmfair_version', 'schema_version', 'task']
        """
        text = export.strict_json(self.to_dict(), indent)
        if path is not None:
            with whole_file(path) as file:
                file.write_text(text + "\n", encoding="utf-8", newline="\n")
        return text

    def write_csv(self, path: PathLike | None = None, *, which: str = "groups") -> str | None:
        """Write one frame as CSV, without its list columns.

        Every text is quoted and NULL is an empty field without quotes, so that a group called NaN or an empty name is
        told from a missing value. Polars reads it back that way; pandas needs `keep_default_na=False, na_values=[""]`
        for the group called NaN, and takes an empty name for missing.

        Args:
            path: The file to write; parent folders are made, and the file appears whole or not at all. None to get
                the text instead.
            which: `"groups"`, `"gaps"`, `"overall"`, `"pairs"` or `"summary"`.

        Returns:
            The CSV text if no path is given.

        Raises:
            FmfairError: There is no frame of that name, or the file cannot be written.

        Examples:
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "site": ["NaN", "NaN", ""]})
            >>> print(fmfair.evaluate(df, metrics="auc", ci=None).write_csv())
            "attribute","group","metric","threshold","threshold_rule","value","n","n_pos","weight_sum",...
            "site","","auc",,,,1,1,,1,"true","no negatives"
            "site","NaN","auc",,,1.0,2,1,,1,"true",
            <BLANKLINE>
        """
        text = export.csv_text(self.to_frame(which))
        if path is None:
            return text
        with whole_file(path) as file:
            file.write_text(text, encoding="utf-8", newline="")
        return None

    def write_parquet(self, folder: PathLike) -> None:
        """Write the report as a folder: summary, groups, gaps, overall and, with intervals, pairs, each as .parquet.

        Every file carries `fmfair_version`, `schema_version`, `task`, `metadata` and `notes` (JSON) in its key-value
        metadata, where DuckDB's `parquet_kv_metadata` finds them. The folder appears whole or not at all.

        Args:
            folder: The folder to make. One that fmfair wrote before is replaced, one with other files is not.

        Raises:
            FmfairError: The folder holds files that fmfair did not write, or cannot be written.

        Examples:
            >>> import tempfile
            >>> import polars as pl
            >>> import fmfair
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> with tempfile.TemporaryDirectory() as place:
            ...     fmfair.evaluate(df).write_parquet(f"{place}/results")
            ...     back = fmfair.Report.read_parquet(f"{place}/results")
            >>> back.summary["attribute"].to_list()
            ['sex']
        """
        export.write_folder(folder, self._frames(), self._facts())

    @classmethod
    def read_parquet(cls, folder: PathLike) -> Report:
        """The report in a folder that `write_parquet` wrote.

        Args:
            folder: The folder.

        Raises:
            FmfairError: The folder does not hold a report that this version can read.

        Examples:
            >>> Report.read_parquet("nowhere")
            Traceback (most recent call last):
            ...
            fmfair.errors.FmfairError: no report in nowhere: 'summary.parquet', ... not found; expected a folder ...
        """
        frames, notes, metadata = export.read_folder(folder)
        return cls(**frames, notes=notes, metadata=metadata)

    def _frames(self) -> dict[str, pl.DataFrame]:
        """The frames; pairs only where there are any."""
        further = {name: getattr(self, name) for name in export.FURTHER}
        there = {name: frame for name, frame in further.items() if frame.height}
        return {**{name: getattr(self, name) for name in export.FRAMES}, **there}

    def _facts(self) -> dict[str, Any]:
        return {
            "fmfair_version": installed_version(),
            "schema_version": export.SCHEMA_VERSION,
            "task": self.metadata.get("task"),
            "metadata": self.metadata,
            "notes": list(self.notes),
        }

"""What a comparison of models found, and every form in which it can be shown or written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from fmfair import export
from fmfair.atomic import PathLike, whole_file
from fmfair.comparison.shown import digest_of
from fmfair.errors import FmfairError, near
from fmfair.render import to_html, to_text
from fmfair.version import installed_version


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What a comparison of models found. Printed, it says which model is best and fairest, and for whom one is worse.

    Undefined is NULL in every frame, never NaN or 0; the column `note` beside it says why. By-keys other than the
    model, where there are any, are the first columns of every frame. A difference is that of `model` less that of
    `baseline`. All models are compared on the same samples. `threshold` is NULL where the models have different ones,
    as a rule such as `best_f1` may choose.

    Attributes:
        differences: One row per pair of models, attribute, group, metric and threshold; attribute and group are NULL
            for all rows. `value_baseline` and `value_model`, their `difference` with `ci_low`, `ci_high`, `ci_method`
            and `p_value` (of no difference), `p_holm` (the p value adjusted for the groups of one attribute), `n`,
            `n_pos`, and `note` (why there is none, or what makes it doubtful).
        gaps: One row per pair of models, attribute, metric and threshold: the gap (largest less smallest group value)
            of either model between the groups in which both have a value, their `difference` (below 0 where `model`
            is fairer) with its interval and `p_value`, `n_groups`, the group that either model serves worst, `note`.
        tradeoff: One row per attribute and model for the headline metric: `utility` (the value on all rows), `gap`,
            `n_groups`, `not_beaten` (no other model has at least the utility and at most the gap, one of them
            strictly), and `beaten_by`, the models that have.
        notes: What was left out, assumed or found by name, one sentence each.
        metadata: Task, columns and options.

    Examples:
        >>> import polars as pl
        >>> import fmfair
        >>> df = pl.DataFrame(
        ...     {
        ...         "model": ["a"] * 4 + ["b"] * 4,
        ...         "image_id": [1, 2, 3, 4] * 2,
        ...         "label": [0, 1, 0, 1] * 2,
        ...         "prob": [0.1, 0.9, 0.8, 0.3, 0.1, 0.9, 0.2, 0.7],
        ...         "sex": ["F", "F", "M", "M"] * 2,
        ...     }
        ... )
        >>> found = fmfair.compare(df, by="model", metrics="auc")
        >>> found.tradeoff.select("attribute", "model", "utility", "gap", "not_beaten").rows()
        [('sex', 'a', 0.75, 1.0, False), ('sex', 'b', 1.0, 0.0, True)]
    """

    differences: pl.DataFrame
    gaps: pl.DataFrame
    tradeoff: pl.DataFrame
    notes: tuple[str, ...]
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        return to_text(digest_of(self._frames(), self.notes, self.metadata))

    def _repr_html_(self) -> str:
        return to_html(digest_of(self._frames(), self.notes, self.metadata))

    def to_frame(self, which: str = "differences") -> pl.DataFrame:
        """A copy of one of the frames.

        Args:
            which: `"differences"`, `"gaps"` or `"tradeoff"`.

        Raises:
            FmfairError: There is no frame of that name.
        """
        frames = self._frames()
        if which not in frames:
            raise FmfairError(f"no frame {which!r}{near(str(which), frames)}; expected one of {', '.join(frames)}")
        return frames[which].clone()

    def to_dict(self) -> dict[str, Any]:
        """The whole comparison as plain Python values: what `to_json` writes.

        Returns:
            `fmfair_version`, `schema_version`, `task`, `metadata`, `notes`, and the frames as lists of rows.
        """
        rows = {name: export.json_rows(frame, self.metadata["by"]) for name, frame in self._frames().items()}
        return {**export.plain(self._facts()), **rows}

    def to_json(self, path: PathLike | None = None, *, indent: int | None = 2) -> str:
        """The whole comparison as strict JSON, also written to a file if a path is given.

        Args:
            path: The file to write; it appears whole or not at all.
            indent: Spaces per level; None for one long line.

        Raises:
            FmfairError: The file cannot be written.
        """
        text = export.strict_json(self.to_dict(), indent)
        if path is not None:
            with whole_file(path) as file:
                file.write_text(text + "\n", encoding="utf-8", newline="\n")
        return text

    def write_csv(self, path: PathLike | None = None, *, which: str = "differences") -> str | None:
        """Write one frame as CSV, in the form of `Report.write_csv`.

        Args:
            path: The file to write; None to get the text instead.
            which: `"differences"`, `"gaps"` or `"tradeoff"`.

        Raises:
            FmfairError: There is no frame of that name, or the file cannot be written.
        """
        text = export.csv_text(self.to_frame(which))
        if path is None:
            return text
        with whole_file(path) as file:
            file.write_text(text, encoding="utf-8", newline="")
        return None

    def write_parquet(self, folder: PathLike) -> None:
        """Write the comparison as a folder: differences.parquet, gaps.parquet and tradeoff.parquet.

        Args:
            folder: The folder to make. One that fmfair wrote before is replaced, one with other files is not.

        Raises:
            FmfairError: The folder holds files that fmfair did not write, or cannot be written.
        """
        export.write_folder(folder, self._frames(), self._facts())

    @classmethod
    def read_parquet(cls, folder: PathLike) -> Comparison:
        """The comparison in a folder that `write_parquet` wrote.

        Raises:
            FmfairError: The folder does not hold a comparison that this version can read.
        """
        frames, notes, metadata = export.read_folder(folder, export.COMPARED, ())
        return cls(**frames, notes=notes, metadata=metadata)

    def _frames(self) -> dict[str, pl.DataFrame]:
        return {name: getattr(self, name) for name in export.COMPARED}

    def _facts(self) -> dict[str, Any]:
        return {
            "fmfair_version": installed_version(),
            "schema_version": export.SCHEMA_VERSION,
            "task": self.metadata.get("task"),
            "metadata": self.metadata,
            "notes": list(self.notes),
        }

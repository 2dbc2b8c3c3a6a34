"""What reports and comparisons have in common: frames, notes, and every form in which they are shown or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from fmfair import export
from fmfair.atomic import PathLike, whole_file
from fmfair.errors import FmfairError, near
from fmfair.render import Digest, to_html, to_text
from fmfair.version import installed_version

if TYPE_CHECKING:
    from typing_extensions import Self


class Result:
    """Frames with notes and metadata; `fmfair.Report` and `fmfair.Comparison` say which frames."""

    notes: tuple[str, ...]
    metadata: dict[str, Any]

    # The frames, the first of which is the one to show where none is named, and those that may be empty.
    _NAMES: ClassVar[tuple[str, ...]]
    _FURTHER: ClassVar[tuple[str, ...]] = ()
    _MAIN: ClassVar[str]

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return to_html(self._digest())

    def to_text(self) -> str:
        """What is printed: the most telling numbers as lines of at most about 100 columns, then the notes.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> print(fmfair.evaluate(df).to_text())
            fmfair report: classification, 3 samples; attributes sex; ...
            ...
        """
        return to_text(self._digest())

    def to_frame(self, which: str | None = None) -> pl.DataFrame:
        """A copy of one of the frames.

        Args:
            which: Its name; of a report `"groups"` where left out, of a comparison `"differences"`.

        Raises:
            FmfairError: There is no frame of that name.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> frame = fmfair.evaluate(df, metrics="tpr").to_frame()
            >>> frame.select("group", "value", "denominator").rows()
            [('F', 1.0, 1), ('M', 0.0, 1)]
        """
        names = (*self._NAMES, *self._FURTHER)
        name = self._MAIN if which is None else which
        if name not in names:
            raise FmfairError(f"no frame {name!r}{near(str(name), names)}; expected one of {', '.join(names)}")
        frame: pl.DataFrame = getattr(self, name)
        return frame.clone()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python values: what `to_json` writes.

        Returns:
            `fmfair_version`, `schema_version` (1), `task`, `metadata`, `notes`, and every frame as a list of rows.
            Undefined is None with its `note` beside it. Dates, decimals and categories become text; texts are never
            changed.

        Examples:
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> rows = fmfair.evaluate(df, metrics="auc").to_dict()["groups"]
            >>> [(row["group"], row["value"], row["note"]) for row in rows]
            [('F', 1.0, None), ('M', None, 'no negatives')]
        """
        rows = {name: export.json_rows(frame, self._by()) for name, frame in self._frames().items()}
        return {**export.plain(self._facts()), **rows}

    def to_json(self, path: PathLike | None = None, *, indent: int | None = 2) -> str:
        """Everything as strict JSON, also written to a file if a path is given.

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
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> list(json.loads(fmfair.evaluate(df).to_json()))[:3]
            ['fmfair_version', 'schema_version', 'task']
        """
        text = export.strict_json(self.to_dict(), indent)
        if path is not None:
            with whole_file(path) as file:
                file.write_text(text + "\n", encoding="utf-8", newline="\n")
        return text

    def write_csv(self, path: PathLike | None = None, *, which: str | None = None) -> str | None:
        """Write one frame as CSV, without its list columns.

        Every text is quoted and NULL is an empty field without quotes, so that a group called NaN or an empty name is
        told from a missing value. Polars reads it back that way; pandas needs `keep_default_na=False, na_values=[""]`
        for the group called NaN, and takes an empty name for missing.

        Args:
            path: The file to write; parent folders are made, and the file appears whole or not at all. None to get
                the text instead.
            which: The name of the frame, as in `to_frame`.

        Returns:
            The CSV text if no path is given.

        Raises:
            FmfairError: There is no frame of that name, or the file cannot be written.

        Examples:
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
        """Write the frames as a folder, each as .parquet; a report without intervals has no pairs.parquet.

        Every file carries `fmfair_version`, `schema_version`, `task`, `metadata` and `notes` (JSON) in its key-value
        metadata, where DuckDB's `parquet_kv_metadata` finds them. The folder appears whole or not at all.

        Args:
            folder: The folder to make. One that fmfair wrote before is replaced, one with other files is not.

        Raises:
            FmfairError: The folder holds files that fmfair did not write, or cannot be written.

        Examples:
            >>> import tempfile
            >>> df = pl.DataFrame({"y_true": [0, 1, 1], "y_score": [0.1, 0.9, 0.4], "sex": ["F", "F", "M"]})
            >>> with tempfile.TemporaryDirectory() as place:
            ...     fmfair.evaluate(df).write_parquet(f"{place}/results")
            ...     back = fmfair.Report.read_parquet(f"{place}/results")
            >>> back.summary["attribute"].to_list()
            ['sex']
        """
        export.write_folder(folder, self._frames(), self._facts())

    @classmethod
    def read_parquet(cls, folder: PathLike) -> Self:
        """What is in a folder that `write_parquet` wrote.

        Args:
            folder: The folder.

        Raises:
            FmfairError: The folder does not hold what this version can read.

        Examples:
            >>> fmfair.Report.read_parquet("nowhere")
            Traceback (most recent call last):
            ...
            fmfair.errors.FmfairError: no report in nowhere: 'summary.parquet', ... not found; expected a folder ...
        """
        frames, notes, metadata = export.read_folder(folder, cls._NAMES, cls._FURTHER)
        make: Callable[..., Self] = cls
        return make(**frames, notes=notes, metadata=metadata)

    def _digest(self) -> Digest:
        """What is printed."""
        raise NotImplementedError

    def _by(self) -> list[str]:
        """The names of the by-keys."""
        raise NotImplementedError

    def _frames(self) -> dict[str, pl.DataFrame]:
        """The frames; those that may be empty only where they are not."""
        further: dict[str, pl.DataFrame] = {name: getattr(self, name) for name in self._FURTHER}
        there = {name: frame for name, frame in further.items() if frame.height}
        return {**{name: getattr(self, name) for name in self._NAMES}, **there}

    def _facts(self) -> dict[str, Any]:
        return {
            "fmfair_version": installed_version(),
            "schema_version": export.SCHEMA_VERSION,
            "task": self.metadata.get("task"),
            "metadata": self.metadata,
            "notes": list(self.notes),
        }

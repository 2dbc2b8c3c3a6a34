"""Predictions: what models say of the images of a manifest, as the table that `fmfair.evaluate` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl

from fmfair.atomic import remove_left_over, whole_file
from fmfair.errors import FmfairError, Problems, check_choice, listing, plural
from fmfair.notes import Notes
from fmfair.runners.description import SLICES
from fmfair.runners.manifest import Manifest
from fmfair.runners.parts import SCHEMA_VERSION, changes
from fmfair.runners.provenance import METADATA
from fmfair.runners.similarity import Floats, probabilities
from fmfair.runners.splits import HOW_TO_SPLIT
from fmfair.runners.tables import MANIFEST, OK, PREDICTIONS, SPLITS, col
from fmfair.runners.typed import check_texts

# The folders that predictions lie in, one in the other, and the rows that a reader must hold at once.
KEYS = ("usage", "dataset", "model")
ROW_GROUP = 1 << 18


@dataclass(frozen=True)
class Embedded:
    """The embeddings of the rows of a manifest.

    Attributes:
        rows: The table of embeddings of the images of the chosen splits, in the order of the manifest.
        vectors: A row of Float32 for each that is `ok`, in that order.
    """

    rows: pl.DataFrame
    vectors: np.ndarray[Any, np.dtype[np.float32]]

    @classmethod
    def of(cls, manifest: pl.DataFrame, embeddings: pl.LazyFrame, column: str) -> Embedded:
        """The embeddings of the rows of a manifest.

        Args:
            manifest: Its rows.
            embeddings: A table of embeddings.
            column: `feature` or `shared`.

        Raises:
            FmfairError: The table has no such column, or lacks images.
        """
        if column not in embeddings.collect_schema():
            raise FmfairError(f"the embeddings have no column {column!r}: the model has no text tower")
        wanted = manifest.select("sample_id").with_row_index("row")
        found = wanted.lazy().join(
            embeddings.select("sample_id", "slice", "status", "reason", column), on="sample_id", how="left"
        )
        rows = found.sort("row", "slice", nulls_last=False).collect()
        lacking = rows.filter(pl.col("status").is_null())
        if lacking.height:
            raise FmfairError(
                f"the embeddings lack {plural(lacking.height, 'image')} of the manifest (first: "
                f"{listing(lacking['sample_id'].head(3).to_list())}); embed this manifest first"
            )
        vectors = rows.filter(pl.col("status") == OK)[column]
        return cls(rows.drop(column), np.asarray(vectors.to_numpy(), dtype=np.float32))

    @property
    def of_vector(self) -> pl.Series:
        """The row of the manifest of each vector."""
        return self.rows.filter(pl.col("status") == OK)["row"]


def to_predict(manifest: Manifest, splits: Sequence[str]) -> pl.DataFrame:
    """The rows of these splits.

    Raises:
        FmfairError: There is no such split or nothing in it, or the manifest has no label to predict.
    """
    check_texts("splits", splits, "splits", "test")
    if not splits:
        raise FmfairError(f"splits={splits!r} is no list of splits; give one, such as splits=['test']")
    problems = Problems()
    for name in splits:
        with problems.collecting():
            check_choice("splits", name, SPLITS)
    if not manifest.labels:
        problems.add("the manifest has no labels to predict; name their columns with labels=")
    problems.raise_if_any()
    rows = manifest.of_split(*splits)
    if rows.is_empty():
        there = manifest.table["split"].unique(maintain_order=True)
        raise FmfairError(
            f"no image is in the split {listing(splits)}, so nothing is predicted; there is {listing(there)}; "
            f"{HOW_TO_SPLIT}"
        )
    return rows


def pooled(embedded: Embedded, scores: Mapping[str, Floats], pool: str) -> pl.DataFrame:
    """One row per image of the manifest, with `y_logit` and what else is known of the slice that counts.

    Args:
        embedded: The images.
        scores: `y_logit` of every vector, and further columns.
        pool: `max`, the slice with the highest log-odds; `mean`, that of the log-odds; `every`, a row per slice.

    Returns:
        Columns `row`, `status`, `reason`, and those of the scores, NULL where no slice could be used; of `every` also
        `slice`.
    """
    check_choice("slices", pool, SLICES)
    names = list(scores)
    values = pl.DataFrame({name: pl.Series(v) for name, v in scores.items()})
    if pool == "every":
        every = embedded.rows.with_row_index("at")
        scored = values.with_columns(at=every.filter(pl.col("status") == OK)["at"])
        rows = every.join(scored, on="at", how="left", maintain_order="left")
        return rows.select("row", "slice", "status", "reason", *names)
    known = values.with_columns(row=embedded.of_vector)
    if pool == "max":
        best = pl.col(names).get(pl.col("y_logit").arg_max())
        values = known.group_by("row", maintain_order=True).agg(best)
    else:
        values = known.group_by("row", maintain_order=True).agg(pl.col(names).mean())
    good = pl.col("status") == OK
    bad = pl.col("reason").filter(~good).first()
    some = pl.format("{} of {} slices left out: {}", (~good).sum(), pl.len(), bad)
    states = embedded.rows.group_by("row", maintain_order=True).agg(
        status=pl.when(good.any()).then(pl.lit(OK)).otherwise(pl.col("status").first()),
        reason=pl.when(~good.any()).then(bad).when((~good).any()).then(some),
    )
    return states.join(values, on="row", how="left", maintain_order="left")


def predictions(
    manifest: Manifest, rows: pl.DataFrame, label: str, found: pl.DataFrame, *, usage: str, model: str
) -> pl.DataFrame:
    """The predictions of one label: the columns of `tables.PREDICTIONS`, and the attributes.

    Args:
        manifest: The data set.
        rows: The rows of its table that were predicted.
        label: The column of labels.
        found: As from `pooled`.
        usage: What was done, such as `zero-shot`.
        model: The name of the model.
    """
    logit = found["y_logit"].cast(pl.Float64)
    score = pl.Series(probabilities(logit.fill_null(0.0).to_numpy()))
    constant = {"usage": usage, "dataset": manifest.about.dataset, "model": model, "label": label}
    own = {
        **{name: pl.lit(text) for name, text in constant.items()},
        **{name: pl.lit(found[name]) for name in found.columns if name in PREDICTIONS},
        "y_true": col(label),
        "y_score": pl.lit(score.set(logit.is_null(), None)),
    }
    of_rows = {name: col(name) for name in MANIFEST}
    if "slice" in found.columns:
        number = pl.lit(found["slice"])
        of_rows["sample_id"] = pl.coalesce(pl.format("{}#{}", of_rows["sample_id"], number), of_rows["sample_id"])
    columns = [(own | of_rows).get(c, pl.lit(None)).cast(t).alias(c) for c, t in PREDICTIONS.items()]
    return rows[found["row"]].select(*columns, *map(col, manifest.attributes))


def write_predictions(
    table: pl.DataFrame, folder: Path | str, provenance: Mapping[str, Any], notes: Notes | None = None
) -> Path:
    """Writes predictions below a folder, by usage, data set and model, and returns the file.

    One file, of many row groups where there are many rows, takes the place of an earlier one in one step: whoever reads
    the folder, also after a run that was killed, finds the predictions of one run. `notes` takes what was otherwise in
    the earlier one.

    Raises:
        FmfairError: The file cannot be written.
    """
    file = Path(folder) / as_folder({key: table[key][0] for key in KEYS}) / "part-00000.parquet"
    about = {"schema_version": SCHEMA_VERSION, "kind": "predictions", "usage": table["usage"][0], **provenance}
    changed = _otherwise(file, json.loads(json.dumps(about)))
    entries = {METADATA: json.dumps(about, ensure_ascii=False)}
    with whole_file(file) as path:
        table.write_parquet(path, compression="zstd", row_group_size=ROW_GROUP, metadata=entries)
    remove_left_over(file.parent)
    if notes is not None and changed:
        notes.say(
            f"replaced earlier predictions that were made otherwise: {'; '.join(changed)}; to keep both, tell one of "
            "them by variant="
        )
    return file


def _otherwise(file: Path, about: Mapping[str, Any]) -> list[str]:
    """In what predictions that are there were made otherwise; a file that says nothing of that is passed over."""
    try:
        there = json.loads(pl.read_parquet_metadata(file)[METADATA]) if file.is_file() else {}
        then, now = ({"model": a["model"], "manifest": a["manifest"][:8], **a["configuration"]} for a in (there, about))
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
        return []
    return list(changes({**then, "heads": None}, {**now, "heads": None}))  # which follow from all else


def as_folder(names: Mapping[str, str]) -> Path:
    """Names and values as the folders of a hive, by percent signs where a value would not be one name.

    Examples:
        >>> as_folder({"dataset": "x-rays", "model": "a/b"}).as_posix()
        'dataset=x-rays/model=a%2Fb'
    """
    return Path(*(f"{key}={quote(value, safe=' ()') or '%00'}" for key, value in names.items()))

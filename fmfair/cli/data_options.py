"""The options of `fmfair data`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import typer

from fmfair.cli.options import Option

_NAME = "The data set; a table of your own: FILE.csv; or a recipe: FILE.toml. Without it all data sets are listed."
DATA_SET: Mapping[str, Any] = {"name": typer.Argument(metavar="NAME", help=_NAME)}
# Which column of a table of one's own is what, and what it is called.
TABLE_OPTIONS = (
    Option("path", "--path", "COL", "The images of your own table, as paths from --root: image_path"),
    Option("sample_id", "--sample-id", "COL", "Identifies an image of your own table: image_id; default its path"),
    Option("patient_id", "--patient --cluster", "COL", "The patient, where several images of one are meant: mrn"),
)
DATASET = Option("dataset", "--dataset", "NAME", "What the data set is called in results; default as the file")
DATA_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {
        "Release": (
            Option("root", "--root", "DIR", "The folder of the release; of a table that where its paths start"),
            Option("about", "--about", None, "Tell licence, access, files, labels and attributes, and stop", "switch"),
            Option("recipe", "--recipe", None, "Print the recipe of the data set, to write your own from it", "switch"),
            Option("labels", "--labels", "standard|fairmedfm|COL...",
                   "How labels are read, see --about, default standard; of a table its label columns", "texts"),
            Option("missing_images", "--missing-images", "raise|drop|keep",
                   "Where an image is missing: refuse (default), leave the row out, or do not look"),
        ),
        "Your own table": (
            *TABLE_OPTIONS,
            Option("attributes", "--sensitive", "COL...", "Its attributes: sex age", "texts"),
            DATASET,
        ),
        "Splits": (
            Option("split", "--split", "patients|released|fairmedfm|COL",
                   "By patient (default), or as published; of a table the column with train, validation and test"),
            Option("fairmedfm_split", "--fairmedfm-split", None, "The published FairMedFM rule", "switch"),
            Option("seed", "--seed", "N", "Another number gives other splits by patient; default 0", "whole"),
            Option("ratio", "--ratio", "A,B,C", "Training, validation and test; default 0.7,0.1,0.2"),
            Option("balance", "--balance", "COL...", "Share out these attributes and labels alike: sex age", "texts"),
            Option("bins", "--bins", "COL=CUTS", "Cut the numbers of --balance: age=60", "texts"),
        ),
        "Output": (
            Option("output_path", "--output", "FILE", "The manifest to write; default NAME.parquet, without folders"),
            Option("quiet", "--quiet", None, "Print no notes", "switch"),
        ),
    }
)  # fmt: skip
DATA_EPILOG = """[bold]Examples[/bold]

fmfair data

fmfair data papila --about

fmfair data papila --root PAPILA --balance sex glaucoma --output papila.parquet

fmfair data adni --root ADNI1 --fairmedfm-split

fmfair data papila --recipe > hospital.toml

fmfair data hospital.toml --root DIR

fmfair data mine.csv --labels mass --ratio 0.7,0.1,0.2 --seed 0 --balance sex mass --output mine.parquet

A manifest is one table with a row per image; its paths start from the folder of the release. Splits by patient do not
depend on the order of rows. Missing files, values that no rule knows and counts that differ from the published ones are
told together. A recipe is a short TOML file that says where tables and images are and what their columns mean.

A table of your own needs a column of image paths, and no recipe. Columns that are not named are found by usual names.
Where one holds the split, in words such as train or training; validation, val, valid, dev or development; test, testing
or holdout, it stays as it is, unless --ratio, --seed, --balance, --bins or --split patients asks for another. Without
one the table is split by patient.

Exit status: 0 done; 2 the release or an option cannot be used, and nothing was written."""

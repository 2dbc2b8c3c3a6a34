"""The options of `fmfair data`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import typer

from fmfair.cli.options import Option

_NAME = "The data set, or a recipe of your own: FILE.toml. Without it all data sets are listed."
DATA_SET: Mapping[str, Any] = {"name": typer.Argument(metavar="NAME", help=_NAME)}
DATA_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {
        "Release": (
            Option("root", "--root", "DIR", "The folder of the release, as you got it"),
            Option("about", "--about", None, "Tell licence, access, files, labels and attributes, and stop", "switch"),
            Option("recipe", "--recipe", None, "Print the recipe of the data set, to write your own from it", "switch"),
            Option("labels", "--labels", "standard|fairmedfm", "How labels are read, see --about; default standard"),
            Option("missing_images", "--missing-images", "raise|drop|keep",
                   "Where an image is missing: refuse (default), leave the row out, or do not look"),
        ),
        "Splits": (
            Option("split", "--split", "patients|released|fairmedfm", "By patient (default), or as published"),
            Option("fairmedfm_split", "--fairmedfm-split", None, "The published FairMedFM rule", "switch"),
            Option("seed", "--seed", "N", "Another number gives other splits by patient; default 0", "whole"),
            Option("ratio", "--ratio", "A,B,C", "Training, validation and test; default 0.7,0.1,0.2"),
            Option("balance", "--balance", "COL...", "Share out these attributes and labels alike: sex age", "texts"),
            Option("bins", "--bins", "COL=CUTS", "Cut the numbers of --balance: age=60", "texts"),
        ),
        "Output": (
            Option("output_path", "--output", "FILE", "The manifest to write; default NAME.parquet"),
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

A manifest is one table with a row per image; its paths start from the folder of the release. Splits by patient do not
depend on the order of rows. Missing files, values that no rule knows and counts that differ from the published ones are
told together. A recipe is a short TOML file that says where tables and images are and what their columns mean.
Exit status: 0 done; 2 the release or an option cannot be used, and nothing was written."""

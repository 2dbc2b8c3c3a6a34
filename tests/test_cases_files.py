"""Tables in files and results in files: text that looks missing, names that look like numbers."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from lookup import by_group, gap

import fmfair
from fmfair import FmfairError

# NA is a region, None a category.
REGIONS = """id,label,score,region
1,0,0.1,NA
2,1,0.9,NA
3,0,0.2,NA
4,1,0.4,NA
5,0,0.8,EU
6,1,0.7,EU
7,0,0.3,EU
8,1,0.6,EU
9,0,0.5,None
10,1,0.4,None
11,0,0.2,None
12,1,0.1,None
"""


def _csv(folder: Path) -> Path:
    (folder / "pred.csv").write_text(REGIONS)
    return folder / "pred.csv"


def _gzip(folder: Path) -> Path:
    (folder / "pred.csv.gz").write_bytes(gzip.compress(REGIONS.encode()))
    return folder / "pred.csv.gz"


def _tsv(folder: Path) -> Path:
    (folder / "pred.tsv").write_text(REGIONS.replace(",", "\t"))
    return folder / "pred.tsv"


def _parquet(folder: Path) -> Path:
    pl.read_csv(REGIONS.encode()).write_parquet(folder / "pred.parquet")
    return folder / "pred.parquet"


def _arrow(folder: Path) -> Path:
    pl.read_csv(REGIONS.encode()).write_ipc(folder / "pred.feather")
    return folder / "pred.feather"


def _lines(folder: Path) -> Path:
    pl.read_csv(REGIONS.encode()).write_ndjson(folder / "pred.jsonl")
    return folder / "pred.jsonl"


def _excel(folder: Path) -> Path:
    pl.read_csv(REGIONS.encode()).write_excel(folder / "pred.xlsx")
    return folder / "pred.xlsx"


def _pieces(folder: Path) -> Path:
    header, *lines = REGIONS.strip().split("\n")
    for i in range(3):
        (folder / f"part{i}.csv").write_text("\n".join([header, *lines[4 * i : 4 * i + 4]]) + "\n")
    return folder / "part*.csv"


def _hive(folder: Path) -> Path:
    frame = pl.read_csv(REGIONS.encode())
    for (region,), rows in frame.group_by("region"):
        (folder / "table" / f"region={region}").mkdir(parents=True)
        rows.drop("region").write_parquet(folder / "table" / f"region={region}" / "0.parquet")
    return folder / "table"


@pytest.mark.parametrize("write", [_csv, _gzip, _tsv, _parquet, _arrow, _lines, _excel, _pieces, _hive])
def test_fc51_text_such_as_na_is_a_group_in_every_format(write: Callable[[Path], Path], tmp_path: Path) -> None:
    report = fmfair.evaluate(write(tmp_path), attributes="region")

    assert by_group(report, "auc") == {"EU": 0.5, "NA": 1.0, "None": 0.25}
    assert by_group(report, "auc", "n") == {"EU": 4, "NA": 4, "None": 4}
    assert (gap(report, "auc"), gap(report, "auc", "worst")) == (0.75, 0.25)
    assert not [n for n in report.notes if "missing" in n]


def test_fc51_an_empty_field_is_missing_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "pred.csv"
    path.write_text(REGIONS.replace("None", ""))

    report = fmfair.evaluate(path, attributes="region")

    assert by_group(report, "auc", "n") == {"EU": 4, "NA": 4}
    assert [n for n in report.notes if "region: 4 rows with a missing value" in n]


def test_fc51_texts_that_the_user_calls_missing_are(tmp_path: Path) -> None:
    report = fmfair.evaluate(_csv(tmp_path), attributes="region", missing_values=["NA", "None"])

    assert by_group(report, "auc", "n") == {"EU": 4}
    assert [n for n in report.notes if "region: 8 rows with a missing value" in n]


@pytest.mark.parametrize("text", ["NaN", "nan", "null", "N/A", "-", "n.a.", "NULL", "<NA>", "#N/A"])
def test_fc51_no_other_text_is_taken_as_missing_either(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pred.csv"
    path.write_text(REGIONS.replace("NA", text))

    assert by_group(fmfair.evaluate(path, attributes="region"), "auc")[text] == 1.0


def test_fc51_a_text_in_a_score_column_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "pred.csv"
    path.write_text(REGIONS.replace("0.9", "NA"))

    with pytest.raises(FmfairError, match="column 'score' has the type String, expected numbers; not a number: 'NA'"):
        fmfair.evaluate(path, attributes="region")


def test_fc51_codes_with_leading_zeros_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "pred.csv"
    path.write_text(REGIONS.replace("NA", "007").replace("EU", "07"))

    assert set(by_group(fmfair.evaluate(path, attributes="region"), "auc")) == {"007", "07", "None"}


# Sites that are really called NaN, Infinity and BaNaNa.
STRANGE = {
    "y_true": [0, 1, 0, 1, 0, 0],
    "y_score": [0.1, 0.9, 0.3, 0.8, 0.2, 0.4],
    "site": ["NaN", "NaN", "Infinity", "Infinity", "BaNaNa", "BaNaNa"],
}


def test_fc56_names_survive_parquet_and_the_way_back(tmp_path: Path) -> None:
    report = fmfair.evaluate(STRANGE)
    report.write_parquet(tmp_path / "results")

    back = fmfair.Report.read_parquet(tmp_path / "results")
    query = f"select \"group\", value from '{tmp_path}/results/groups.parquet' where metric = 'auc' order by 1"

    assert by_group(report, "auc") == {"BaNaNa": None, "Infinity": 1.0, "NaN": 1.0}
    assert by_group(back, "auc") == by_group(report, "auc")
    assert duckdb.connect().execute(query).fetchall() == [("BaNaNa", None), ("Infinity", 1.0), ("NaN", 1.0)]
    assert back.groups.equals(report.groups)


def test_fc56_a_written_table_of_such_sites_gives_the_same_report(tmp_path: Path) -> None:
    expected = fmfair.evaluate(STRANGE).groups
    frame = pl.DataFrame(STRANGE)
    frame.write_csv(tmp_path / "p.csv")
    frame.write_parquet(tmp_path / "p.parquet")

    for source in (tmp_path / "p.csv", tmp_path / "p.parquet", frame.to_arrow(), pd.DataFrame(STRANGE)):
        assert fmfair.evaluate(source).groups.equals(expected)

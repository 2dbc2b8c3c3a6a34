"""The same table from files of every format."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from property_tests import examples
from table_files import TABLE, read, write, write_table

from fmfair.readers import collect, scan

# An .xls workbook with the header id, label, score, sex and two rows: no Python package of today writes this format.
XLS = (
    b"c-rk)O=uHA6#izD%^z*Lsj1KkB^0c+_E71;UfNZ`_GGDE6cIFO7AXyhBp%d@)taLqcv8F+dht^A;twk5O;D)VgCGcr9z6*P9@?yL"
    b"-p<xUi!`7`Wxi$Jym>S8=4IZSmz{mJl&H+#?W*Djj3R)V8%3y2Ca6UHh6U<(UCH`&go>;2Pazs1M}|y1YJC}&K9v5h!oZ#2GorwI"
    b"D#vje6NS8!+C=PU8`47BFhW$|CQ0JxWUJblPBGoW^fr%t%ychHt}q>;u@!L)OZG(nu!`cNMi2MJA@$zpId56A8y$EqqxiyA;f*!1"
    b"uQ;8~{hb}%!4@ol{5J07onksyL6RJ}fG=(e`0St5rztJpT)6<rzc$Ll>&UMeL0}f{Ne=KbCD-ME=it%`hNNS;P-ISLO(2)fI610I"
    b"Q-z{K153_XqJx8bC@RL78;;2o%}3g5IMS^g>McaGXk$LX0dG;#Ub*$@^})=feS#&koW{Lmzg^k~7Z>FWnjGgIHW9L?pJ(i1dWp4e"
    b"W4?=NlEReg-pLNdjLq?w%iP;b>kKiL?HzS|AMxdnhaPm7KiE5oUmUNVPcFW(=g~v^lco9cnZtk>5I3$%Jhc5<sKoG&Y3EN#B4Sv|"
    b"c31tQwP6)8W)n=kmfRh&)-u#yd947o0!o)yN0(q-a(AAPHDYb26F9}XyfIRXsk9iZwNZ;VBc!x={tB_|1#1~K+Hp?~qGb0SF=%LL"
    b"XlQ6?XlQ8s62iM*@GGr+X*Jb_A*{aZtWv4z&m{jX4x>QN8M>GrK%VL%&NUT3TVV=cm)PJO|9hdt5n8>78D!XwnWp2HE=QvN_iT8g"
    b"_4|%cv+LKIvGWhF{|)QA$@2"
)


@pytest.mark.parametrize(
    "name",
    [
        *("t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.tab", "t.txt", "t.txt.gz", "T.CSV", "t.v2.csv"),
        *("t.json", "t.json.gz", "t.jsonl", "t.jsonl.gz", "t.ndjson", "t.ndjson.gz"),
        *("t.parquet", "t.pq", "t.feather", "t.arrow", "t.ipc", "t.xlsx"),
        *("d[1].csv", "d[1].csv.gz", "d[1].jsonl", "d[1].json", "d[1].parquet", "d[1].arrow", "d[1].xlsx", "*.csv"),
    ],
)
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    found = read(write_table(tmp_path / name))
    assert found.equals(TABLE)
    assert found.schema == TABLE.schema


def test_the_old_excel_format(tmp_path: Path) -> None:
    path = write(tmp_path, zlib.decompress(base64.b85decode(XLS)), "t.xls")
    assert read(path).to_dict(as_series=False) == {
        "id": ["007", "008"],
        "label": [0, 1],
        "score": [0.25, 0.5],
        "sex": ["F", None],
    }


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.arrow", "t.jsonl", "t.jsonl.gz"])
def test_only_the_needed_columns_are_read(tmp_path: Path, name: str) -> None:
    frame = scan(write_table(tmp_path / name))
    assert collect(frame, ["score"])["score"].to_list() == TABLE["score"].to_list()
    assert "PROJECT 1/6 COLUMNS" in frame.select("score").explain()


def test_codes_that_look_missing_stay_text(tmp_path: Path) -> None:
    rows = ["NA"] * 4 + ["EU"] * 4 + ["None"] * 4
    table = pl.DataFrame({"id": range(12), "region": rows})
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    assert read(tmp_path / "t.csv")["region"].to_list() == rows
    assert read(tmp_path / "t.csv").equals(read(tmp_path / "t.parquet"))


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


@examples(60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(TEXT, min_size=1, max_size=8))
def test_text_groups_are_the_same_from_csv_json_and_parquet(tmp_path: Path, groups: list[str]) -> None:
    # The first group keeps the column text: a CSV file cannot tell the text `1` from the number.
    table = pl.DataFrame({"g": ["group", *groups], "n": range(len(groups) + 1)})
    table.write_csv(tmp_path / "t.csv")
    table.write_json(tmp_path / "t.json")
    table.write_ndjson(tmp_path / "t.jsonl")
    table.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.json", "t.jsonl", "t.parquet"):
        assert read(tmp_path / name).equals(table), name

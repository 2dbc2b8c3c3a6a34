"""AUC, DeLong's variance, intervals and tests beside those of R's pROC, on random tables with ties and on real rows."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from typing import Any

import polars as pl
import pytest
from command_line import DATA
from test_spread import facts

import fmfair
from fmfair.statistics.differences import delong_unpaired

# Of every case: each group by itself, the first two groups against each other, and two scores on all rows.
SCRIPT = """
suppressPackageStartupMessages(library(pROC))
rows <- read.csv(file("stdin"))
say <- function(case, what, values) cat(sprintf("%s,%s,%.17g\\n", case, what, values), sep = "")
curve <- function(rows, score) roc(rows$y, rows[[score]], levels = c(0, 1), direction = "<", quiet = TRUE)
for (case in unique(rows$case)) {
  own <- rows[rows$case == case, ]
  groups <- lapply(split(own, own$group), curve, "s1")
  for (name in names(groups)) {
    limits <- ci.auc(groups[[name]], method = "delong")
    say(case, paste(name, c("auc", "variance", "low", "high")), c(limits[2], var(groups[[name]]), limits[1], limits[3]))
  }
  test <- roc.test(groups[[1]], groups[[2]], method = "delong", paired = FALSE)
  say(case, paste("unpaired", c("d", "df", "p")), c(test$statistic, test$parameter, test$p.value))
  test <- roc.test(curve(own, "s1"), curve(own, "s2"), method = "delong", paired = TRUE)
  say(case, paste("paired", c("z", "p", "low", "high")), c(test$statistic, test$p.value, test$conf.int))
}
"""


def random_table(seed: int) -> pl.DataFrame:
    """Three groups of unlike sizes, with scores on a grid, so that there are ties in and between the classes."""
    rng = random.Random(seed)
    rows = []
    for row in range(rng.randint(60, 200)):
        y = rng.randint(0, 1) if row > 5 else row % 2
        s1, s2 = (round(min(max(rng.gauss(0.4 + 0.2 * y, 0.25), 0.0), 1.0), rng.choice((1, 2))) for _ in range(2))
        rows.append((row, y, s1, round((s1 + s2) / 2, 2), "ABC"[row % 6 // 2 if row % 5 else 0]))
    return pl.DataFrame(rows, schema=["row", "y", "s1", "s2", "group"], orient="row")


def blood_storage() -> pl.DataFrame:
    """Prostate cancers: recurrence by PSA and by Gleason score, African American or not."""
    table = pl.read_csv(DATA / "blood_storage.csv").drop_nulls(["PreopPSA", "sGS"])
    named = table.with_row_index("row").with_columns(group=pl.col("AA").cast(pl.String))
    return named.select("row", "group", y="Recurrence", s1=pl.col("PreopPSA").cast(float), s2=pl.col("sGS").cast(float))


TABLES = {"blood_storage": blood_storage(), **{f"random {seed}": random_table(seed) for seed in range(8)}}


@pytest.fixture(scope="module")
def proc() -> dict[tuple[str, str], float]:
    """What pROC says of all tables, by the table and what it is."""
    left_out = pytest.fail if os.environ.get("CI") else pytest.skip
    if not shutil.which("Rscript"):
        left_out("there is no R")
    rows = pl.concat(
        frame.select(pl.lit(name).alias("case"), "group", "y", "s1", "s2") for name, frame in TABLES.items()
    )
    done = subprocess.run(
        ["Rscript", "-e", SCRIPT], input=rows.write_csv(), capture_output=True, text=True, timeout=120, check=False
    )
    if "there is no package called" in done.stderr:
        left_out("R has no package pROC")
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in done.stdout.splitlines()]
    return {(case, what): float(value) for case, what, value in lines}


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("name", TABLES)
def test_plain_intervals_and_p_values_of_groups(proc: dict[tuple[str, str], float], name: str, engine: str) -> None:
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "by": [], "score_type": "rank"}
    first, second = sorted(TABLES[name]["group"].unique())[:2]
    report = fmfair.evaluate(
        TABLES[name], **columns, metrics="auc", auc_interval="wald", engine=engine, reference={"group": second}
    )

    for row in report.groups.iter_rows(named=True):
        group = row["group"]
        assert row["value"] == near(proc[name, f"{group} auc"])
        assert (row["ci_low"], row["ci_high"]) == (near(proc[name, f"{group} low"]), near(proc[name, f"{group} high"]))
        assert row["ci_method"] == "DeLong, Wald"
    pair = report.pairs.filter(pl.col("group") == first, pl.col("other_group") == second)
    assert (pair["p_value"].item(), pair["p_method"].item()) == (near(proc[name, "unpaired p"]), "DeLong, t")


@pytest.mark.parametrize("name", TABLES)
def test_variances_and_the_unpaired_test(
    proc: dict[tuple[str, str], float], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = TABLES[name]
    columns: dict[str, Any] = {"y_true": "y", "y_score": "s1", "attributes": "group", "score_type": "rank"}
    found = facts(frame, monkeypatch, **columns, metrics="auc")
    groups = sorted(frame["group"].unique())
    for group in groups:
        assert found["auc", group]["variance"] == near(proc[name, f"{group} variance"])

    (v1, n1), (v2, n2) = ((found["auc", g]["variance"], found["auc", g]["units"]) for g in groups[:2])
    test = delong_unpaired(proc[name, f"{groups[0]} auc"], v1, n1, proc[name, f"{groups[1]} auc"], v2, n2)
    assert (float(test.d), float(test.df)) == (near(proc[name, "unpaired d"]), near(proc[name, "unpaired df"]))


@pytest.mark.parametrize("name", TABLES)
def test_two_models_on_the_same_rows(proc: dict[tuple[str, str], float], name: str) -> None:
    frame = TABLES[name]
    models = pl.concat(
        frame.select("row", "y", "group", pl.lit(score).alias("model"), pl.col(score).alias("s"))
        for score in ("s2", "s1")
    )
    compared = fmfair.compare(
        models,
        by="model",
        baseline="s2",
        y_true="y",
        y_score="s",
        sample_id="row",
        attributes="group",
        metrics="auc",
        score_type="rank",
    )
    (row,) = compared.differences.filter(pl.col("group").is_null()).iter_rows(named=True)
    assert (row["ci_low"], row["ci_high"]) == (near(proc[name, "paired low"]), near(proc[name, "paired high"]))
    assert row["p_value"] == near(proc[name, "paired p"])

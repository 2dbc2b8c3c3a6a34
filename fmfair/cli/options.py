"""The options of `fmfair score`, as data; each bears the name of the argument of the Python API that it stands for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import typer


class Option(NamedTuple):
    """One option.

    Attributes:
        name: The argument that it stands for.
        flags: How it is typed, the usual spelling first.
        shown: What the help shows for its value; None for a switch.
        text: The help.
        kind: What its value is; `texts` may be repeated.
    """

    name: str
    flags: str
    shown: str | None
    text: str
    kind: Literal["text", "texts", "whole", "number", "switch"] = "text"


# fmt: off
OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType({
    "Data": (
        Option("attributes", "--sensitive", "COL...", "Attributes whose groups are compared: sex age", "texts"),
        Option("bins", "--bins", "COL=CUTS", "Group numbers: age=40,60 (cut points), age=q4 (quantiles)", "texts"),
        Option("intersections", "--intersections", "K|all|COL,COL", "Combine attributes: 2 (all pairs), all, sex,age",
               "texts"),
        Option("intersectional", "--intersectional", None, "Also evaluate the full combination of all attributes",
               "switch"),
        Option("by", "--by", "COL...", "Evaluate each value of these columns by itself: model fold", "texts"),
        Option("no_by", "--no-by", None, "Take no column as a by-key, whatever its name", "switch"),
        Option("metadata", "--metadata", "FILE", "Table with the attributes, joined on --on: patients.csv"),
        Option("on", "--on", "COL|PRED=META", "Column that joins the tables: image_id, or file=image_name"),
        Option("missing_values", "--missing", "TEXT...", "Texts that mean missing: NA unknown", "texts"),
        Option("missing_groups", "--missing-groups", "drop|keep", "What to do with missing attributes; default drop"),
        Option("task", "--task", "auto|cls|seg", "Classification or segmentation; default auto, by the columns"),
        Option("sample_id", "--sample-id", "COL", "Identifies a sample, once per by-key: image_id"),
        Option("cluster", "--cluster", "COL", "The patient, where several rows of one are meant: patient_id"),
        Option("weight", "--weight", "COL", "Sample weights, 0 or more: weight"),
        Option("ci", "--ci", "LEVEL|none", "Level of the intervals: 0.95; none leaves them out"),
        Option("bootstrap", "--bootstrap", "N|bca", "Intervals from so many resamplings, for every metric: 2000, bca"),
        Option("reference", "--reference", "ATTR=GROUP...", "What to compare groups with: sex=M, sex=overall", "texts"),
        Option("margins", "--margin", "METRIC=X...", "A difference that matters, for verdicts: auc=0.05", "texts"),
        Option("model_based", "--model-based", None, "Also draw small intersections toward what is expected", "switch"),
        Option("min_group_size", "--min-group-size", "N", "Leave smaller groups out of the gaps: 20", "whole"),
        Option("suppress_below", "--suppress-below", "K", "Hide what tells of 1 to K - 1 rows, also by subtraction: 11",
               "whole"),
        Option("conventions", "--conventions", "standard|fairmedfm", "fairmedfm gives the published package's numbers"),
    ),
    "Classification": (
        Option("y_true", "--label --label-col", "COL...", "What is true: label; or one-hot: is_a is_b", "texts"),
        Option("y_score", "--score --prob-col", "COL...", "The score: prob; or one per class: prob_0 prob_1", "texts"),
        Option("y_pred", "--pred", "COL", "Decisions already made: y_pred"),
        Option("y_logit", "--logit", "COL", "Logits beside probabilities, for ranking and BCE: y_logit"),
        Option("labels", "--pair", "NAME=Y_TRUE,Y_SCORE", "A finding of several: mass=expert,model", "texts"),
        Option("positive", "--positive --pos-label", "VALUE", "The positive class among the labels: malignant"),
        Option("ignore", "--ignore", "VALUE...", "Labels to leave out: uncertain -1", "texts"),
        Option("classes", "--classes", "VALUE...", "The class of each score column: benign malignant", "texts"),
        Option("score_column", "--score-column", "INDEX", "Position, from 0, of the positive class in --score: 1",
               "whole"),
        Option("score_type", "--score-type", "auto|probability|logit|rank", "How scores are read; default auto"),
        Option("thresholds", "--threshold", "T...", "Each 0.5 (the default), best_f1, youden, tpr=0.9 or tnr=0.95",
               "texts"),
        Option("metrics", "--metrics", "NAME...", "all, or names from fmfair metrics: auc tpr", "texts"),
        Option("auc_interval", "--auc-interval", "logit|wald", "Intervals of AUC: logit, or wald as R's pROC has them"),
        Option("missing_scores", "--missing-scores", "raise|drop", "What to do with missing scores; default raise"),
        Option("missing_labels", "--missing-labels", "drop|raise", "What to do with missing labels; default drop"),
        Option("engine", "--engine", "auto|polars|duckdb", "What computes; auto: duckdb for files beyond memory"),
        Option("memory_limit", "--memory-limit", "SIZE", "What duckdb may hold in memory before it spills: 4GB"),
        Option("temp_dir", "--temp-dir", "FOLDER", "Where duckdb spills to; default the system's folder"),
    ),
    "Segmentation": (
        Option("dice", "--dice --dice-col", "COL", "Dice of each sample: dice"),
        Option("iou", "--iou", "COL", "IoU of each sample: iou"),
        Option("pred_mask", "--pred-mask", "COL", "Paths of the predicted masks, from the table's folder: pred_path"),
        Option("true_mask", "--true-mask", "COL", "Paths of the reference masks, from the table's folder: gt_path"),
        Option("label", "--mask-label", "N", "Class to evaluate in masks with several: 2; default any foreground"),
        Option("mask_threshold", "--mask-threshold", "P", "Cut of probability masks, default 0.5; or grey level: 128",
               "number"),
        Option("mask_type", "--mask-type", "auto|label|probability|logit", "What masks hold; default auto"),
        Option("empty", "--empty", "one|zero|drop", "What two empty masks count; default one"),
        Option("empty_score", "--empty-score", "1|0", "The same as --empty one or --empty zero", "number"),
    ),
    "Output": (
        Option("output_path", "--output", "PATH", "Write report.json (everything), groups.csv, or results/ (Parquet)"),
        Option("html_path", "--html", "PATH", "Write the report as one document for people: report.html"),
        Option("plan", "--plan", "FILE", "What you know of it, for the document; fmfair plan prints one to fill in"),
        Option("form", "--format", "table|pairs|json|csv", "Print tables (default), pairs of groups, JSON, or groups"),
        Option("quiet", "--quiet", None, "Print no notes, no warnings and no progress", "switch"),
        Option("fail_if", "--fail-if", "CONDITION", 'Exit with status 1 where it holds: "tpr.gap>0.1"', "texts"),
    ),
})
# fmt: on

_BY_NAME = {option.name: option for options in OPTIONS.values() for option in options}
# What of it `fmfair count` takes, and what only that takes.
COUNT_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {
        "Data": (
            _BY_NAME["attributes"],
            _BY_NAME["bins"]._replace(text="Group numbers: age=40,60 (cut points)"),
            *(_BY_NAME[n] for n in ("intersections", "intersectional", "by", "no_by")),
            *(_BY_NAME[n] for n in ("missing_values", "missing_groups")),
            _BY_NAME["y_true"]._replace(shown="COL", text="What is true: label"),
            _BY_NAME["y_score"]._replace(shown="COL", text="The score of the positive class: prob"),
            *(_BY_NAME[n] for n in ("positive", "ignore")),
            _BY_NAME["score_type"]._replace(shown="auto|probability|logit"),
            *(_BY_NAME[n] for n in ("missing_scores", "missing_labels")),
        ),
        "Output": (
            Option("output_path", "--output", "PATH", "Where the counts are written; must be given: counts.parquet"),
            Option("grid", "--grid", "N", "Score bins on [0, 1]; default 4000", "whole"),
            _BY_NAME["suppress_below"]._replace(text="Show no count of 1 to K - 1 rows: 10"),
            _BY_NAME["quiet"],
        ),
    }
)

# What of it `fmfair compare` takes, and what only that takes.
_OF_REPORTS = ("by", "no_by", "conventions", "bootstrap", "reference", "margins", "model_based")
COMPARE_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {
        "Models": (
            _BY_NAME["by"]._replace(text="The column of the models; then columns to compare within: model dataset"),
            _BY_NAME["no_by"]._replace(text="Compare within no column that is found by its name"),
            Option("baseline", "--baseline", "MODEL", "Compare each other model with this one; default all pairs"),
            Option("headline", "--headline", "METRIC", "Metric of the table of utility and gap; default auc or dice"),
            Option("bootstrap", "--bootstrap", "N", "Replicates, for what has no closed form: 2000", "whole"),
        ),
        "Data": tuple(o for o in OPTIONS["Data"] if o.name not in _OF_REPORTS),
        "Classification": tuple(
            o for o in OPTIONS["Classification"] if o.name not in ("auc_interval", "engine", "memory_limit", "temp_dir")
        ),
        "Segmentation": OPTIONS["Segmentation"],
        "Output": (
            _BY_NAME["output_path"]._replace(
                text="Write all.json (everything), differences.csv, or results/ (Parquet)"
            ),
            _BY_NAME["form"]._replace(
                shown="table|json|csv", text="Print tables (default), all as JSON, or the differences as CSV"
            ),
            _BY_NAME["quiet"],
        ),
    }
)

_TYPES: Mapping[str, Any] = {
    "text": str | None,
    "texts": list[str] | None,
    "whole": int | None,
    "number": float | None,
    "switch": bool,
}
_EXAMPLES = r"""[bold]Examples[/bold]

fmfair score predictions.csv --sensitive sex age --bins age=40,60

fmfair score predictions.parquet --metadata patients.csv --on image_id --sensitive sex race --intersections 2

fmfair score preds.csv --label diagnosis --positive malignant --score prob_benign prob_malignant

fmfair score labels.csv --pair effusion=expert_effusion,nlp_effusion --pair mass=expert_mass,nlp_mass --sensitive sex

fmfair score psa.csv --label recurrence --score psa --score-type rank --sensitive race --missing-scores drop

fmfair score "runs/model=*/fold=*/*.parquet" --by model fold --threshold 0.5 best_f1 tpr=0.9 --output results/

fmfair score "nightly/*.parquet" --sensitive sex age_group --engine duckdb --memory-limit 4GB --temp-dir /scratch

fmfair score dice.csv --sensitive sex --format csv

fmfair score masks.csv --pred-mask pred_path --true-mask gt_path --sensitive sex --empty zero

fmfair score all.counts.parquet --metrics auc tpr

fmfair score preds.csv --sensitive race --reference race=White --margin tpr=0.05 --format pairs

fmfair score preds.csv --sensitive sex age --cluster patient_id --html report.html --plan plan.toml

fmfair score preds.csv --sensitive sex --fail-if "tpr.gap>0.1" --fail-if "auc.worst\[sex]<0.8" --fail-if "auc-gap>0.05"
"""
_PROSE = (
    """Columns are found by their usual names where they are not named: label, y_true, target; prob, score, y_score,
    prob_0 prob_1; dice; pred_mask, gt_mask; sex, age, race, site; model, dataset, fold. Tables are CSV, TSV, JSON or
    JSON Lines (each also with .gz), Parquet, Feather, Arrow or Excel; a glob or a folder, also with key=value
    partitions, is one table.""",
    """A table of counts, from fmfair count or merge, is told by its columns; it takes --threshold, --metrics, --ci,
    --auc-interval, --reference, --margin, --min-group-size and the options of the output.""",
    """Repeat an option that ends in ... or give several values after it; columns and metrics may also be separated by
    commas. --bins, --intersections, --pair and --fail-if may be repeated too.""",
    r"""--fail-if takes METRIC.STATISTIC, compared by >, >=, < or <= with a number; @THRESHOLD and \[ATTRIBUTE]
    narrow it. Metrics are those of fmfair metrics, equal_opportunity, equalized_odds and demographic_parity.
    Statistics are gap (or difference), ratio, worst, best, difference_to_overall, ratio_to_overall, std and overall
    (on all rows). A condition looks at every threshold, by-key and attribute. Names of the summary stand for such a
    pair: auc-gap is auc.gap, eo is equal_opportunity.gap, overall-auc is auc.overall.""",
    """Results go to standard output, notes and warnings to standard error. Exit status: 0 done; 1 nothing could be
    computed or a --fail-if condition holds; 2 the input or an option cannot be used.""",
)
_STATUS = "Exit status: 0 done; 2 the input or an option cannot be used, and nothing was written."


def _epilog(examples: str, prose: tuple[str, ...]) -> str:
    return "\n\n".join([examples.strip(), *(" ".join(paragraph.split()) for paragraph in prose)])


EPILOG = _epilog(_EXAMPLES, _PROSE)
REPORT_EPILOG = _epilog(
    """[bold]Examples[/bold]

fmfair score predictions.parquet --sensitive sex age --output results/

fmfair report results/ --plan plan.toml --output report.html
""",
    (
        """The document is made from the stored results alone, so that the same results give the same document. The plan
        is a TOML file with what fmfair cannot know: title, intended_use, unit, model, data, population,
        reference_standard, thresholds, claim, pre_specified, limits, author, date, groups, groups_without_data,
        descriptions, recorded_by and criteria; fmfair plan > plan.toml writes an empty one. What is missing reads
        "not stated".""",
        _STATUS,
    ),
)
COUNT_EPILOG = _epilog(
    """[bold]Examples[/bold]

fmfair count predictions.parquet --sensitive sex age --bins age=40,60 --suppress-below 10 --output counts.parquet

fmfair count "night/*.csv" --sensitive sex race --intersections 2 --suppress-below 10 --output night.counts.parquet
""",
    (
        """Without --suppress-below the counts single people out and must not be shared where the rows may not be. With
        it, no count of fewer rows and no name of a small group is written, unless it was declared; how many rows of a
        bin are positive is, and several tables of the same patients may tell more.""",
        _STATUS,
    ),
)
COMPARE_EPILOG = _epilog(
    """[bold]Examples[/bold]

fmfair compare predictions.csv --by model --sensitive sex age --bins age=40,60

fmfair compare "runs/model=*/*.parquet" --by model --baseline resnet --cluster patient_id --metrics auc tpr tnr

fmfair compare dice.csv --by model --dice dice --sensitive sex

fmfair compare masks.csv --by model --pred-mask pred_path --true-mask gt_path --sensitive scanner --bootstrap 2000
""",
    (
        """One row per sample and model; samples are paired by --sample-id, found by name (sample_id, image_id). Only
        samples that every model has count.""",
        _STATUS,
    ),
)
MERGE_EPILOG = _epilog(
    """[bold]Examples[/bold]

fmfair merge north.counts.parquet south.counts.parquet --output all.parquet

fmfair merge "nights/*.counts.parquet" --output nights.parquet
""",
    ("Then: fmfair score all.parquet.", _STATUS),
)


_TABLE: Mapping[str, Any] = {
    "predictions": typer.Argument(
        metavar="PREDICTIONS", help="Table with one row per sample: a file, a glob or a folder."
    ),
    "table_option": typer.Option("--input", "--predictions", hidden=True),
}


def with_options(
    function: Callable[..., None],
    panels: Mapping[str, tuple[Option, ...]] = OPTIONS,
    first: Mapping[str, Any] = _TABLE,
) -> Callable[..., None]:
    """Gives a function `f(context, **given)` the options as its parameters, which is where typer looks for them.

    Args:
        function: The command.
        panels: Its options, by the panel of the help that they stand in.
        first: What comes before them: texts that may be left out, as typer declares them.
    """
    parameters = [_parameter("context", typer.Context, inspect.Parameter.empty)]
    parameters += [_parameter(name, Annotated[str | None, declared], None) for name, declared in first.items()]
    for panel, options in panels.items():
        for option in options:
            declared = typer.Option(
                *option.flags.split(), metavar=option.shown, help=option.text, rich_help_panel=panel, show_default=False
            )
            default = False if option.kind == "switch" else None
            parameters.append(_parameter(option.name, Annotated[_TYPES[option.kind], declared], default))
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect.signature
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples

from fmfair.errors import FmfairError
from fmfair.join import join_metadata
from fmfair.readers import scan


def join(
    predictions: dict[str, Any] | pl.DataFrame,
    metadata: dict[str, Any] | pl.DataFrame,
    on: str | tuple[str, str] | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    notes: list[str] = []
    joined = join_metadata(pl.LazyFrame(predictions), pl.LazyFrame(metadata), on, notes)
    return joined.collect(), notes


def test_two_images_of_one_patient_stay_two_rows_in_their_order() -> None:
    predictions = {"id": [44, 41, 43, 41], "score": [0.6, 0.2, 0.7, 0.9]}
    metadata = {"id": [41, 42, 43, 44], "sex": ["F", "F", "M", "M"]}

    joined, notes = join(predictions, metadata, "id")

    assert joined.rows() == [(44, 0.6, "M"), (41, 0.2, "F"), (43, 0.7, "M"), (41, 0.9, "F")]
    assert joined.columns == ["id", "score", "sex"]
    assert notes == ["ignored: 1 metadata row without a prediction"]


def test_an_id_in_two_different_metadata_rows_is_named_with_its_count() -> None:  # FC-53
    predictions = {"id": [41, 41, 43, 44], "label": [0, 1, 0, 1], "score": [0.2, 0.9, 0.7, 0.6]}
    demographics = {"id": [41, 41, 42, 43, 44], "sex": ["F", "M", "F", "M", "M"]}

    with pytest.raises(FmfairError, match=r"^id 41 occurs 2 times in the metadata; it must identify one row$"):
        join(predictions, demographics)

    joined, _ = join(predictions, {"id": [41, 42, 43, 44], "sex": ["F", "F", "M", "M"]})
    assert joined.height == 4


def test_several_repeated_ids_are_listed_in_the_order_of_the_metadata() -> None:
    metadata = {"patient_id": ["b", "b", *"cacac", "d", "d"], "sex": ["F", "M", *"FFMMF", "F", "F"]}

    with pytest.raises(FmfairError) as caught:
        join({"patient_id": ["a"]}, metadata)

    assert str(caught.value) == (
        "3 values of 'patient_id' occur in several rows of the metadata: b (2 times), c (3 times), a (2 times); "
        "each must identify one row"
    )


def test_a_long_list_of_repeated_ids_is_cut() -> None:
    metadata = {"id": [i // 2 for i in range(20)], "sex": ["F", "M"] * 10}
    with pytest.raises(FmfairError, match=r"^10 values of 'id' .*: 0 \(2 times\), .*4 \(2 times\) and 5 more; each"):
        join({"id": [1]}, metadata)


def test_an_id_that_only_spells_differently_is_a_repeated_id() -> None:
    with pytest.raises(FmfairError, match=r"^id 0 occurs 2 times"):
        join({"id": [0]}, {"id": [0.0, -0.0], "sex": ["F", "M"]})


def test_metadata_rows_that_are_equal_in_every_column_count_once() -> None:
    metadata = {"id": [1, 2, 1, 1], "sex": ["F", "M", "F", "F"], "age": [None, 30, None, None]}

    joined, notes = join({"id": [1, 2]}, metadata)

    assert joined.rows() == [(1, "F", None), (2, "M", 30)]
    assert "counted once: 2 metadata rows equal to an earlier one in every column" in notes


def test_equal_rows_of_one_id_do_not_excuse_different_rows_of_another() -> None:
    metadata = {"id": [1, 1, 2, 2], "sex": ["F", "F", "F", "M"]}
    with pytest.raises(FmfairError, match=r"^id 2 occurs 2 times"):
        join({"id": [1]}, metadata)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([41], [41.0]),
        ([41], ["41"]),
        ([41.0], ["41"]),
        (["41"], [41]),
        (pl.Series([41], dtype=pl.UInt8), pl.Series([41], dtype=pl.Int64)),
        (pl.Series([41], dtype=pl.Float32), ["41"]),
        (pl.Series(["41.00"]).cast(pl.Decimal(10, 2)), [41]),
        (pl.Series(["4100"]).cast(pl.Decimal(10, 0)), ["4100"]),
        (["41"], pl.Series(["41"], dtype=pl.Categorical)),
        (["41"], pl.Series(["41"], dtype=pl.Enum(["x", "41"]))),
        ([9007199254740993], ["9007199254740993"]),
        ([9223372036854775807], pl.Series([9223372036854775807], dtype=pl.UInt64)),
        ([18446744073709551615], pl.Series([18446744073709551615], dtype=pl.Int128)),
        ([41.5], ["41.5"]),
        ([1e300], [1e300]),
        (["2020-01-01"], pl.Series(["2020-01-01"]).str.to_date()),
        ([True], ["True"]),
    ],
)
def test_ids_that_are_the_same_whatever_their_type(ours: Any, theirs: Any) -> None:
    joined, _ = join(pl.DataFrame({"id": ours}), pl.DataFrame({"id": theirs, "sex": ["F"]}))
    assert joined["sex"].to_list() == ["F"]
    assert joined["id"].to_list() == pl.Series(ours).to_list()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["007"], ["7"]),
        (["007"], [7]),
        (["41.0"], [41]),
        ([9007199254740993], [9007199254740992]),
        ([9007199254740993], [9007199254740992.0]),
        (["a"], ["A"]),
        (["a "], ["a"]),
        (pl.Series([0.7], dtype=pl.Float32), pl.Series([0.7], dtype=pl.Float64)),
    ],
)
def test_ids_that_are_not_the_same(ours: Any, theirs: Any) -> None:
    with pytest.raises(FmfairError, match="no id of the predictions is in the metadata"):
        join(pl.DataFrame({"id": ours}), pl.DataFrame({"id": theirs, "sex": ["F"]}))


def test_no_match_shows_two_ids_of_each_side_and_their_types() -> None:
    with pytest.raises(FmfairError) as caught:
        join({"image": ["007", "007", "008", "009"]}, {"image": [7, 8, 9], "sex": ["F", "M", "F"]})

    assert str(caught.value) == (
        "no id of the predictions is in the metadata: 'image' (String) of the predictions holds '007' and '008', "
        "'image' (Int64) of the metadata holds '7' and '8'; name the column with on (command line: --on NAME, or "
        "--on NAME_IN_PREDICTIONS=NAME_IN_METADATA)"
    )


def test_no_match_where_one_side_has_no_id() -> None:
    with pytest.raises(FmfairError, match=r"'id' .* of the metadata holds no id at all"):
        join({"id": [1]}, {"id": pl.Series([], dtype=pl.Int64)})
    with pytest.raises(FmfairError, match=r"'id' .* of the predictions holds no id at all"):
        join({"id": [None, None]}, {"id": [1, 2]})


@pytest.mark.parametrize("missing", [[None, ""], [float("nan"), None]])
def test_missing_ids_match_nothing_and_are_counted(missing: list[Any]) -> None:
    known: list[Any] = ["1", "2", "3"] if "" in missing else [1.0, 2.0, 3.0]
    predictions = {"id": [*known[:2], *missing, known[0]], "row": [0, 1, 2, 3, 4]}
    metadata = {"id": [*missing, known[0], known[2], missing[0]], "sex": ["x", "y", "F", "M", "z"]}

    joined, notes = join(pl.DataFrame(predictions, strict=False), pl.DataFrame(metadata, strict=False), "id")

    assert joined.select("row", "sex").rows() == [(0, "F"), (4, "F")]
    assert notes == [
        "left out: 2 predictions without 'id'",
        "left out: 1 prediction whose 'id' is not in the metadata",
        "ignored: 3 metadata rows without 'id'",
        "ignored: 1 metadata row without a prediction",
    ]


def test_text_na_is_an_id() -> None:
    joined, notes = join({"id": ["NA", "None"]}, {"id": ["None", "NA"], "sex": ["M", "F"]}, "id")
    assert joined["sex"].to_list() == ["F", "M"]
    assert notes == []


def test_a_perfect_match_leaves_no_note() -> None:
    assert join({"id": [1, 2]}, {"id": [2, 1], "sex": ["F", "M"]}, "id")[1] == []


def test_predictions_without_a_row_stay_empty() -> None:
    joined, _ = join({"id": pl.Series([], dtype=pl.Int64)}, {"id": [1], "sex": ["F"]})
    assert (joined.height, joined.columns) == (0, ["id", "sex"])


def test_colliding_names_get_a_suffix_and_a_note() -> None:
    predictions = {"id": [1], "sex": ["m"], "age": [30], "age_metadata": [0]}
    metadata = {"id": [1], "sex": ["F"], "age": [31], "race": ["a"], "sex_metadata": ["s"]}

    joined, notes = join(predictions, metadata, "id")

    assert joined.row(0, named=True) == {
        "id": 1,
        "sex": "m",
        "age": 30,
        "age_metadata": 0,
        "sex_metadata_metadata": "F",
        "age_metadata_metadata": 31,
        "race": "a",
        "sex_metadata": "s",
    }
    (note,) = notes
    assert note.startswith("metadata columns whose names the predictions have too: ")
    assert note.endswith(": 'sex' became 'sex_metadata_metadata', 'age' became 'age_metadata_metadata'")


def test_two_names_of_the_id() -> None:
    predictions = {"pid": [1, 2], "patient": ["p", "q"]}
    metadata = {"patient": ["2", "1"], "pid": ["x", "y"], "sex": ["F", "M"]}

    joined, _ = join(predictions, metadata, ("pid", "patient"))

    assert joined.rows() == [(1, "p", "y", "M"), (2, "q", "x", "F")]
    assert joined.columns == ["pid", "patient", "pid_metadata", "sex"]


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (["patient_id", "sex"], ["patient_id", "sex"], ("patient_id", "patient_id")),
        (["Patient ID"], ["patient-id", "sex"], ("Patient ID", "patient-id")),
        (["image_id", "patient_id"], ["patient_id", "sex"], ("patient_id", "patient_id")),
        (["accession", "score"], ["accession", "sex"], ("accession", "accession")),
    ],
)
def test_the_id_is_found_by_name(left: list[str], right: list[str], found: tuple[str, str]) -> None:
    predictions, metadata = ({name: ["1"] for name in names} for names in (left, right))

    joined, notes = join(predictions, metadata)

    assert joined.height == 1
    names = repr(found[0]) if found[0] == found[1] else f"{found[0]!r} and {found[1]!r}"
    assert notes[0] == f"predictions and metadata were joined on {names}"
    assert found[1] not in [c for c in joined.columns if c not in left]


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (["image_id", "id"], ["id", "image_id"], "several columns in common: 'image_id', 'id'; name the column with"),
        (["sex", "age"], ["sex", "age"], "several columns in common: 'sex', 'age'; name the column with"),
        (["score"], ["sex"], r"the predictions \('score'\) and the metadata \('sex'\) have no column in common"),
    ],
)
def test_an_id_that_cannot_be_told_shows_the_option(left: list[str], right: list[str], message: str) -> None:
    predictions, metadata = ({name: ["1"] for name in names} for names in (left, right))
    with pytest.raises(FmfairError, match=rf"{message}.*on \(command line: --on NAME"):
        join(predictions, metadata)


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("ID ", "^no column 'ID ' in the predictions to join on; did you mean 'id'\\?$"),
        ("accession", "^no column 'accession' in the predictions to join on; there are 'id', 'score'$"),
        (("id", "key"), "^no column 'key' in the metadata to join on; there are 'id', 'sex'$"),
        (("id", "id", "id"), "^on has 3 names; give one, or a pair"),
    ],
)
def test_a_wrong_on_says_what_there_is(on: Any, message: str) -> None:
    with pytest.raises(FmfairError, match=message):
        join({"id": [1], "score": [0.5]}, {"id": [1], "sex": ["F"]}, on)


@pytest.mark.parametrize("values", [[[1]], [{"a": 1}], [b"1"]])
def test_an_id_must_be_number_or_text(values: list[Any]) -> None:
    with pytest.raises(FmfairError, match=r"column 'id' of the metadata is of type .*; an id must be a number or text"):
        join({"id": [1]}, {"id": values})


def test_any_column_name_survives() -> None:
    names = ["*", "^a.*$", "id as text", "count", "len", 'Patient "sex"', "a", ""]
    predictions = pl.DataFrame({"key": [1, 2], **{name: [1, 2] for name in names}})
    metadata = pl.DataFrame({"key": [2, 1], **{name: [20, 10] for name in names}})

    joined, _ = join(predictions, metadata, "key")

    assert joined.columns == ["key", *names, *(f"{name}_metadata" for name in names)]
    assert joined.row(0) == (1, *[1] * len(names), *[10] * len(names))


def test_an_id_named_like_a_pattern() -> None:
    joined, _ = join({"^.*$": [1], "a": [5]}, {"^.*$": ["1"], "*": ["F"]}, "^.*$")
    assert joined.row(0, named=True) == {"^.*$": 1, "a": 5, "*": "F"}


def test_nested_metadata_is_carried_and_compared() -> None:
    metadata = {"id": [1, 1], "boxes": [[1, 2], [1, 2]]}
    joined, notes = join({"id": [1]}, metadata, "id")
    assert joined["boxes"].to_list() == [[1, 2]]
    assert notes == ["counted once: 1 metadata row equal to an earlier one in every column"]


def test_the_join_stays_lazy_and_reads_only_what_is_asked_for(tmp_path: Any) -> None:
    (tmp_path / "p.csv").write_text("id,score,x\n1,0.5,a\n2,0.25,b\n")
    (tmp_path / "m.csv").write_text("id,sex,y\n2,F,c\n1,M,d\n")

    joined = join_metadata(scan(tmp_path / "p.csv"), scan(tmp_path / "m.csv"), None, [])

    assert joined.select("score", "sex").collect().rows() == [(0.5, "M"), (0.25, "F")]
    assert joined.select("score", "sex").explain().count("PROJECT 2/3 COLUMNS") == 2


def test_text_ids_of_a_csv_keep_their_zeros(tmp_path: Any) -> None:
    (tmp_path / "p.csv").write_text("id,score\n007,0.5\n7,0.25\n")
    joined, notes = join(
        scan(tmp_path / "p.csv").collect(), pl.DataFrame({"id": ["007", "7"], "sex": ["F", "M"]}), "id"
    )
    assert joined.rows() == [("007", 0.5, "F"), ("7", 0.25, "M")]
    assert notes == []


def test_an_unreadable_table_is_one_clear_error() -> None:
    broken = pl.LazyFrame({"id": ["x"]}).select(pl.col("id").cast(pl.Int64))
    with pytest.raises(FmfairError, match=r"^cannot read the ids of the metadata: "):
        join_metadata(pl.LazyFrame({"id": [1]}), broken, "id", [])
    with pytest.raises(FmfairError, match=r"^cannot read the columns of the predictions: "):
        join_metadata(broken.select("nothing"), broken, "id", [])


SMALL = st.integers(0, 6)
IDS = {
    "int": SMALL,
    "float": SMALL.map(float),
    "text": st.one_of(SMALL.map(str), SMALL.map(lambda i: f"0{i}"), st.just("NA")),
}
DTYPES = {"int": pl.Int64, "float": pl.Float64, "text": pl.String}


def as_id(value: Any) -> str | None:
    if value is None:
        return None
    return str(int(value)) if isinstance(value, float) else str(value)


@examples(200, deadline=None)
@given(data=st.data(), left=st.sampled_from(sorted(IDS)), right=st.sampled_from(sorted(IDS)))
def test_the_join_is_a_dictionary_lookup(data: st.DataObject, left: str, right: str) -> None:
    ours = data.draw(st.lists(st.none() | IDS[left], min_size=1, max_size=12))
    theirs = data.draw(st.lists(st.tuples(st.none() | IDS[right], st.sampled_from(["F", "M", None])), max_size=8))
    rows: dict[str, set[str | None]] = {}
    for id_, sex in theirs:
        if id_ is not None:
            rows.setdefault(as_id(id_) or "", set()).add(sex)
    expected = [
        (i, next(iter(rows[key]))) for i, value in enumerate(ours) if (key := as_id(value) or "missing") in rows
    ]
    predictions = pl.DataFrame({"id": pl.Series(ours, dtype=DTYPES[left]), "row": range(len(ours))})
    metadata = pl.DataFrame(
        {"id": pl.Series([i for i, _ in theirs], dtype=DTYPES[right]), "sex": [s for _, s in theirs]}
    )

    if any(len(sexes) > 1 for sexes in rows.values()):
        with pytest.raises(FmfairError, match="identify one row"):
            join(predictions, metadata, "id")
    elif not expected:
        with pytest.raises(FmfairError, match="no id of the predictions"):
            join(predictions, metadata, "id")
    else:
        joined, notes = join(predictions, metadata, "id")
        assert joined.select("row", "sex").rows() == expected
        dropped = [note for note in notes if note.startswith("left out")]
        assert sum(int(note.split()[2]) for note in dropped) == len(ours) - len(expected)

"""Manifests: written and read back, made from a table of the user's, and refused with all problems at once."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fmfair.errors import FmfairError
from fmfair.notes import Notes
from fmfair.runners.description import About, Prompts
from fmfair.runners.manifest import KEY, Manifest, read_manifest
from fmfair.runners.roles import Roles
from fmfair.runners.tables import MANIFEST

TABLE = pl.DataFrame(
    {
        "sample_id": ["a", "b", "c", "d"],
        "patient_id": ["p", "p", "q", "r"],
        "path": ["x/a.png", "x/b.png", "c.png", "d.png"],
        "split": ["train", "train", "validation", "test"],
        "glaucoma": [1, None, 0, 1],
        "sex": ["female", "female", None, "male"],
        "age": [60.0, 60.0, 41.5, None],
    }
)
ABOUT = About(
    dataset="eyes",
    title="Eyes",
    modality="fundus photograph",
    licence="CC0",
    access="open",
    prompts={"glaucoma": Prompts(("normal",), ("glaucoma", "cupping"), ("a {}", "an image of a {}"))},
    slices="max",
    reading="key=rnflt",
    split="by patient",
)


def manifest(table: pl.DataFrame = TABLE, root: Path = Path(), about: About = ABOUT, **changed: Any) -> Manifest:
    roles = {"labels": ("glaucoma",), "attributes": ("sex", "age"), **changed}
    return Manifest(table, roles["labels"], roles["attributes"], root, about)


def user_table(folder: Path, text: str, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_files_can_be_read_otherwise_than_the_manifest_says(tmp_path: Path) -> None:
    manifest().write(tmp_path / "eyes.parquet")

    found = read_manifest(tmp_path / "eyes.parquet", reading="every=2   window=0:9")
    assert found.about == replace(ABOUT, reading="window=0:9 every=2")
    with pytest.raises(FmfairError, match="'wndow=0:9' is not known"):
        read_manifest(tmp_path / "eyes.parquet", reading="wndow=0:9")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    made = manifest(root=tmp_path / "images")
    made.write(tmp_path / "deep" / "eyes.parquet")

    read = read_manifest(tmp_path / "deep" / "eyes.parquet")

    assert read.table.equals(made.table)
    assert (read.labels, read.attributes, read.root, read.about) == (
        ("glaucoma",),
        ("sex", "age"),
        tmp_path / "images",
        ABOUT,
    )
    assert read.paths()[0] == tmp_path / "images" / "x" / "a.png"
    assert read_manifest(tmp_path / "deep" / "eyes.parquet", root=tmp_path).root == tmp_path


def test_its_columns_have_the_declared_types_and_others_are_left_out() -> None:
    made = manifest(TABLE.with_columns(pl.col("glaucoma").cast(pl.Float64), note=pl.lit("private")))

    assert dict(made.table.schema) == {**MANIFEST, "glaucoma": pl.Int8(), "sex": pl.String(), "age": pl.Float64()}
    assert made.table["glaucoma"].to_list() == [1, None, 0, 1]
    assert made.of_split("train", "test")["sample_id"].to_list() == ["a", "b", "d"]


def test_booleans_are_labels_and_an_unknown_label_stays_unknown() -> None:
    made = manifest(TABLE.with_columns(glaucoma=pl.Series([True, None, False, True])))

    assert made.table["glaucoma"].to_list() == [1, None, 0, 1]


def test_all_problems_are_told_at_once() -> None:
    broken = TABLE.with_columns(
        sample_id=pl.Series(["a", "a", None, "d"]),
        patient_id=pl.Series(["p", "p", "p", " "]),
        path=pl.Series(["x", None, "", "y"]),
        split=pl.Series(["train", "dev", "test", None]),
        glaucoma=pl.Series([1, 2, 0, -1]),
    )

    with pytest.raises(FmfairError) as error:
        manifest(broken)

    assert error.value.problems == [
        "sample_id is missing in 1 row (row 2)",
        "patient_id is missing in 1 row (row 3)",
        "path is missing in 2 rows (rows 1, 2, counted from 0)",
        "split is missing in 1 row (row 3)",
        "sample_id is not unique in 2 rows (rows 0, 1, counted from 0)",
        "split is none of 'train', 'validation', 'test' in 1 row (row 1)",
        "label 'glaucoma' is neither 0, 1 nor empty (unknown) in 2 rows (rows 1, 3, counted from 0)",
        (
            "1 patient in more than one split, so a test would be of patients seen in training; fmfair data TABLE "
            "--ratio 0.7,0.1,0.2 splits by patient, in Python Manifest.split()"
        ),
    ]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"labels": ("glaucoma", "amd")}, "the manifest lacks 'amd'"),
        ({"attributes": ("sex", "glaucoma")}, "'glaucoma' is meant to be two things"),
        ({"attributes": ("sex", "split")}, "'split' is meant to be two things"),
    ],
)
def test_columns_have_one_role_each(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises(FmfairError, match=expected):
        manifest(**changed)


def test_no_attribute_takes_the_place_of_a_column_of_predictions() -> None:
    with pytest.raises(FmfairError, match="'model' has the name of a column of predictions"):
        manifest(TABLE.with_columns(model=pl.lit("x")), attributes=("model",))


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(FmfairError, match="holds no row"):
        manifest(TABLE.clear())


def test_a_text_of_zeros_and_ones_is_no_label() -> None:
    with pytest.raises(FmfairError, match=r"neither 0, 1 nor empty \(unknown\) in 3 rows"):
        manifest(TABLE.with_columns(pl.col("glaucoma").cast(pl.String)))


def test_missing_files_are_counted_with_the_first_few(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.png").touch()
    made = manifest(root=tmp_path)

    with pytest.raises(FmfairError, match=r"3 of 4 images not found below .*: 'x/b.png', 'c.png', 'd.png'"):
        made.check_files()
    for path in ("x/b.png", "c.png", "d.png"):
        (tmp_path / path).touch()
    made.check_files()


def test_patients_in_two_splits_are_allowed_only_where_the_published_rule_made_them(tmp_path: Path) -> None:
    shared = TABLE.with_columns(split=pl.Series(["train", "test", "test", "train"]))
    with pytest.raises(FmfairError, match="1 patient in more than one split"):
        manifest(shared)

    manifest(shared, about=replace(ABOUT, shared_patients=True)).write(tmp_path / "m.parquet")
    notes = Notes()
    read_manifest(tmp_path / "m.parquet", notes=notes)

    assert notes.warnings == ["1 patient in more than one split, as in the published rule that made them"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.parquet"
    manifest().write(path)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(FmfairError, match="No space left on device"):
        manifest().write(path)

    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]


def test_a_table_of_the_user_is_read_by_usual_names(tmp_path: Path) -> None:
    text = "Image Path,Subject,Partition,label,sex,age,remark\na.png,007,TRAIN,1,F,40,x\nb.png,008,val,0,M,,y\n"
    notes = Notes()

    read = read_manifest(user_table(tmp_path, text + "c.png,009,test,,M,50,z\n"), notes=notes)

    assert read.table.rows() == [
        ("a.png", "007", "a.png", "train", 1, "F", 40),
        ("b.png", "008", "b.png", "validation", 0, "M", None),
        ("c.png", "009", "c.png", "test", None, "M", 50),
    ]
    assert (read.labels, read.attributes, read.root) == (("label",), ("sex", "age"), tmp_path)
    assert read.about.dataset == "mine"
    assert "no column of sample ids: the paths in 'Image Path' take their place" in notes
    assert "attributes found by name: 'sex', 'age'" in notes


def test_a_table_of_the_user_is_read_by_named_columns(tmp_path: Path) -> None:
    text = "id,file,who,where,mass,nodule,hospital,path\n1,a.png,p,test,1,0,x,wrong\n2,b.png,q,test,0,1,y,wrong\n"
    roles = Roles(path="file", sample_id="id", patient_id="who", split="where", labels=["mass", "nodule"])

    read = read_manifest(user_table(tmp_path, text), roles=roles, root="/data", prompts=Prompts(("no",), ("yes",)))

    assert read.table.rows() == [("1", "p", "a.png", "test", 1, 0, "x"), ("2", "q", "b.png", "test", 0, 1, "y")]
    assert read.attributes == ("hospital",)
    assert read.root == Path("/data")
    assert read.about.prompts == dict.fromkeys(("mass", "nodule"), Prompts(("no",), ("yes",)))


def test_without_patients_and_splits_each_image_is_a_patient_and_all_are_test(tmp_path: Path) -> None:
    notes = Notes()

    read = read_manifest(user_table(tmp_path, "path,label\na.png,1\nb.png,0\n"), notes=notes)

    assert read.table["patient_id"].to_list() == ["a.png", "b.png"]
    assert read.table["split"].to_list() == ["test", "test"]
    assert notes.warnings == [
        "no column of patients: every image counts as a patient of its own; name one with patient_id= of Roles"
    ]
    assert "no column of splits: all images are test; name one with split= of Roles" in notes


def test_problems_of_a_users_table_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FmfairError) as error:
        read_manifest(user_table(tmp_path, "picture,lable\na.png,1\n"), roles=Roles(labels=["label"], split="fold"))
    assert [problem.split(";")[0] for problem in error.value.problems] == [
        "no column with image paths",
        "no column 'fold' (split=)",
        "no column 'label' (labels=)",
    ]
    assert "did you mean 'lable'?" in str(error.value)

    with pytest.raises(FmfairError) as error:
        read_manifest(user_table(tmp_path, "path,patient,split,label\na,p,foo,1\na,p,test,3\n"))
    assert len(error.value.problems) == 4  # a path twice, a split that is none, a label that is none, a shared patient


def test_one_text_in_place_of_a_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match=r"labels='label' is one text; give a list of columns: labels=\['label'\]"):
        read_manifest(user_table(tmp_path, "path,label\na,1\n"), roles=Roles(labels="label"))


def test_some_of_the_labels_and_attributes_of_a_manifest_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    table = TABLE.with_columns(pl.lit(0).alias("amd, wet"), amd=1, **{"*": pl.lit("x")})
    made = manifest(table, labels=("glaucoma", "amd", "amd, wet"), attributes=("sex", "age", "*"))
    made.write(path)

    some = read_manifest(path, roles=Roles(labels=["amd, wet", "glaucoma"], attributes=["*"]))
    assert (some.labels, some.attributes) == (("amd, wet", "glaucoma"), ("*",))
    assert some.table.columns == [*MANIFEST, "amd, wet", "glaucoma", "*"]
    assert some.about == made.about  # so that the texts of all labels stay what they are
    of_label = read_manifest(path, roles=Roles(attributes=["sex", "amd"]))
    assert (of_label.labels, of_label.attributes) == (("glaucoma", "amd, wet"), ("sex", "amd"))
    assert read_manifest(path, roles=Roles()).table.equals(made.table)
    prompts = {name: Prompts(("a",), ("b",)) for name in made.labels}
    assert read_manifest(path, roles=Roles(labels=["amd"]), prompts=prompts).about.prompts == prompts

    with pytest.raises(FmfairError) as error:
        read_manifest(path, roles=Roles(split="sex", labels=["glaukoma"], attributes=["weight"]))
    assert len(error.value.problems) == 3
    assert "no label or attribute 'glaukoma'; did you mean 'glaucoma'" in str(error.value)
    with pytest.raises(FmfairError, match="'amd' is named twice"):
        read_manifest(path, roles=Roles(labels=["amd"], attributes=["amd"]))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_line_splits_names_as_fmfair_score_does(tmp_path: Path, suffix: str) -> None:
    from fmfair.cli.run import _manifest

    table = TABLE.rename({"sex": "sex, as told"}).with_columns(amd=0)
    made = manifest(table, labels=("glaucoma", "amd"), attributes=("sex, as told", "age"))
    path = tmp_path / f"m.{suffix}"
    made.write(path) if suffix == "parquet" else table.write_csv(path)

    unset = dict.fromkeys(("root", "reading", "path", "sample_id", "patient_id", "split", "dataset"))
    given = {**unset, "manifest": str(path), "labels": ["amd,glaucoma"], "quiet": True}
    read = _manifest({**given, "attributes": ["sex, as told,age"]}, {})

    assert (read.labels, read.attributes) == (("amd", "glaucoma"), ("sex, as told", "age"))


def test_prompts_of_a_manifest_name_its_labels(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    manifest().write(path)

    with pytest.raises(FmfairError, match="prompts= names 'amd', no label of the manifest; it has 'glaucoma'"):
        read_manifest(path, prompts={"amd": Prompts(("a",), ("b",))})
    with pytest.raises(FmfairError, match="4 of 4 images not found"):
        read_manifest(path, root=tmp_path, check_files=True)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('{"schema_version": 99, "fmfair_version": "9.0"}', "written by fmfair 9.0, which is newer"),
        ('{"schema_version": 1}', "cannot read the manifest"),
        ("{", "cannot read"),
    ],
)
def test_a_description_of_another_kind_is_refused(tmp_path: Path, said: str, expected: str) -> None:
    path = tmp_path / "m.parquet"
    TABLE.write_parquet(path, metadata={KEY: said})

    with pytest.raises(FmfairError, match=expected):
        read_manifest(path)


def test_a_parquet_table_of_the_users_is_no_manifest_of_ours_but_can_be_read(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "t.parquet")

    read = read_manifest(tmp_path / "t.parquet", roles=Roles(labels=["glaucoma"]))

    assert read.table.equals(manifest().table)


def test_an_attribute_that_is_named_is_taken_whatever_else_it_is(tmp_path: Path) -> None:
    path = user_table(tmp_path, "path,site,label\na,north,1\nb,south,0\n")

    read = read_manifest(path, roles=Roles(patient_id="site", attributes=["site"]))

    assert read.table.row(0) == ("a", "north", "a", "test", 1, "north")


def test_manifests_load_no_heavy_package() -> None:
    heavy = ["torch", "transformers", "PIL", "sklearn", "pandas", "duckdb", "fastexcel"]
    code = f"import sys, fmfair.runners.datasets; print([name for name in {heavy!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    assert done.stdout.strip() == "[]"


def test_no_such_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FmfairError, match="no file or folder"):
        read_manifest(tmp_path / "nothing.parquet")


def test_prompts_are_checked() -> None:
    with pytest.raises(FmfairError, match="at least one"):
        Prompts((), ("b",))
    with pytest.raises(FmfairError, match=r"one \{\} for the class; 'a photo' has not"):
        Prompts(("a",), ("b",), ("a photo",))
    with pytest.raises(FmfairError, match="same text as negative and as positive: ' Normal'; the classes would not"):
        Prompts(("healthy", " Normal"), ("glaucoma", "normal"))
    assert Prompts(("a",), ("b", "c"), ("{}", "x {}")).texts(positive=True) == ("b", "c", "x b", "x c")


def test_columns_of_lists_are_refused_together(tmp_path: Path) -> None:
    lists = {"path": [["a"], ["b"]], "label": [[0], [1]], "sex": [["F"], ["M"]]}
    pl.DataFrame(lists).write_parquet(tmp_path / "t.parquet")

    with pytest.raises(FmfairError) as error:
        read_manifest(tmp_path / "t.parquet")
    assert len(error.value.problems) == 3
    with pytest.raises(FmfairError, match=r"column 'sex' has the type List\(String\); expected text, numbers or dates"):
        manifest(TABLE.with_columns(sex=pl.lit(["F"])))


@pytest.mark.parametrize("value", ["yes", "-1", "0.5", "NaN", "NA"])
def test_a_label_that_is_no_label_is_refused_with_what_is_expected(tmp_path: Path, value: str) -> None:
    path = user_table(tmp_path, f"path,label,sex\na,{value},F\nb,1,M\nc,,M\n")

    with pytest.raises(FmfairError, match=r"label 'label' is neither 0, 1 nor empty \(unknown\) in "):
        read_manifest(path)

"""Small imitations of the releases of public data sets, with their real file names, columns and oddities."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter  # type: ignore[import-untyped]  # it ships no types
from dicom_files import write_slice

from fmfair.errors import FmfairError
from fmfair.runners.datasets import make_manifest

Rows = Sequence[Sequence[object]]

CHEXPERT_FINDINGS = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion", "Edema"),
    *("Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion", "Pleural Other", "Fracture"),
    "Support Devices",
)


def csv(path: Path, header: Sequence[str], rows: Rows) -> None:
    """A CSV file, compressed where its name says so; None is an empty cell."""
    lines = [header, *rows]
    text = "".join(",".join(_cell(value) for value in line) + "\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f'"{text}"' if "," in text else text


def sheet(path: Path, rows: Rows, name: str = "") -> None:
    """An Excel file; where its sheet has a name, it is the second one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        if name:
            page.write(0, 0, "see the other sheet")
            page = book.add_worksheet(name)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None:
                    page.write(i, j, value)


def images(root: Path, *paths: str) -> None:
    """Empty files where images would be."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def chexpert(root: Path) -> None:
    """Paths that begin with the name of the release, 1.0 and -1.0 and empty cells, a sex that is Unknown."""
    findings: Sequence[tuple[int, str, object, object]] = (
        # patient, sex, age, No Finding
        (1, "Female", 68, "1.0"),
        (2, "Female", 87, None),
        (2, "Female", 83, "-1.0"),
        (3, "Male", 60, None),
        (4, "Male", 41, "1.0"),
        (5, "Unknown", 0, None),
        (6, "Male", 59, None),
    )
    rows: list[list[object]] = []
    for n, (patient, sex, age, healthy) in enumerate(findings):
        file = f"train/patient{patient:05}/study{n + 1}/view1_frontal.jpg"
        images(root, file)
        other = [None] * 13
        rows.append([f"CheXpert-v1.0-small/{file}", sex, age, "Frontal", "AP", healthy, *other])
    rows[0][14] = "0.0"  # Pneumothorax denied
    rows[1][14], rows[2][14] = "1.0", "-1.0"
    csv(root / "train.csv", ["Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", *CHEXPERT_FINDINGS], rows)
    sheet(
        root / "CHEXPERT DEMO.xlsx",
        [
            ("PATIENT", "GENDER", "AGE_AT_CXR", "PRIMARY_RACE", "ETHNICITY"),
            ("patient00001", "Female", 68, "Other", "Hispanic/Latino"),
            ("patient00002", "Female", 87, "White, non-Hispanic", "Non-Hispanic/Non-Latino"),
            ("patient00003", "Male", 60, "Black or African American", "Not Hispanic"),
            ("patient00004", "Female", 41, "White", "Unknown"),
            ("patient00005", "Unknown", 0, "Patient Refused", None),
        ],
        "CheXpert Demo 11-13",
    )


def mimic_cxr(root: Path) -> None:
    """Tables of two projects, several images of a patient, admissions that disagree, a study without labels."""
    meta: list[list[object]] = []
    labels: list[list[object]] = []
    people: list[list[object]] = []
    stays: list[list[object]] = []
    for n in range(12):
        subject, study = 10_000_032 + 100_000 * n, 50_414_267 + n
        people.append([subject, "FM"[n % 2], 60 if n == 0 else 40 + 4 * n, 2180, "2014 - 2016"])
        stays.append([subject, 20 + n, "Medicare", "ENGLISH", "WHITE" if n % 3 else "BLACK/AFRICAN AMERICAN"])
        labels.append([subject, study, *([None] * 8), "1.0" if n % 2 else None, *([None] * 5)])
        for view in ("PA", "LATERAL"):
            dicom = f"{n:02x}aa{view.lower()}"
            meta.append([dicom, subject, study, view, f"{2180 + n % 3}0506"])
            images(root, f"files/p{str(subject)[:2]}/p{subject}/s{study}/{dicom}.jpg")
    stays += [[10_000_032, 91, "Medicare", "ENGLISH", "WHITE"], [10_000_032, 92, "Other", "?", "WHITE"]]
    stays += [[10_100_032, stay, "Other", "ENGLISH", "UNKNOWN"] for stay in (93, 94)]
    del labels[5]  # a study that the labeller did not see
    again = 51_000_000  # a second study of the first patient, with an uncertain label
    meta.append(["20aapa", 10_000_032, again, "PA", "21800807"])
    images(root, f"files/p10/p10000032/s{again}/20aapa.jpg")
    labels.append([10_000_032, again, *([None] * 8), "-1.0", *([None] * 5)])
    findings = sorted(CHEXPERT_FINDINGS)
    csv(
        root / "mimic-cxr-2.0.0-metadata.csv.gz",
        ["dicom_id", "subject_id", "study_id", "ViewPosition", "StudyDate"],
        meta,
    )
    csv(root / "mimic-cxr-2.0.0-chexpert.csv.gz", ["subject_id", "study_id", *findings], labels)
    csv(
        root / "hosp" / "patients.csv.gz",
        ["subject_id", "gender", "anchor_age", "anchor_year", "anchor_year_group"],
        people,
    )
    csv(root / "hosp" / "admissions.csv.gz", ["subject_id", "hadm_id", "insurance", "language", "race"], stays)


def ham10000(root: Path) -> None:
    """Words for sexes, an unknown one, several images of a lesion, two folders of images, a file without ending."""
    kinds = ("bkl", "bkl", "nv", "mel", "akiec", "bcc", "df", "vasc", "nv", "mel", "bcc", "nv")
    rows = []
    for n, kind in enumerate(kinds):
        sex = "unknown" if n == 8 else ("male", "female")[n % 2]
        age = None if n == 9 else "60.0" if n == 3 else f"{30.0 + 5 * n}"
        rows.append([f"HAM_{n // 2:07}", f"ISIC_{n:07}", kind, "histo", age, sex, "back", "vidir_modern"])
        images(root, f"HAM10000_images_part_{1 + n % 2}/ISIC_{n:07}.jpg")
    header = ["lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization", "dataset"]
    csv(root / "HAM10000_metadata", header, rows)


# Of each patient of PAPILA: number, age, gender (0 male, 1 female), diagnosis of either eye (2 is suspect).
PAPILA = (
    *((2, 47, 0, 2, 2), (4, 58, 1, 1, 1), (5, 89, 1, 1, 0), (6, 69, 0, 2, 0), (7, 22, 1, 2, 2)),
    *((14, 60, 1, 1, 1), (15, 61, 0, 0, 0), (16, 35, 0, 0, 0), (18, 72, 1, 0, 0), (19, 60, 0, 0, 1)),
    *((20, 44, 0, 0, 0), (21, 80, 0, 1, 0)),
)


def papila(root: Path) -> None:
    """Two sheets, one of each eye, with three rows of headings, of which the second names the first column."""
    top = ["", "Age", "Gender", "Diagnosis", "Refractive_Defect", "", "", "Phakic/Pseudophakic", "IOP"]
    low = [*top[:4], "dioptre_1", "dioptre_2", "astigmatism", "Phakic/Pseudophakic", "Pneumatic"]
    for position, eye in enumerate(("od", "os")):
        body = [[f"#{n:03}", age, sex, seen[position], 0.75, -1.75, 90, 0, 21] for n, age, sex, *seen in PAPILA]
        rows = [[cell or None for cell in line] for line in (top, ["ID"], low)]
        sheet(root / "ClinicalData" / f"patient_data_{eye}.xlsx", [*rows, *body])
        images(root, *(f"FundusImages/RET{n:03}{eye.upper()}.jpg" for n, *_ in PAPILA))


def _harvard(root: Path, place: Path, digits: int, image: str, more: Sequence[str]) -> None:
    uses = ("training", "training", "validation", "test")
    rows = []
    for n in range(1, 21):
        use = uses[n % 4]
        person = [("female", "male")[n % 2], ("white", "black", "asian")[n % 3], "non-hispanic"]
        language = "unknown" if n == 7 else ("english", "spanish", "other")[n % 3 if n % 5 else 0]
        age = 60.0 if n == 4 else 40.56 + 2 * n
        rows.append(
            [f"data_{n:0{digits}}.npz", age, *person, language, "single", *more, "yes" if n % 4 < 2 else "no", use]
        )
        images(root, f"{use.title()}/{image.format(n)}")
    extra = ["note", "gpt4_summary"][: len(more)]
    header = ["filename", "age", "gender", "race", "ethnicity", "language", "maritalstatus", *extra, "glaucoma", "use"]
    csv(place, header, rows)


def fairvlmed10k(root: Path) -> None:
    """The words male and female where the published code looks for M; notes with commas; JPEG files."""
    notes = ("ms. PERSON, a 56 yo woman", "The patient, 56, has")
    _harvard(root, root / "ReadMe" / "data_summary.csv", 5, "slo_fundus_{:05}.jpg", notes)


def gf3300(root: Path) -> None:
    """As FairVLMed, with maps in npz files."""
    _harvard(root, root / "data_summary.csv", 4, "data_{:04}.npz", ())


def brset(root: Path) -> None:
    """Two eyes of each patient, sexes 1 and 2, ages that are missing, grades of retinopathy."""
    rows = []
    for patient in range(1, 13):
        for eye in (1, 2):
            name = f"img{2 * patient + eye - 2:05}"
            age = None if patient == 3 else "60.0" if patient == 4 else f"{18 + 5 * patient}.0"
            grade = (patient + eye) % 5 if patient % 2 else 0
            rows.append([name, patient, "Canon CR", age, "diabetes1", 1 + patient % 2, eye, grade])
            images(root, f"fundus_photos/{name}.jpg")
    header = ["image_id", "patient_id", "camera", "patient_age", "comorbidities", "patient_sex", "exam_eye", "DR_ICDR"]
    csv(root / "labels.csv", header, rows)


def covid_ct_md(root: Path) -> None:
    """Ages such as 039Y, folders of DICOM slices named after the diagnosis, CAP written Cap in one of them."""
    kinds = (
        ("COVID-19", "P{:03}", "COVID-19 Cases"),
        ("CAP", "cap{:03}", "Cap Cases"),
        ("Normal", "normal{:03}", "Normal Cases"),
    )
    rows: list[list[object]] = []
    for k, (diagnosis, name, place) in enumerate(kinds):
        for n in range(1, 9):
            age = "060Y" if n == 1 else f"0{24 + 7 * n - k}Y"
            folder = name.format(n)
            rows.append([len(rows), diagnosis, folder, "MF"[n % 2], age, 80.0, "Dyspnea, Cough", None])
            (root / place / folder).mkdir(parents=True)
            for number, (hounsfield, height) in enumerate(((-1250, 5.0), (250, 0.0)), 1):  # from the head down
                write_slice(root / place / folder / f"IM{number:04}.dcm", hounsfield, (0, 0, height))
    header = ["clinical_data", "Diagnosis", "Folder", "Patient Gender", "Patient Age", "Weight"]
    csv(root / "Clinical-data.csv", [*header, "Clinical characteristics", "PCR"], rows)


def adni(root: Path) -> None:
    """Several scans of a subject, MCI, a description with semicolons, hardly anybody below 60."""
    rows = []
    for n in range(24):
        group = ("CN", "AD", "MCI")[n % 3]
        age = 55 if n == 7 else 60 if n == 3 else 66 + n
        for scan in range(2 if n % 4 == 0 else 1):
            name, subject = f"I{45_000 + 10 * n + scan}", f"{n:03}_S_{1000 + n}"
            what = "MPR; GradWarp; B1 Correction; N3; Scaled" + "_2" * scan
            rows.append([name, subject, group, "MF"[n // 3 % 2], age, "sc", "MRI", what, "Processed", "3/12/2007"])
            folder = what.replace("; ", "__").replace(" ", "_")
            images(root, f"ADNI/{subject}/{folder}/2007-03-12_00_00_00.0/{name}/ADNI_{subject}_MR_{name}.nii")
    header = ["Image Data ID", "Subject", "Group", "Sex", "Age", "Visit", "Modality", "Description", "Type", "Acq Date"]
    csv(root / "ADNI1_Screening_1.5T_2_20_2024.csv", header, rows)


def nih_cxr14(root: Path) -> None:
    """Findings in one cell, one that is part of no other by chance, ages such as 058Y and 414, drains of some."""
    cells = ("No Finding", "Pneumothorax", "Effusion|Pneumothorax", "Mass|Nodule", "Pleural_Thickening", "Pneumonia")
    rows: list[list[object]] = []
    for n in range(24):
        name = f"{n // 2 + 1:08}_{n % 2:03}.png"
        age = "414" if n == 6 else "060Y" if n == 7 else f"{40 + n:03}Y"
        rows.append(
            [name, cells[n % 6], n % 2, n // 2 + 1, age, "MF"[n // 2 % 2], "PA", 2682, 2749, 0.143, 0.143, None]
        )
        images(root, f"images_{1 + n // 12:03}/images/{name}")
    header = [
        "Image Index",
        "Finding Labels",
        "Follow-up #",
        "Patient ID",
        "Patient Age",
        "Patient Gender",
        "View Position",
    ]
    sizes = ["OriginalImage[Width", "Height]", "OriginalImagePixelSpacing[x", "y]", ""]
    csv(root / "Data_Entry_2017.csv", [*header, *sizes], rows)
    names = [str(row[0]) for row in rows]
    (root / "train_val_list.txt").write_text("\n".join(names[:16]) + "\n", encoding="utf-8")
    (root / "test_list.txt").write_text("\n".join(names[16:]), encoding="utf-8")
    drains = [[0, names[1], 1, 1], [1, names[2], 0, 0]]
    csv(root / "NIH-CX14_TubeAnnotations_NonExperts_aggregated.csv", ["", "Image Index", "Drain", "Votes"], drains)


RELEASES: Mapping[str, Callable[[Path], None]] = {
    "adni": adni,
    "brset": brset,
    "chexpert": chexpert,
    "covid_ct_md": covid_ct_md,
    "fairvlmed10k": fairvlmed10k,
    "gf3300": gf3300,
    "ham10000": ham10000,
    "mimic_cxr": mimic_cxr,
    "nih_cxr14": nih_cxr14,
    "papila": papila,
}


def release(folder: Path, name: str) -> Path:
    """The imitation of a release, in a folder of its own."""
    root = folder / name
    root.mkdir(exist_ok=True)
    RELEASES[name](root)
    return root


def edited(path: Path, old: str, new: str) -> None:
    """Replaces the first such text of a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def problems(name: str, root: Path, **choices: Any) -> list[str]:
    """Why no manifest is made of a release."""
    with pytest.raises(FmfairError) as error:
        make_manifest(name, root, **choices)
    return error.value.problems

"""What is published of each data set, against what its recipe says."""

from __future__ import annotations

import pytest

from fmfair.runners.datasets import recipe, recipes

# Of the label of the FairMedFM benchmark: the template, the words for 0 and for 1, which values of the release are 1 by
# its rule, images and patients of the release, what a volume's score is, and how its files are read.
CXR, FUNDUS, DISEASED = "a chest X-ray of a {}", "a fundus image of a {}", ("diseased", "normal")
SLO = "a scanning laser ophthalmoscope fundus image of a {}"
PUBLISHED = {
    "adni": ("a brain MRI of {}", ("normal", "Alzheimer's disease"), {"AD"}, 1075, None, "max", ""),
    "brset": (FUNDUS, ("normal", "retinopathy"), {"1", "2", "3", "4"}, 16266, 8524, "", ""),
    "chexpert": (CXR, DISEASED, {"1"}, 223414, 64540, "", ""),
    "covid_ct_md": (
        *("a computed tomography of a {}", ("normal", "pneumonia"), {"COVID-19", "CAP"}, 305, 305),
        *("max", "window=-1250:250"),
    ),
    "fairvlmed10k": (SLO, ("normal", "glaucoma"), {"yes"}, 10000, 10000, "", ""),
    "gf3300": ("a photo of a {}", ("normal", "glaucoma"), {"yes"}, 3300, 3300, "", "key=rnflt window=-2:350"),
    "ham10000": ("a photo of a {}", ("benign lesion", "malignant lesion"), {"akiec", "mel"}, 10015, 7470, "", ""),
    "mimic_cxr": (CXR, DISEASED, {"1"}, 377110, 65379, "", ""),
    "papila": (FUNDUS, ("normal", "glaucoma"), {"1"}, 488, 244, "", ""),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_recipe_says_what_the_benchmark_does(name: str) -> None:
    template, words, positive, images, patients, slices, reading = PUBLISHED[name]
    how = recipe(name)
    label = how.labels[0]
    (main,) = label.names

    prompts = label.of(main)

    assert prompts is not None
    assert (prompts.templates, prompts.names) == ((template,), words)
    assert (prompts.negative, prompts.positive) == (words[:1], words[1:])
    assert {*label.lists("fairmedfm")["positive"]} == positive
    assert (how.counts.images, how.counts.patients) == (images, patients)
    assert (how.slices, how.reading) == (slices, reading)


def test_prompts_of_findings_are_those_of_the_study_of_chest_x_rays() -> None:
    findings = ("atelectasis", "cardiomegaly", "consolidation", "pneumonia", "pneumothorax")
    for name, effusion in (
        ("nih_cxr14", "effusion"),
        ("mimic_cxr", "pleural_effusion"),
        ("chexpert", "pleural_effusion"),
    ):
        said = {label: group.of(label) for group in recipe(name).labels for label in group.names}
        expected = {**{label: label.title() for label in findings}, effusion: "Pleural Effusion"}
        for label, finding in expected.items():
            prompts = said[label]
            assert prompts is not None
            assert prompts.texts(positive=True) == (f"Chest {finding}",)
            assert prompts.texts(positive=False) == ("Chest No findings",)


def test_there_is_a_line_for_every_recipe_but_that_of_nih() -> None:
    assert {*recipes()} - {*PUBLISHED} == {"nih_cxr14"}

"""Crosswalk: which section can serve which item of the guidelines, and what its author has to add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fmfair.numerals import joined
from fmfair.page.material import Material
from fmfair.page.section import Column, Section, Table

_TITLES: Mapping[str, str] = {
    "summary": "Summary",
    "plan": "Question and plan",
    "data": "Data",
    "overall": "Overall",
    "attributes": "By attribute",
    "intersections": "Intersections",
    "models": "By-keys",
    "limits": "Limits",
    "methods": "Methods",
    "results": "Full results",
    "provenance": "Provenance",
}
# How far the text of a document was at hand.
_SUMMARY, _DRAFT, _UNREAD = " (read as a summary)", " (read as a draft)", " (not read)"


class Item(NamedTuple):
    """An item of a guideline.

    Attributes:
        document: The guideline.
        item: The numbers of its items, and what they ask.
        sections: The keys of the sections that can serve them.
        author: What only the author of a report can add.
    """

    document: str
    item: str
    sections: Sequence[str]
    author: str = ""


_ITEMS = (
    Item("TRIPOD+AI 2024", "3c, 5a, 7, 8a: known inequalities, setting, preparation, outcome", ["plan"], "all of it"),
    Item("TRIPOD+AI 2024", "10, 11: study size, missing data", ["data"], "how the size was settled"),
    Item("TRIPOD+AI 2024", "12d, 23b: differences between sites", ["attributes"], "the site as an attribute"),
    Item("TRIPOD+AI 2024", "12e, 15: measures and thresholds with reasons", ["methods", "plan"], "the reasons"),
    Item("TRIPOD+AI 2024", "12f, 14: updating in groups, what was done about them and why", [], "all of it"),
    Item("TRIPOD+AI 2024", "16: differences between the data of development and of evaluation", ["data"], "the former"),
    Item("TRIPOD+AI 2024", "20a to c, 21: flow, characteristics, events", ["data"], "the data of development"),
    Item("TRIPOD+AI 2024", "23a: performance with intervals, also in groups", ["overall", "attributes"]),
    Item("TRIPOD+AI 2024", "25, 26: interpretation, limits", ["summary", "limits"], "interpretation"),
    Item("CLAIM 2024" + _SUMMARY, "8, 10: inclusion, subsets", ["plan", "data"], "how rows were chosen"),
    Item("CLAIM 2024" + _SUMMARY, "12, 35, 36: missing data, flow, demographics", ["data"], "partitions"),
    Item("CLAIM 2024" + _SUMMARY, "19 to 21: partitions, apart by patient, intended size", [], "all of it"),
    Item("CLAIM 2024" + _SUMMARY, "28, 29, 37, 38: metrics, uncertainty", ["methods", "overall", "attributes"]),
    Item(
        "CLAIM 2024" + _SUMMARY, "30, 32, 33: robustness, internal and external testing", ["models"], "which is which"
    ),
    Item("CLAIM 2024" + _SUMMARY, "39: analysis of failures", ["results"], "the cases"),
    Item("CLAIM 2024" + _SUMMARY, "40: limits", ["limits"]),
    Item("STARD-AI 2025" + _SUMMARY, "7, 13: eligibility, devices and software", ["plan", "provenance"], "eligibility"),
    Item("STARD-AI 2025" + _SUMMARY, "15b, 15c: pre-specified or exploratory cut-offs", ["plan"], "what was settled"),
    Item("STARD-AI 2025" + _SUMMARY, "18 to 20: methods, indeterminate and missing results", ["methods", "data"]),
    Item("STARD-AI 2025" + _SUMMARY, "21, 23, 31: variability, error in groups, precision", ["attributes"]),
    Item("STARD-AI 2025" + _SUMMARY, "25: demographic, clinical and technical features", ["data"], "the attributes"),
    Item("STARD-AI 2025" + _SUMMARY, "28, 29: likeness to the intended population", ["data", "plan"], "the comparison"),
    Item("STARD-AI 2025" + _SUMMARY, "30: cross table", ["results"], "the counts tp, fp, fn and tn as metrics"),
    Item("STARD-AI 2025" + _SUMMARY, "33, 35: limits, fairness", ["limits", "attributes"]),
    Item("STARD-AI 2025" + _SUMMARY, "40b: outputs stored", ["results", "provenance"]),
    Item("DECIDE-AI 2022", "V, VIII: analyses in groups, with reasons", ["plan", "attributes"], "the reasons"),
    Item("DECIDE-AI 2022", "6, 13: errors, how defined, how often", ["methods", "results"], "what is an error"),
    Item(
        "DECIDE-AI 2022", "8, 9: methods for ethical goals, baseline, missing input", ["methods", "data"], "the goals"
    ),
    Item("CONSORT-AI 2020", "4a: eligibility of participants and of input data", ["plan", "data"], "eligibility"),
    Item("CONSORT-AI 2020", "12b, 18: pre-specified or exploratory", ["plan"], "what was settled"),
    Item("CONSORT-AI 2020", "15, 17a, 17b: baseline, precision, absolute and relative", ["data", "attributes"]),
    Item("CONSORT-AI 2020", "19: errors of performance", ["results"], "the cases"),
    Item("CONSORT-AI 2020", "20, 21: multiplicity, to whom it applies", ["methods", "limits"], "to whom it applies"),
    Item(
        "FUTURE-AI 2025",
        "Fairness 1 to 3: sources, attributes, evaluation",
        ["plan", "data", "attributes"],
        "sources",
    ),
    Item("FUTURE-AI 2025", "other sites, robustness, traceability", ["models", "provenance"], "sites and conditions"),
    Item(
        "STANDING Together 2025" + _SUMMARY, "groups at risk named in advance; who is missing", ["plan", "data"], "all"
    ),
    Item("PROBAST+AI 2025", "4.2, 4.3, 4.7: size, missing data, calibration and net benefit", ["data", "overall"]),
    Item("PROBAST+AI 2025", "4.4, 4.5: imbalance correction, leakage", ["data"], "both; shares of positives are shown"),
    Item("Van Calster et al. 2025" + _SUMMARY, "the core set of measures; which are improper", ["overall", "methods"]),
    Item("Model Cards 2019", "factors, metrics, single and intersectional results", ["attributes", "intersections"]),
    Item("FDA draft guidance, January 2025", "performance in groups, with intervals", ["attributes"], "the claim"),
    Item(
        "FDA draft guidance, January 2025",
        "attributes that are not available, and why",
        ["plan", "data"],
        "the reasons",
    ),
    Item("FDA draft guidance, January 2025", "criteria as limits of intervals, set before", ["plan"], "the criteria"),
    Item("FDA draft guidance, January 2025", "several images of a patient", ["methods", "provenance"], "the column"),
    Item("FDA draft guidance, January 2025", "cases left out by quality control", ["data"], "a worst case"),
    Item("FDA PCCP guidance, December 2024", "effect of a change of the model", ["models"], "the paired comparison"),
    Item(
        "EU AI Act 2024/1689" + _UNREAD,
        "Article 10(2)(f, g), 10(3): data of the groups concerned",
        ["data"],
        "the rest",
    ),
    Item("EU AI Act 2024/1689", "Article 13(3)(b): performance for specific groups", ["attributes"]),
    Item("EU AI Act 2024/1689" + _UNREAD, "Article 15(3): metrics declared", ["methods"], "the declaration"),
    Item(
        "EU AI Act 2024/1689",
        "Annex IV 2(g), 3, 4: metrics, dated and signed reports",
        ["methods", "provenance"],
        "sign",
    ),
    Item("EU MDR 2017/745" + _UNREAD, "Annex I 23.4: limits in the instructions", ["limits"], "the instructions"),
    Item(
        "EU MDR 2017/745" + _UNREAD, "Article 61, Annex XIV A: evaluation by target group", ["attributes"], "the rest"
    ),
    Item("EU MDR 2017/745" + _UNREAD, "Article 83: surveillance", ["provenance"], "the same report on later data"),
    Item(
        "Ten principles (FDA, Health Canada, MHRA)" + _SUMMARY,
        "3, 5, 8, 9: data, reference, testing, information",
        ["data", "plan", "summary"],
        "the rest",
    ),
    Item("ONC HTI-1 2024" + _SUMMARY, "attributes of the source", ["plan", "provenance"], "those of development"),
)


def section(material: Material) -> Section:
    """A row per item; sections that this document does not have are left out."""
    absent = set()
    if len(material.views) < 2:
        absent.add("models")
    if not material.intersections:
        absent.add("intersections")
    if not material.attributes:
        absent.add("attributes")
    rows = [[one.document, one.item, _served(one, absent), one.author or "nothing"] for one in _ITEMS]
    columns = [
        Column("Document"),
        Column("Item"),
        Column("Section that can serve it"),
        Column("To be added by the author"),
    ]
    note = "The table says where to look. Whether an item is met is for its reader to judge."
    return Section(
        "crosswalk", "Crosswalk", {"table": Table("Guidelines and sections", columns, rows, note=note, keys=2)}
    )


def _served(item: Item, absent: set[str]) -> str:
    there = [_TITLES[key] for key in item.sections if key not in absent]
    return joined(there) if there else "none in this document"

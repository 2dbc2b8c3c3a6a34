"""Whether what a recipe says can be carried out, as far as that is to be seen without the release."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from fmfair.errors import FmfairError, Problems, listing
from fmfair.runners.datasets.recipe import Attribute, Labels, Recipe
from fmfair.runners.datasets.templates import columns_of, without_fields
from fmfair.runners.images.reading import Reading


def check(how: Recipe) -> None:
    """Raises with everything that is wrong with a recipe.

    Raises:
        FmfairError: A template, a list of values, a path or a pattern cannot be used.
    """
    problems = Problems()
    for message in (*_of_templates(how), *_of_files(how), *_of_extracts(how)):
        problems.add(f"{how.name}: {message}")
    for n, group in enumerate(how.labels):
        for message in _of_labels(group):
            problems.add(f"{how.name}.labels[{n}]: {message}")
    for name, attribute in how.attributes.items():
        for message in _of_attribute(attribute):
            problems.add(f"{how.name}.attributes.{name}: {message}")
    try:
        Reading.of(how.reading)
    except FmfairError as error:
        problems.add(f"{how.name}: reading = {how.reading!r}: {error}")
    problems.raise_if_any()


def _of_templates(how: Recipe) -> Iterable[str]:
    said = [("sample_id", how.sample_id), ("patient_id", how.patient_id), *(("path", path) for path in how.path)]
    for key, template in said:
        if re.search(r"[{}]", without_fields(template, "")):
            yield f"{key} = {template!r}: a column stands in braces, as {{name}}, or a part of it, as {{name[2:5]}}"
        elif not columns_of(template):
            yield f"{key} = {template!r} is the same for every image; name a column in braces, as {{name}}"
        elif re.search(r"\[-\d+:\d+\]\}", template):
            yield f"{key} = {template!r}: a part that starts from the end must end there too, as {{name[-5:-1]}}"
    for key, given in (("tables", how.tables), ("path", how.path), ("labels", how.labels)):
        if not given:
            yield f"{key} is empty; give at least one"


def _of_files(how: Recipe) -> Iterable[str]:
    tables = [file for table in (*how.tables, *how.joins) for file in table.file]
    for file in (*tables, *how.path, *how.released.lists.values()):
        plain = PurePosixPath(file)
        if not file or plain.is_absolute() or ".." in plain.parts or "**" in file:
            yield f"{file!r} is no path from the root of the release; `..` and `**` are not for recipes"
    for table in (*how.tables, *how.joins):
        if not table.file:
            yield "a table has no file; name at least one"
    for table in how.joins:
        if not (table.on and table.columns):
            yield f"the table {listing(table.file)} of joins needs `on` and `columns`"


def _of_extracts(how: Recipe) -> Iterable[str]:
    for name, how_to in how.extracts.items():
        column, found, pattern = how_to.partition(" ~ ")
        try:
            groups = re.compile(pattern).groups
        except re.error:
            groups = 0
        if not (column and found and groups == 1):
            yield f"extracts.{name} = {how_to!r}: expected `column ~ pattern` with one group in round brackets"


def _of_labels(labels: Labels) -> Iterable[str]:
    if bool(labels.separator) != bool(labels.column):
        yield "`column` and `separator` go together: the column that lists findings, and what stands between them"
    for rule in ("standard", "fairmedfm"):
        lists = list(labels.lists(rule).values())
        twice = {value for values in lists for value in values if sum(value in other for other in lists) > 1}
        if twice:
            yield f"{listing(sorted(twice))} is in more than one of positive, negative and unknown"
            break
    if not labels.separator and not (labels.positive and labels.negative):
        yield "there must be values that are positive and values that are negative"
    for key in labels.published:
        if key not in labels.lists("standard"):
            yield f"published.{key} is none of the lists positive, negative and unknown"
    yield from _of_prompts(labels)


def _of_prompts(labels: Labels) -> Iterable[str]:
    for label, words in labels.prompts.items():
        if label not in labels.names or len(words) != 2:
            yield f"prompts.{label}: expected a label of this list with two texts, for 0 and for 1"
            return
    try:
        for label in labels.names:
            labels.of(label)
    except FmfairError as error:
        yield str(error)


def _of_attribute(attribute: Attribute) -> Iterable[str]:
    if attribute.rule == "words" and not attribute.words:
        yield "the rule `words` needs the words of each code"
    if attribute.rule == "age_at" and not (attribute.year and attribute.date):
        yield "the rule `age_at` needs the columns `year` and `date`"

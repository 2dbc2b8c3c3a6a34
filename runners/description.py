"""What a manifest says of its data set beside the table: title, licence, prompts, how volumes are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import polars as pl

from fmfair.errors import FmfairError, listing
from fmfair.runners.typed import check_texts
from fmfair.version import installed_version

# The entry of a Parquet file's metadata that makes it a manifest; the version grows when a key changes its meaning.
KEY, SCHEMA_VERSION = "fmfair_manifest", 1
# How the slices of a volume become predictions: one of every slice, of the one with the highest score, of their mean.
SLICES = ("every", "max", "mean")


@dataclass(frozen=True)
class Prompts:
    """The texts of a label for zero-shot classification.

    Attributes:
        negative: What is put into the templates where the label is 0; several are an ensemble.
        positive: The same where it is 1.
        templates: Sentences with one `{}`.
        names: What the two classes are called.

    Examples:
        >>> Prompts(("normal",), ("glaucoma",), ("a fundus image of a {}",)).texts(positive=True)
        ('a fundus image of a glaucoma',)
    """

    negative: tuple[str, ...]
    positive: tuple[str, ...]
    templates: tuple[str, ...] = ("{}",)
    names: tuple[str, ...] = ("negative", "positive")

    def __post_init__(self) -> None:
        for name in ("negative", "positive", "templates", "names"):
            check_texts(name, getattr(self, name), "texts", "{}" if name == "templates" else name)
        if not (self.negative and self.positive and self.templates):
            raise FmfairError("prompts need at least one negative and one positive text and one template")
        without = [template for template in self.templates if template.count("{}") != 1]
        if without:
            raise FmfairError(f"a template of a prompt has one {{}} for the class; {without[0]!r} has not")
        known = {text.strip().lower() for text in self.positive}
        both = [text for text in dict.fromkeys(self.negative) if text.strip().lower() in known]
        if both:
            raise FmfairError(
                f"prompts cannot have the same text as negative and as positive: {listing(both)}; the classes would "
                "not differ in it, leave it out of one of them"
            )

    def texts(self, *, positive: bool) -> tuple[str, ...]:
        """The whole sentences of a class: every template with every text."""
        words = self.positive if positive else self.negative
        return tuple(template.replace("{}", word) for template in self.templates for word in words)


@dataclass(frozen=True)
class About:
    """What is known of a data set.

    Attributes:
        dataset: Its short name, the value of the column `dataset` of predictions.
        title: Its name in print.
        modality: What the images are: `chest X-ray`.
        licence: What may be done with it.
        access: How to get it.
        prompts: The texts of each label.
        slices: How a volume becomes one answer, one of `SLICES`; empty for pictures.
        reading: How the files are read, as `images.reading.Reading.of` takes it: `key=rnflt window=-2:350`.
        split: How the splits were made; empty where nothing split the images, so that all are test.
        shared_patients: Whether a patient may be in two splits, as in the published FairMedFM rule.
    """

    dataset: str = ""
    title: str = ""
    modality: str = ""
    licence: str = ""
    access: str = ""
    prompts: Mapping[str, Prompts] = field(default_factory=dict)
    slices: str = ""
    reading: str = ""
    split: str = ""
    shared_patients: bool = False

    def pooling(self, asked: str | None, otherwise: str) -> str:
        """One of `SLICES`: what is asked for, or else what the data set says, or else this.

        Examples:
            >>> ct = About("ct", slices="max")
            >>> ct.pooling(None, "mean"), ct.pooling("every", "mean"), About("own").pooling(None, "mean")
            ('max', 'every', 'mean')
        """
        return asked or self.slices or otherwise

    def as_json(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> About:
        """The opposite of `as_json`; what a later version has added is left out.

        Examples:
            >>> about = About("papila", prompts={"glaucoma": Prompts(("normal",), ("glaucoma",))})
            >>> About.of_json(about.as_json()) == about
            True
        """
        known = {f.name for f in fields(cls)}
        prompts = {
            label: Prompts(**{name: tuple(texts) for name, texts in said.items()})
            for label, said in given.get("prompts", {}).items()
        }
        return cls(**{**{k: v for k, v in given.items() if k in known}, "prompts": prompts})


def description_of(path: Path) -> dict[str, Any] | None:
    """What `Manifest.write` says in the metadata of a file; None for a table of the user.

    Raises:
        FmfairError: The file cannot be read, or says what this version does not understand.
    """
    if not path.is_file() or path.suffix.lower() not in (".parquet", ".pq"):
        return None
    try:
        with path.open("rb") as file:
            text = pl.read_parquet_metadata(file).get(KEY)
        said: dict[str, Any] | None = None if text is None else json.loads(text)
    except (OSError, json.JSONDecodeError, pl.exceptions.PolarsError) as error:
        raise FmfairError(f"cannot read {path}: {error}") from error
    if said is not None and not (isinstance(said, dict) and isinstance(said.get("schema_version"), int)):
        raise FmfairError(f"cannot read the manifest {path}: what it says of itself is damaged; make it again")
    if said is not None and said["schema_version"] > SCHEMA_VERSION:
        raise FmfairError(
            f"{path} was written by fmfair {said.get('fmfair_version')}, which is newer than this one "
            f"({installed_version()}); update fmfair to read it"
        )
    return said

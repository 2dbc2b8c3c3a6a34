"""Prompts as vectors: every text is encoded once for all images."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fmfair.atomic import whole_file
from fmfair.errors import FmfairError, listing, plural
from fmfair.notes import Notes
from fmfair.runners.description import Prompts
from fmfair.runners.parts import SCHEMA_VERSION, changes
from fmfair.runners.provenance import METADATA
from fmfair.runners.similarity import Similarity

if TYPE_CHECKING:
    from fmfair.runners.models.encoder import Encoder, LoadedModel
    from fmfair.runners.models.entry import Entry


# What is said of a model that images do not depend on: how texts are read, scored, and become one class.
TEXT_SIDE = ("texts", "score", "ensemble")
# Scales that training has learned.
LEARNED = ("log", "divisor")


def embed_texts(prompts: Mapping[str, Prompts], encoder: Encoder) -> pl.DataFrame:
    """A row per text: `label`, `positive`, `prompt` and its `vector`, an array of Float32.

    Raises:
        FmfairError: There are no prompts, the model has no text tower, or its vectors are not finite.
    """
    check_prompts(prompts)
    rows = _rows(prompts)
    texts = list(dict.fromkeys(text for *_, text in rows))
    check_reads_text(encoder.entry)
    vectors = encoder.encode_texts(texts)
    assert vectors is not None  # of a model that reads texts
    found = vectors.cpu().numpy()
    bad = [text for text, vector in zip(texts, found, strict=True) if not np.isfinite(vector).all()]
    if bad:
        raise FmfairError(
            f"{encoder.entry.name}: the model's vectors of {plural(len(bad), 'text')} are not finite (first: "
            f"{bad[0]!r}); half precision may be too small for it, dtype='float32' is not"
        )
    place = {text: i for i, text in enumerate(texts)}
    matrix = found[[place[text] for *_, text in rows]]
    table = pl.DataFrame(rows, schema={"label": pl.String, "positive": pl.Boolean, "prompt": pl.String}, orient="row")
    return table.with_columns(pl.Series("vector", matrix, dtype=pl.Array(pl.Float32, matrix.shape[1])))


def check_prompts(prompts: Mapping[str, Prompts], labels: Sequence[str] = ()) -> None:
    """Makes sure that there are prompts, of all of the labels."""
    if not prompts:
        raise FmfairError("there are no prompts; the manifest has none, give some with prompts=")
    lacking = [label for label in labels if label not in prompts]
    if lacking:
        raise FmfairError(f"no prompts for {listing(lacking)}; there are some for {listing(prompts)}")


def check_reads_text(entry: Entry) -> None:
    """Makes sure that a model reads texts."""
    if not entry.reads_text:
        raise FmfairError(f"{entry.name} has no text tower, and so no zero-shot predictions; use a linear probe")


@dataclass(frozen=True, eq=False)
class Texts:
    """Prompts as vectors, and how they are compared with images.

    Attributes:
        table: As `embed_texts` gives it.
        model: The identity of the model that encoded them, and how it reads and compares texts, as of `text_side`.
        published: As of `published_convention`.
        cut: How many prompts of which label are longer than the model reads, in words.
        kept: Whether they are in a file already.
    """

    table: pl.DataFrame
    model: Mapping[str, Any]
    published: Mapping[str, Any]
    cut: tuple[str, ...] = ()
    kept: bool = False

    @classmethod
    def of(cls, prompts: Mapping[str, Prompts], encoder: LoadedModel) -> Texts:
        """The prompts, encoded; raises what `embed_texts` does."""
        model = {**encoder.identity, **text_side(encoder.entry)}
        table = embed_texts(prompts, encoder)
        return cls(table, model, published_convention(encoder), tuple(_cut(prompts, encoder)))

    @property
    def said(self) -> dict[str, dict[str, list[str]]]:
        """The prompts of each label, `negative` and `positive`."""
        found: dict[str, dict[str, list[str]]] = {}
        for label, positive, text in self.table.select("label", "positive", "prompt").rows():
            found.setdefault(label, {}).setdefault("positive" if positive else "negative", []).append(text)
        return found

    def similarity(
        self, choose: Callable[[Similarity], Similarity], notes: Notes, *, learned: bool = False
    ) -> Similarity:
        """How they are compared: as the model was published, with what is chosen otherwise."""
        for sentence in self.cut:
            notes.warn(sentence)
        similarity = choose(published_similarity(self.published, learned=learned))
        if similarity.scale == 1 and not self.published["declared"]:
            notes.warn(
                f"scale 1: the entry of {self.model['name']} declares none, so that all scores lie near 0.5; declare "
                "one in its section 'score', or say scale="
            )
        return similarity

    def keep(self, file: Path) -> None:
        """Writes them as Parquet, with what they are of in its metadata, unless they come from there."""
        if self.kept:
            return
        about = {
            "schema_version": SCHEMA_VERSION,
            "kind": "texts",
            "model": dict(self.model),
            "published": dict(self.published),
            "cut": self.cut,
        }
        with whole_file(file) as path:
            metadata = {METADATA: json.dumps(about, ensure_ascii=False)}
            self.table.write_parquet(path, compression="zstd", metadata=metadata)

    def are(self, prompts: Mapping[str, Prompts], model: Mapping[str, Any]) -> bool:
        """Whether they are of these prompts, read and compared as is said here of the model, if it is."""
        same = all(self.model.get(key) == model[key] for key in TEXT_SIDE if key in model)
        return same and self.table.select("label", "positive", "prompt").rows() == _rows(prompts)


def text_side(entry: Entry) -> dict[str, Any]:
    """What vectors of texts and their comparison depend on beside the identity of the model, as JSON has it."""
    said = (entry.text, entry.score, entry.prompts.ensemble)
    plain = [one if one is None or isinstance(one, str) else asdict(one) for one in said]
    return dict(zip(TEXT_SIDE, json.loads(json.dumps(plain)), strict=True))


def image_side(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a model but for how it reads and compares texts, as JSON has it."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(identity)))
    return {key: value for key, value in plain.items() if key not in TEXT_SIDE}


def read_texts(file: Path, images: Mapping[str, Any]) -> Texts | None:
    """The vectors of texts of the model of these images; None where there are none.

    Raises:
        FmfairError: The file cannot be read, or its vectors are of another model than the images'.
    """
    if not file.is_file():
        return None
    again = "remove it, and the prompts are encoded anew"
    try:
        about = json.loads(pl.read_parquet_metadata(file).get(METADATA, "{}"))
        table = pl.read_parquet(file, glob=False).select("label", "positive", "prompt", "vector")
        found = Texts(table, about["model"], about["published"], tuple(about.get("cut", ())), kept=True)
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError) as error:
        raise FmfairError(f"{file} is damaged: {error}; {again}") from error
    changed = list(changes(image_side(found.model), image_side(images)))
    if changed:
        raise FmfairError(f"{file} holds texts of another model than the images': {'; '.join(changed)}; {again}")
    return found


def texts_for(
    file: Path,
    prompts: Mapping[str, Prompts],
    images: Mapping[str, Any],
    known: Mapping[str, Any],
    load: Callable[[], LoadedModel],
) -> Texts:
    """The vectors of prompts: those of a file, or where it has not these, encoded.

    Args:
        file: Where they are kept.
        prompts: The prompts.
        images: The identity of the model that the images were encoded with.
        known: What is known of how the model reads and compares texts, as of `text_side`.
        load: Loads the model.

    Raises:
        FmfairError: Those of the file are another model's, or the model that is needed is not at hand.
    """
    there = read_texts(file, images)
    if there is not None and there.are(prompts, known):
        return there
    needed = "these prompts are not encoded yet, which needs the model that the images were encoded with"
    try:
        encoder = load()
    except FmfairError as error:
        raise FmfairError(f"{needed}: {error}") from error
    changed = list(changes(image_side(images), image_side(encoder.identity)))
    if changed:
        raise FmfairError(
            f"{needed}, and this is another: {'; '.join(changed)}. Name the same with checkpoint= and dtype="
        )
    return Texts.of(prompts, encoder)


def published_convention(encoder: LoadedModel) -> dict[str, Any]:
    """How the model was published to compare images with texts, as it is kept beside the vectors of texts."""
    scale, learned, rules = encoder.scale, encoder.tower.learned, encoder.entry.score
    return {
        "scale": scale.factor,
        "bias": scale.bias or 0.0,
        "learned_scale": scale.factor if learned is None and scale.kind in LEARNED else learned and learned.factor,
        "declared": scale.kind != "none" or learned is not None or bool(rules.published),
        "link": rules.link,
        "ensemble": encoder.entry.prompts.ensemble,
        "vectors": encoder.entry.feature.vectors,
    }


def published_similarity(published: Mapping[str, Any], *, learned: bool = False) -> Similarity:
    """The convention that a model was published with, or that with the scale that its checkpoint has learned.

    Raises:
        FmfairError: There is no learned scale.
    """
    if learned and published["learned_scale"] is None:
        raise FmfairError(
            "there is no learned scale: the model's entry declares none; say a number, or declare one in its section "
            "'score' (scale = 'log_param', or learned = true)"
        )
    return Similarity(
        scale=published["learned_scale"] if learned else published["scale"],
        bias=published["bias"],
        ensemble=published["ensemble"],
        link=published["link"],
        vectors=published["vectors"],
    )


def _rows(prompts: Mapping[str, Prompts]) -> list[tuple[str, bool, str]]:
    """Every text with its label and whether it says that the label is 1."""
    return [
        (label, positive, text)
        for label, said in prompts.items()
        for positive in (False, True)
        for text in said.texts(positive=positive)
    ]


def _cut(prompts: Mapping[str, Prompts], encoder: LoadedModel) -> Iterator[str]:
    """What is said of each label with prompts whose end the model does not read."""
    rules, tokenizer = encoder.entry.text, encoder.tower.tokenizer
    if rules is None or tokenizer is None or encoder.entry.builder is not None:  # a user's says nothing of it
        return
    words = f"{rules.max_words} words or " if rules.max_words else ""
    for label, said in prompts.items():
        texts = [*said.texts(positive=False), *said.texts(positive=True)]
        cut = sum(tokenizer(texts).cut)
        if cut:
            yield (
                f"{label}: {cut} of {plural(len(texts), 'prompt')} {'is' if cut == 1 else 'are'} longer than the "
                f"{words}{rules.context} tokens that {encoder.entry.name} reads; "
                f"{'its end is' if cut == 1 else 'their ends are'} lost"
            )

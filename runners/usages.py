"""Usages: what is done with a data set and a model, and where its files lie.

Below one output folder are the embeddings of each data set and model, made once, and the predictions of each usage:

    embeddings/dataset=D/model=M/part-00000.parquet, ..., texts.parquet
    predictions/usage=U/dataset=D/model=M/part-00000.parquet
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.errors import FmfairError, plural
from fmfair.runners.embedding import How, Tally, embed, images_hash
from fmfair.runners.manifest import Manifest
from fmfair.runners.parts import RUN, changes, read_parts
from fmfair.runners.predictions import as_folder, to_predict, write_predictions
from fmfair.runners.probe import Fitted, Probe, linear_probe
from fmfair.runners.provenance import table_hash, versions
from fmfair.runners.similarity import Similarity
from fmfair.runners.texts import check_prompts, embed_texts, read_texts, write_texts
from fmfair.runners.zero_shot import zero_shot

if TYPE_CHECKING:
    from fmfair.runners.batches import Read
    from fmfair.runners.models.encoder import LoadedModel


@dataclass(frozen=True)
class Study:
    """A data set and a model, and the folder of what is made of them.

    Attributes:
        manifest: The data set.
        model: The name of the model in folders and in the column `model`.
        output: The folder.
        load: Loads the model; called where something is still to be encoded, and where the weights were named.
        asked: What is known of the model's identity without loading it; embeddings that are there must agree.
        named_weights: Whether the weights were named, so that embeddings that are there must be of these.
    """

    manifest: Manifest
    model: str
    output: Path
    load: Callable[[], LoadedModel]
    asked: Mapping[str, Any] = field(default_factory=dict)
    named_weights: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "output", Path(self.output).expanduser())

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model."""
        return self.load()

    @property
    def embeddings(self) -> Path:
        """The folder of the embeddings."""
        return self.output / "embeddings" / as_folder({"dataset": self.manifest.about.dataset, "model": self.model})

    @property
    def texts(self) -> Path:
        """The file of the vectors of the prompts."""
        return self.embeddings / "texts.parquet"

    def embed(self, how: How | None = None) -> Tally:
        """Encodes what is not there yet: images, and where the model has a text tower the prompts of the manifest.

        Raises:
            FmfairError: The folder holds embeddings of something else.
        """
        encoder = self.loaded
        tally = embed(self.manifest, encoder, self.embeddings, reader(encoder, self.manifest), how)
        if self.manifest.about.prompts and encoder.entry.reads_text:
            self._write_texts(encoder)
        return tally

    def images(self, how: How | None = None) -> tuple[pl.LazyFrame, dict[str, Any]]:
        """The embeddings and what they are of, made where they are not complete.

        Raises:
            FmfairError: The folder holds embeddings of something else, or other jobs still make some of them.
        """
        if not (self.embeddings / RUN).exists() or self.missing:
            tally = self.embed(how)
            if tally.left:
                raise FmfairError(
                    f"other jobs still make {plural(tally.left, 'part')} of {self.embeddings}; run again when they end"
                )
        rows, run = read_parts(self.embeddings)
        if run["identity"]["images"] != images_hash(self.manifest):
            raise FmfairError(
                f"{self.embeddings} holds embeddings of other images than the manifest's; name another output folder"
            )
        self._check_model(run["identity"]["model"])
        return rows, run["identity"]

    def _check_model(self, found: Mapping[str, Any]) -> None:
        """Refuses embeddings of another model, feature, preprocessing or number type than asked for."""
        asked = dict(self.loaded.identity if self.named_weights else self.asked)
        changed = list(changes({key: found.get(key) for key in asked}, asked))
        if changed:
            raise FmfairError(
                f"{self.embeddings} holds embeddings of something else: {'; '.join(changed)}. Name another output "
                "folder, or call the model by another name="
            )

    @property
    def missing(self) -> bool:
        """Whether parts of the embeddings are not there yet."""
        try:
            read_parts(self.embeddings)
        except FmfairError:
            return True
        return False

    def linear_probe(
        self, probe: Probe | None = None, how: How | None = None, splits: Sequence[str] = ("test",)
    ) -> tuple[Path, list[Fitted]]:
        """Fits and writes the predictions of a linear probe, and returns their file and the heads."""
        probe = probe or Probe()
        to_predict(self.manifest, splits)  # before anything is encoded
        images, identity = self.images(how)
        table, fitted = linear_probe(self.manifest, images, model=self.model, probe=probe, splits=splits)
        about = {"probe": asdict(probe), "heads": {one.label: one.chosen for one in fitted}, "splits": list(splits)}
        return self._write(table, "linear-probe", identity, about), fitted

    def zero_shot(
        self,
        choose: Callable[[Similarity], Similarity] = lambda published: published,
        *,
        learned_scale: bool = False,
        among: str = "pairs",
        slices: str = "max",
        how: How | None = None,
        splits: Sequence[str] = ("test",),
    ) -> Path:
        """Writes zero-shot predictions and returns their file.

        Args:
            choose: Changes the published convention of the model.
            learned_scale: Whether to scale by the checkpoint's value where the published protocol does not.
            among: `pairs` or `classes`, see `zero_shot.zero_shot`.
            slices: What makes a prediction of a volume.
            how: How images are encoded that are not yet.
            splits: Which images are predicted.
        """
        to_predict(self.manifest, splits)
        check_prompts(self.manifest.about.prompts)
        images, identity = self.images(how)
        if not self.texts.exists():
            self._write_texts(self.loaded)
        texts, published = read_texts(self.texts, identity["model"], self.manifest.about.prompts)
        similarity = choose(published_similarity(published, learned=learned_scale))
        table = zero_shot(
            self.manifest, images, texts, model=self.model, similarity=similarity, among=among, slices=slices,
            splits=splits,
        )  # fmt: skip
        about = {
            "similarity": asdict(similarity),
            "among": among,
            "slices": slices,
            "splits": list(splits),
            "prompts": texts.drop("vector").to_dicts(),
        }
        return self._write(table, "zero-shot", identity, about)

    def _write_texts(self, encoder: LoadedModel) -> None:
        table = embed_texts(self.manifest.about.prompts, encoder)
        scale, learned = encoder.scale, encoder.tower.learned
        published = {
            "scale": scale.factor,
            "bias": scale.bias or 0.0,
            "learned_scale": None if learned is None else learned.factor,
            "link": encoder.entry.score.link,
            "ensemble": encoder.entry.prompts.ensemble,
            "vectors": encoder.entry.feature.vectors,
        }
        write_texts(table, self.texts, encoder.identity, published)

    def _write(self, table: pl.DataFrame, usage: str, identity: Mapping[str, Any], about: Mapping[str, Any]) -> Path:
        provenance = {
            "configuration": dict(about),
            "model": identity["model"],
            "manifest": table_hash(self.manifest.table),
            "images": identity["images"],
            "versions": versions(),
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        }
        return write_predictions(table, self.output / "predictions", usage, provenance)


def reader(encoder: LoadedModel, manifest: Manifest) -> Read:
    """Reads a file of the data set as what the model is fed."""
    from fmfair.runners.images.files import read
    from fmfair.runners.images.reading import Reading

    reading, transform = Reading.of(manifest.about.reading), encoder.transform

    def prepared(path: Path) -> list[tuple[int | None, Any]]:
        found = read(path, reading)
        if not isinstance(found, list):
            return [(None, transform(found))]
        return [(picture.slice, transform(picture)) for picture in found]

    return prepared


def published_similarity(published: Mapping[str, Any], *, learned: bool = False) -> Similarity:
    """The convention that a model was published with, or that with the scale that its checkpoint has learned.

    Where none is kept beside the published scale, that one is the learned one.
    """
    scale = published["learned_scale"] if learned else None
    return Similarity(
        scale=published["scale"] if scale is None else scale,
        bias=published["bias"],
        ensemble=published["ensemble"],
        link=published["link"],
        vectors=published["vectors"],
    )

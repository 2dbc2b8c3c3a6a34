"""Usages: what is done with a data set and a model, and where its files lie.

Below one output folder are the embeddings of each data set and model, made once, and the predictions of each usage:

    embeddings/dataset=D/model=M/part-00000.parquet, ..., texts.parquet
    predictions/usage=U/dataset=D/model=M/part-00000.parquet
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.errors import FmfairError, Problems, check_choice, plural
from fmfair.notes import Notes
from fmfair.runners.arguments import check_folder, check_type
from fmfair.runners.embedding import How, Tally, embed, images_hash
from fmfair.runners.faults import Faults
from fmfair.runners.manifest import Manifest
from fmfair.runners.parts import changes, read_parts
from fmfair.runners.predictions import POOLS, as_folder, to_predict, write_predictions
from fmfair.runners.probe import Fitted, Probe, linear_probe, needed_splits
from fmfair.runners.provenance import table_hash, versions
from fmfair.runners.similarity import Similarity
from fmfair.runners.texts import (
    check_prompts,
    check_reads_text,
    embed_texts,
    published_convention,
    published_similarity,
    read_texts,
    write_texts,
)
from fmfair.runners.zero_shot import AMONG, zero_shot

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
        notes: Takes what was found on the way, such as images that could not be used.
    """

    manifest: Manifest
    model: str
    output: Path
    load: Callable[[], LoadedModel]
    asked: Mapping[str, Any] = field(default_factory=dict)
    named_weights: bool = False
    notes: Notes = field(default_factory=Notes, compare=False)

    def __post_init__(self) -> None:
        problems = Problems()
        for name, kind in (("manifest", Manifest), ("model", str), ("output", (str, Path))):
            with problems.collecting():
                check_type(name, getattr(self, name), kind)
        load: object = self.load
        if not callable(load):
            problems.add("load= must be a function that loads the model, such as lambda: load_model('rad_dino')")
        problems.raise_if_any()
        for what, name in (("model", self.model), ("data set", self.manifest.about.dataset)):
            with problems.collecting():
                check_folder(what, name)
        if any("\ud800" <= letter <= "\udfff" for letter in str(self.output)):  # as Python shows what is no UTF-8
            problems.add(f"the output folder {str(self.output)!r} is no text, which Parquet files need; name another")
        problems.raise_if_any()
        object.__setattr__(self, "output", Path(self.output).expanduser())

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model.

        Raises:
            FmfairError: It cannot be loaded.
        """
        found = self.load()
        if not hasattr(found, "encode_images"):
            raise FmfairError(f"load= returned {type(found).__name__}; expected a model, as load_model returns it")
        return found

    @property
    def embeddings(self) -> Path:
        """The folder of the embeddings."""
        return self.output / "embeddings" / as_folder({"dataset": self.manifest.about.dataset, "model": self.model})

    @property
    def texts(self) -> Path:
        """The file of the vectors of the prompts."""
        return self.embeddings / "texts.parquet"

    def embed(self, how: How | None = None, *, retry: bool = False) -> Tally:
        """Encodes what is not there yet: images, and where the model has a text tower the prompts of the manifest.

        Args:
            how: How images are encoded.
            retry: Whether to read those images again that could not be encoded before.

        Raises:
            FmfairError: The folder holds embeddings of something else.
        """
        check_type("how", how, (How, type(None)))
        encoder, prompts = self.loaded, self.manifest.about.prompts
        told = bool(prompts) and encoder.entry.reads_text
        if told:
            read_texts(self.texts, encoder.identity, prompts)  # those of another model are refused at once
        tally = embed(self.manifest, encoder, self.embeddings, reader(encoder, self.manifest), how, retry=retry)
        if told:
            self._vectors(encoder.identity)
        return tally

    def images(self, how: How | None = None) -> tuple[pl.LazyFrame, dict[str, Any]]:
        """The embeddings and what they are of, made where they are not complete.

        Raises:
            FmfairError: The folder holds embeddings of something else, or other jobs still make some of them.
        """
        if self.missing:
            tally = self.embed(how)
            if tally.left:
                raise FmfairError(
                    f"{plural(tally.left, 'part')} of {self.embeddings} {'is' if tally.left == 1 else 'are'} left to "
                    "other jobs; run again when they are done"
                )
        rows, run = read_parts(self.embeddings)
        if run["identity"]["images"] != images_hash(self.manifest):
            raise FmfairError(
                f"{self.embeddings} holds embeddings of other images than the manifest's; name another output folder"
            )
        self._check_same(run["identity"])
        return rows, run["identity"]

    def _check_same(self, found: Mapping[str, Any]) -> None:
        """Refuses embeddings of files read otherwise, or of another model, feature or preprocessing than asked for."""
        asked = dict(self.loaded.identity if self.named_weights else self.asked)
        begun = {"reading": found.get("reading"), **{key: found["model"].get(key) for key in asked}}
        changed = list(changes(begun, {"reading": self.manifest.about.reading, **asked}))
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
        check_type("probe", probe, (Probe, type(None)))
        probe = probe or Probe()
        problems = Problems()  # told before anything is encoded
        with problems.collecting():
            to_predict(self.manifest, splits)
        with problems.collecting():
            needed_splits(self.manifest, probe)
        problems.raise_if_any()
        images, identity = self.images(how)
        self._check_usable(images, ("train",), *([] if probe.select == "last" else [("validation",)]), splits)
        table, fitted = linear_probe(self.manifest, images, model=self.model, probe=probe, splits=splits)
        about = {"probe": asdict(probe), "heads": {f.label: f.told for f in fitted}, "splits": list(splits)}
        return self._write(table, identity, about), fitted

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
        problems = Problems()  # told before anything is encoded
        for check in (
            lambda: to_predict(self.manifest, splits),
            lambda: check_prompts(self.manifest.about.prompts, self.manifest.labels),
            lambda: check_choice("among", among, AMONG),
            lambda: check_choice("slices", slices, POOLS),
        ):
            with problems.collecting():
                check()
        problems.raise_if_any()
        if self.missing:
            check_reads_text(self.loaded.entry)
        images, identity = self.images(how)
        self._check_usable(images, splits)
        texts, published = self._vectors(identity["model"])
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
        return self._write(table, identity, about)

    def _check_usable(self, images: pl.LazyFrame, *used: Sequence[str]) -> None:
        """Notes the images of splits that could not be encoded.

        Raises:
            FmfairError: None of the images of some splits could.
        """
        problems = Problems()
        for splits in used:
            rows = self.manifest.of_split(*splits).lazy().select("sample_id")
            faults = Faults.of(images.join(rows, on="sample_id", how="semi"))
            split = f"the split {' and '.join(map(repr, splits))}"
            again = "once the files are mended, fmfair run embed --retry or Study.embed(retry=True) reads them again"
            if faults.unusable == faults.images:
                problems.add(f"no image of {split} could be encoded, of {faults.images:,}: {faults}; {again}")
            elif faults.reasons:
                told = self.notes.warn if 2 * faults.unusable > faults.images else self.notes.say
                told(f"of {plural(faults.images, 'image')} of {split}: {faults}; {again}")
        problems.raise_if_any()

    def _vectors(self, identity: Mapping[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The vectors of the prompts and the published convention, made where they are not there.

        Args:
            identity: That of the model that the images were encoded with.

        Raises:
            FmfairError: Those that are there are another model's, or the model that is needed is not at hand.
        """
        prompts = self.manifest.about.prompts
        found = read_texts(self.texts, identity, prompts)
        if found is not None:
            return found
        needed = "these prompts are not encoded yet, which needs the model that the images were encoded with"
        try:
            encoder = self.loaded
        except FmfairError as error:
            raise FmfairError(f"{needed}: {error}") from error
        changed = list(changes(dict(identity), json.loads(json.dumps(dict(encoder.identity)))))
        if changed:
            raise FmfairError(
                f"{needed}, and this is another: {'; '.join(changed)}. Name the same with checkpoint= and dtype="
            )
        table, published = embed_texts(prompts, encoder), published_convention(encoder)
        write_texts(table, self.texts, identity, published)
        return table, published

    def _write(self, table: pl.DataFrame, identity: Mapping[str, Any], about: Mapping[str, Any]) -> Path:
        provenance = {
            "configuration": dict(about),
            "model": identity["model"],
            "manifest": table_hash(self.manifest.table),
            "images": identity["images"],
            "versions": versions(),
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        }
        return write_predictions(table, self.output / "predictions", provenance)


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

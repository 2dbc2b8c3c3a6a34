"""Usages: what is done with a data set and a model, and where its files lie.

Below one output folder are the embeddings of each data set and model, made once, and the predictions of each usage, and
of each variant of it:

    embeddings/dataset=D/model=M/part-00000.parquet, ..., texts.parquet
    predictions/usage=U/dataset=D/model=M/part-00000.parquet
    predictions/usage=U/dataset=D/model=M (VARIANT)/part-00000.parquet
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fmfair.errors import FmfairError, Problems, plural
from fmfair.notes import Notes
from fmfair.runners.arguments import check_folder, of_registry
from fmfair.runners.batches import reader
from fmfair.runners.catalogue import IMAGES, Catalogue
from fmfair.runners.embedding import How, Tally, embed, listed
from fmfair.runners.faults import check_usable
from fmfair.runners.manifest import Manifest
from fmfair.runners.parts import changes, complete, read_parts, sound
from fmfair.runners.predictions import as_folder, to_predict, write_predictions
from fmfair.runners.probe import Fitted, Probe, linear_probe, needed_splits
from fmfair.runners.provenance import images_hash, table_hash, versions
from fmfair.runners.similarity import Similarity
from fmfair.runners.texts import (
    Texts,
    check_reads_text,
    image_side,
    published_convention,
    published_similarity,
    text_side,
    texts_for,
)
from fmfair.runners.typed import check_type
from fmfair.runners.zero_shot import POOL, check_zero_shot, zero_shot

if TYPE_CHECKING:
    from fmfair.runners.models.encoder import LoadedModel


class UnfinishedError(FmfairError):
    """Other jobs still encode some of the images, so that nothing can be predicted yet."""


@dataclass(frozen=True)
class Study:
    """A data set and a model, and the folder of what is made of them; `Study.of` makes one of a model of the registry.

    Attributes:
        manifest: The data set.
        model: The name of the model in folders and in the column `model`.
        output: The folder.
        load: Loads the model; called where something is still to be encoded, and where the weights were named.
        asked: What is known of the model's identity without loading it; embeddings that are there must agree.
        named_weights: Whether the weights were named, so that embeddings that are there must be of these.
        variant: Tells predictions apart that are made otherwise from the same embeddings: "NAME (VARIANT)" is what the
            model is called in them.
        notes: Takes what was found on the way, such as images that could not be used.
    """

    manifest: Manifest
    model: str
    output: Path
    load: Callable[[], LoadedModel]
    asked: Mapping[str, Any] = field(default_factory=dict)
    named_weights: bool = False
    variant: str = ""
    notes: Notes = field(default_factory=Notes, compare=False)

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        model: str,
        output: Path | str = "runs",
        *,
        name: str | None = None,
        variant: str = "",
        **loading: Any,
    ) -> Study:
        """The study of a model of the registry.

        Args:
            manifest: The data set.
            model: The name of the model in the registry.
            output: The folder of embeddings and predictions.
            name: What the model is called in the results; without it its own name.
            variant: What tells these predictions from others that are made of the same embeddings.
            **loading: `checkpoint`, `device`, `preprocess`, `dtype` and `feature`, as `load_model` takes them.

        Raises:
            FmfairError: There is no such model, or an argument cannot be used.

        Examples:
            >>> from tempfile import TemporaryDirectory
            >>> from PIL import Image
            >>> from fmfair.runners import How, Probe, read_manifest, register
            >>> from fmfair.runners.models.registry import unregister
            >>> def colours(checkpoint):
            ...     import torch
            ...
            ...     return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())
            >>> image = {"steps": ["rgb", "resize:8:squash:bilinear:pil", "scale"], "size": 8}
            >>> entry = {"name": "colours", "image": image, "feature": {"dim": 12}}
            >>> _ = register(entry, builder=colours)
            >>> rows = [(f"{i}.png", i, ("train", "test")[i % 2], i // 4) for i in range(8)]
            >>> table = pl.DataFrame(rows, schema=["path", "patient_id", "split", "label"], orient="row")
            >>> with TemporaryDirectory() as folder:
            ...     for i in range(8):
            ...         Image.new("L", (9, 9), 30 * i).save(f"{folder}/{i}.png")
            ...     manifest = read_manifest(table, root=folder, dataset="grey")
            ...     study = Study.of(manifest, "colours", f"{folder}/runs", variant="as it is")
            ...     file, heads = study.linear_probe(Probe(select="last"), How(progress=False))
            ...     found = pl.read_parquet(file, hive_partitioning=False)
            >>> found["model"][0], found["y_true"].to_list(), found["y_score"].is_sorted()
            ('colours (as it is)', [0, 0, 1, 1], True)
            >>> unregister("colours")
        """
        check_type("manifest", manifest, Manifest)
        known = of_registry(model, manifest.about.dataset, loading)
        check_type("output", output, (str, Path))
        return cls(manifest, output=Path(output), variant=variant, **(known | ({"model": name} if name else {})))

    def __post_init__(self) -> None:
        problems = Problems()
        kinds = {"manifest": Manifest, "model": str, "output": (str, Path), "variant": str}
        for name, kind in kinds.items():
            with problems.collecting():
                check_type(name, getattr(self, name), kind)  # type: ignore[arg-type]
        load: object = self.load
        if not callable(load):
            problems.add("load= must be a function that loads the model; Study.of(manifest, 'rad_dino') has one")
        problems.raise_if_any()
        for what, name in (("model", self.called), ("data set", self.manifest.about.dataset)):
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
    def called(self) -> str:
        """What the model is called in predictions."""
        return f"{self.model} ({self.variant})" if self.variant else self.model

    @property
    def embeddings(self) -> Path:
        """The folder of the embeddings."""
        return self.output / "embeddings" / as_folder({"dataset": self.manifest.about.dataset, "model": self.model})

    @property
    def texts(self) -> Path:
        """The file of the vectors of the prompts."""
        return self.embeddings / "texts.parquet"

    def embed(self, how: How | None = None, *, retry: bool = False) -> Tally:
        """Encodes what is not there yet: the prompts of the manifest where the model reads texts, and then the images.

        Args:
            how: How images are encoded.
            retry: Whether to read those images again that could not be encoded before.

        Raises:
            FmfairError: The folder holds embeddings of something else.
        """
        check_type("how", how, (How, type(None)))
        encoder, prompts = self.loaded, self.manifest.about.prompts
        texts = self._texts(encoder.identity) if prompts and encoder.entry.reads_text else None
        tally = embed(self.manifest, encoder, self.embeddings, reader(encoder, self.manifest), how, retry=retry)
        if texts is not None:
            texts.keep(self.texts)
        return tally

    def images(self, how: How | None = None) -> tuple[pl.LazyFrame, dict[str, Any]]:
        """The embeddings and what they are of, made where they are not complete.

        They may be of more images than the manifest's, and in another order.

        Raises:
            FmfairError: The folder holds embeddings of something else, or other jobs still make some of them.
        """
        wanted, there = listed(self.manifest), Catalogue.read(self.embeddings)
        if there is not None:
            there.check(wanted, self.embeddings)
        if not complete(self.embeddings, wanted):
            tally = self.embed(how)
            if tally.left:
                raise UnfinishedError(
                    f"{plural(tally.left, 'part')} of {self.embeddings} {'is' if tally.left == 1 else 'are'} left to "
                    "other jobs, so nothing is predicted yet; once they are done, the same without jobs (command line: "
                    "--shard) predicts"
                )
        rows, run = read_parts(self.embeddings)
        self._check_same(run["identity"])
        return rows, run["identity"]

    def _check_same(self, found: Mapping[str, Any]) -> None:
        """Refuses embeddings of files read otherwise, or of another model, feature or preprocessing than asked for."""
        asked = image_side(self.loaded.identity if self.named_weights else self.asked)
        begun = {"reading": found.get("reading"), **{key: found["model"].get(key) for key in asked}}
        changed = list(changes(begun, {"reading": self.manifest.about.reading, **asked}))
        if changed:
            raise FmfairError(
                f"{self.embeddings} holds embeddings of something else: {'; '.join(changed)}. Name another output "
                "folder, or call the model by another name="
            )

    def linear_probe(
        self, probe: Probe | None = None, how: How | None = None, splits: Sequence[str] = ("test",)
    ) -> tuple[Path, list[Fitted]]:
        """Fits and writes the predictions of a linear probe, and returns their file and the heads."""
        check_type("probe", probe, (Probe, type(None)))
        probe = (probe or Probe()).of(self.manifest.about)
        problems = Problems()  # told before anything is encoded
        with problems.collecting():
            to_predict(self.manifest, splits)
        with problems.collecting():
            needed_splits(self.manifest, probe)
        problems.raise_if_any()
        images, identity = self.images(how)
        used = [("train",), *([] if probe.select == "last" else [("validation",)]), splits]
        with sound(self.embeddings):
            check_usable(images, self.manifest, used, self.notes)
            table, fitted = linear_probe(self.manifest, images, model=self.called, probe=probe, splits=splits)
        about = {"probe": asdict(probe), "heads": {f.label: f.told for f in fitted}, "splits": list(splits)}
        return self._write(table, images, identity["model"], about), fitted

    def zero_shot(
        self,
        choose: Callable[[Similarity], Similarity] = lambda published: published,
        *,
        learned_scale: bool = False,
        among: str = "pairs",
        slices: str | None = None,
        how: How | None = None,
        splits: Sequence[str] = ("test",),
    ) -> Path:
        """Writes zero-shot predictions and returns their file.

        Args:
            choose: Changes the published convention of the model.
            learned_scale: Whether to scale by the checkpoint's value where the published protocol does not.
            among: `pairs` or `classes`, see `zero_shot.zero_shot`.
            slices: What makes a prediction of a volume, see `zero_shot.zero_shot`.
            how: How images are encoded that are not yet.
            splits: Which images are predicted.
        """
        slices = self.manifest.about.pooling(slices, POOL)
        check_zero_shot(self.manifest, splits, among, slices, self.notes)  # before anything is encoded
        if not complete(self.embeddings, listed(self.manifest)):
            check_reads_text(self.loaded.entry)
            published_similarity(published_convention(self.loaded), learned=learned_scale)
        images, identity = self.images(how)
        with sound(self.embeddings):
            check_usable(images, self.manifest, [splits], self.notes)
        texts = self._texts(identity["model"])
        texts.keep(self.texts)
        similarity = texts.similarity(choose, self.notes, learned=learned_scale)
        with sound(self.embeddings):
            table = zero_shot(
                self.manifest, images, texts.table, model=self.called, similarity=similarity, among=among,
                slices=slices, splits=splits,
            )  # fmt: skip
        about = {
            "similarity": asdict(similarity),
            "among": among,
            "slices": slices,
            "splits": list(splits),
            "prompts": texts.said,
        }
        return self._write(table, images, texts.model, about)

    def _texts(self, images: Mapping[str, Any]) -> Texts:
        """The prompts as vectors of the model that the images were encoded with."""
        known = text_side(self.loaded.entry) if "loaded" in self.__dict__ else self.asked
        return texts_for(self.texts, self.manifest.about.prompts, images, known, lambda: self.loaded)

    def _write(
        self, table: pl.DataFrame, images: pl.LazyFrame, model: Mapping[str, Any], about: Mapping[str, Any]
    ) -> Path:
        with sound(self.embeddings):
            held = images_hash(self.manifest.table.select(IMAGES), images)
        provenance = {
            "configuration": {"labels": list(self.manifest.labels), **about},
            "model": dict(model),
            "manifest": table_hash(self.manifest.table),
            "images": held,
            "versions": versions(),
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        }
        return write_predictions(table, self.output / "predictions", provenance, self.notes)

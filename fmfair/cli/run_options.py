"""The options of `fmfair run`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import typer

from fmfair.cli.data_options import DATASET, TABLE_OPTIONS
from fmfair.cli.options import Option

MANIFEST: Mapping[str, Any] = {
    "manifest": typer.Argument(metavar="MANIFEST", help="What fmfair data wrote, or a table with a column of paths.")
}
# fmt: off
_DATA = (
    Option("root", "--root", "DIR", "The folder that image paths start from; default that of the manifest"),
    Option("labels", "--labels", "COL...", "Labels: of your own table, or some of the manifest's", "texts"),
    Option("attributes", "--sensitive", "COL...", "Attributes: of your own table, or some of the manifest's", "texts"),
    *TABLE_OPTIONS,
    Option("split", "--split", "COL",
           "The split of your own table: train|training, validation|val|valid|dev|development, test|testing|holdout"),
    DATASET._replace(text="What the data set is called in folders and results; default as the manifest or file"),
    Option("reading", "--reading", "TEXT",
           "How files are read: 'key=ARRAY window=LOW:HIGH every=N count=N axis=N'; default as the manifest says"),
    Option("splits", "--splits", "NAME...", "Which images are predicted; default test", "texts"),
)
_MODEL = (
    Option("model", "--model", "NAME", "The model, see fmfair models"),
    Option("checkpoint", "--checkpoint", "PATH", "Its weights: a file or a folder; without it the hub's"),
    Option("register", "--register", "FILE", "A TOML file that describes models of your own"),
    Option("feature", "--feature", "NAME", "Another feature of the model than the usual one"),
    Option("preprocess", "--preprocess", "own|fairmedfm", "Preprocessing: the model's (default), or the benchmark's"),
    Option("dtype", "--dtype", "NAME", "float32, float16, bfloat16 or mixed; default mixed on a GPU, float32 on a CPU"),
    Option("device", "--device", "NAME", "auto (default), cpu, cuda, cuda:1, mps"),
)
_WORK = (
    Option("batch_size", "--batch-size", "N", "Images that go through the model at once; default 32", "whole"),
    Option("workers", "--workers", "N", "Threads that decode images; default one a core", "whole"),
    Option("shard", "--shard", "I/N", "Encode the I-th of N shares of the images: 2/4"),
)
_OUTPUT = (
    Option("output_path", "--output", "DIR", "Folder of embeddings and predictions; default runs"),
    Option("name", "--name", "NAME", "What the model is called in the results; default its own name"),
    Option("quiet", "--quiet", None, "Show no progress and no notes", "switch"),
)
_COMMON = {"Data": _DATA, "Model": _MODEL, "Work": _WORK, "Output": _OUTPUT}
# Of usages that predict, which need all images.
_PREDICTING = {
    **_COMMON,
    "Work": (
        *_WORK[:-1],
        _WORK[-1]._replace(
            text="Encode the I-th of N shares of the images that are not yet: 2/4; once all are done, the last one, or "
            "the same without --shard, predicts"
        ),
    ),
    "Output": (
        *_OUTPUT[:-1],
        Option("variant", "--variant", "TEXT",
               "Keep these predictions beside others of the same embeddings: the model is called 'NAME (TEXT)' there"),
        _OUTPUT[-1],
    ),
}

EMBED_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType({
    **_COMMON,
    "Data": _DATA[:-1],
    "Work": (*_WORK, Option("retry", "--retry", None, "Read those images again that could not be encoded", "switch")),
})
PROBE_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType({
    "Probe": (
        Option("solver", "--solver", "lbfgs|sgd", "scikit-learn's (default), or the benchmark's published schedule"),
        Option("select", "--select", "loss|worst_auc|last",
               "What the validation split decides by: the loss (default), the AUC of the worst group, or nothing"),
        Option("groups", "--groups", "COL...", "The attributes whose groups worst_auc looks at", "texts"),
        Option("slices", "--slices", "mean|max|every",
               "Volumes: average features, the highest slice speaks, or a row each; default the data set's, else mean"),
        Option("seed", "--seed", "N", "Of the first weights and the order of images; default 0", "whole"),
        Option("epochs", "--epochs", "N", "sgd: how often all images are seen; default 100", "whole"),
        Option("learning_rate", "--learning-rate", "X", "sgd: the highest learning rate; default 0.0001", "number"),
        Option("train_batch", "--train-batch", "N", "sgd: images of a step; default 1024", "whole"),
        Option("weight_decay", "--weight-decay", "X", "sgd: decay of the weights; default 0.0001", "number"),
    ),
    **_PREDICTING,
})
ZERO_SHOT_OPTIONS: Mapping[str, tuple[Option, ...]] = MappingProxyType({
    "Zero-shot": (
        Option("prompts", "--prompts", "FILE", "TOML with negative, positive and templates per label"),
        Option("among", "--among", "pairs|classes",
               "Each label by its own two prompts (default), or labels that exclude each other"),
        Option("scale", "--scale", "published|learned|X", "What similarities are multiplied by; default published"),
        Option("link", "--link", "softmax|sigmoid", "From similarities to probabilities; default the model's"),
        Option("ensemble", "--ensemble", "RULE", "mean_norm|mean_then_norm|mean_logit|max_logit; default its own"),
        Option("raw_images", "--raw-images", None, "Do not bring the vectors of images to length 1", "switch"),
        Option("raw_texts", "--raw-texts", None, "Do not bring the vectors of texts to length 1", "switch"),
        Option("slices", "--slices", "max|mean|every",
               "Volumes: the highest slice speaks, their mean, or a row each; default the data set's, else max"),
    ),
    **_PREDICTING,
})
# fmt: on
EMBED_EPILOG = """[bold]Examples[/bold]

fmfair run embed papila.parquet --model retfound_cfp --checkpoint RETFound_mae_natureCFP.pth --output runs

fmfair run embed chexpert.parquet --model biomedclip --shard 2/4 --batch-size 256

fmfair run embed chexpert.parquet --model biomedclip --retry

Images are decoded and encoded once; the other usages start from the embeddings. A run that was stopped goes on where it
was, rows that the manifest got since are encoded alone, several jobs may work in one folder, and images that were
mended since are read with --retry. Exit status: 0 done; 1 no image could be encoded; 2 an input or option cannot be
used; 130 stopped."""
PROBE_EPILOG = """[bold]Examples[/bold]

fmfair run linear-probe papila.parquet --model rad_dino --output runs

fmfair run linear-probe papila.parquet --model rad_dino --select worst_auc --groups sex

fmfair run linear-probe papila.parquet --model rad_dino --solver sgd --select last --epochs 50 --variant "50 epochs"

What is not embedded yet is embedded first. Predictions of another choice replace the earlier ones, unless --variant
tells them apart. Exit status: 0 done; 2 an input or option cannot be used."""
ZERO_SHOT_EPILOG = """[bold]Examples[/bold]

fmfair run zero-shot chexpert.parquet --model biomedclip --output runs

fmfair run zero-shot chexpert.parquet --model chexzero --checkpoint best.pt --scale learned

fmfair run zero-shot digits.csv --labels zero one two --prompts digits.toml --among classes --model mine

Prompts are those of the manifest, or of a file such as

  \\[glaucoma]
  negative = \\["normal"]
  positive = \\["glaucoma", "glaucomatous"]
  templates = \\["a fundus image of a {}"]

Exit status: 0 done; 2 an input or option cannot be used."""

"""The sections of an entry: what can be said of a model, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# The family of models that a builder of the user's makes.
PYTHON = "python"


@dataclass(frozen=True)
class Model:
    """What the model is, and what may be done with it.

    Attributes:
        title: Its name in print.
        kind: Whether there is a text tower beside the image tower.
        domain: What it was trained for.
        modalities: The kinds of images that it was trained on.
        licence: The licence of the weights, as published; not interpreted.
        licence_note: What else is known of the licence.
        gated: Whether the hub asks for terms to be accepted.
        access: Where the weights are to be had.
        citation: Who made it.
        trained_on: Data sets whose images it has seen.
        verified: With which weights the entry has been run by its authors.
    """

    title: str = ""
    kind: Literal["image", "image_text"] = "image"
    domain: str = ""
    modalities: tuple[str, ...] = ()
    licence: str = "not stated"
    licence_note: str = ""
    gated: bool = False
    access: Literal["hub", "file_share", "request", "package", "own"] = "own"
    citation: str = ""
    trained_on: tuple[str, ...] = ()
    verified: Literal["nothing", "random weights", "real weights"] = "nothing"


@dataclass(frozen=True)
class Source:
    """Where the weights come from.

    Attributes:
        hub_id: The repository on the Hugging Face hub.
        revision: Its revision, the newest where empty.
        files: Accepted names of the file of weights, in order; the usual names of the family where empty.
        beside: Names of further files that are needed.
        package: The Python package that the weights are a file of.
        format: `torchscript` where the file is a program with its weights, which torch runs as it reads them; take it
            from whoever made it. Others are told by their content, and nothing that they hold is run.
        offline_extras: Other repositories of which files are needed: a tokenizer, say.
        where: In words, where the files are to be had.
    """

    hub_id: str = ""
    revision: str = ""
    files: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    package: str = ""
    format: Literal["", "torchscript"] = ""
    offline_extras: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True)
class Loader:
    """What builds the model.

    Attributes:
        family: The loader.
        arch: The architecture, in the words of the family's library.
        kwargs: Further arguments of the architecture.
        dtype: The number type on an accelerator; on a CPU always float32.
        params_m: Parameters in millions; what is loaded must agree within 1 %.
    """

    family: str = PYTHON
    arch: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    params_m: float | None = None


@dataclass(frozen=True)
class WeightRules:
    """How the keys of the checkpoint become those of the model; what no rule allows is an error.

    Patterns are beginnings of keys, or have `*`.

    Attributes:
        state_key: Where in the file the weights stand, dots between the levels.
        keep_prefix: Only keys with the first of these that occurs are kept, without it; `""` keeps all.
        drop: Keys that are not wanted.
        rename: Pairs of a regular expression and its replacement, applied in order.
        missing_ok: What the checkpoint need not have.
        unexpected_ok: What the model need not have.
        safe_globals: Classes other than tensors that the file holds and that may be read.
        resize_pos: Whether a position table of another length is resampled.
    """

    state_key: str = ""
    keep_prefix: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    missing_ok: tuple[str, ...] = ()
    unexpected_ok: tuple[str, ...] = ()
    safe_globals: tuple[str, ...] = ()
    resize_pos: bool = False


@dataclass(frozen=True)
class ImageRules:
    """The model's own preprocessing.

    Attributes:
        steps: The published steps, in order.
        size: The side of the image that reaches the model, in pixels.
        sizes: Which other sides it takes: none, multiples of a number, or any.
    """

    steps: tuple[str, ...]
    size: int
    sizes: Literal["fixed", "multiple_of_14", "multiple_of_16", "any"] = "fixed"


Take = Literal[
    "cls", "pooler", "patch_mean", "cls_patch_mean", "projected", "spatial_mean", "block_mean", "first_query"
]


@dataclass(frozen=True)
class FeatureRule:
    """Which numbers of the image tower are the feature.

    Attributes:
        take: What is taken.
        dim: How many numbers that are.
        shared_dim: The dimension of the space that images and texts share; 0 where there is none.
        prefix_tokens: Tokens before the patches.
        vectors: Vectors per image in the shared space; the best of them counts.
        alternatives: What else may be taken, with its dimension.
    """

    dim: int
    take: Take = "pooler"
    shared_dim: int = 0
    prefix_tokens: int = 1
    vectors: int = 1
    alternatives: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TextRules:
    """How a text becomes numbers.

    Attributes:
        tokenizer: CLIP's own byte pairs, or a `tokenizer.json` (or `vocab.txt` of word pieces) from the checkpoint.
        source: The repository of the tokenizer, where it is another one.
        file: The name of the tokenizer's file, where it is not `tokenizer.json`.
        context: The most ids of a text.
        start: The token put before a text, by name or as `id:1`; none where empty.
        end: The token put after a text, also where it was cut.
        pad_token: The token that fills up; id 0 where empty.
        pad: To the context, to the longest of a batch, or not at all: each text is then encoded alone.
        pass_mask: Whether the model is told which ids are padding.
        lower: Whether the text is lower-cased first.
        replace: Pairs of texts, replaced first.
        remove: Characters that are removed.
        strip_end: Characters that are removed at the end.
        max_words: Words after which a text is cut; 0 for none.
    """

    tokenizer: Literal["clip_bpe", "json"]
    context: int
    source: str = ""
    file: str = ""
    start: str = ""
    end: str = ""
    pad_token: str = ""
    pad: Literal["max_length", "longest", "none"] = "max_length"
    pass_mask: bool = False
    lower: bool = False
    replace: tuple[tuple[str, str], ...] = ()
    remove: str = ""
    strip_end: str = ""
    max_words: int = 0


@dataclass(frozen=True)
class PublishedPrompts:
    """The prompts of the model's authors.

    Attributes:
        positive: Of a finding.
        negative: Of its absence.
        templates: Into which class names are put.
        ensemble: How several prompts of a class become one.
    """

    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    ensemble: Literal["mean_norm", "mean_then_norm", "mean_logit", "max_logit"] = "mean_norm"


@dataclass(frozen=True)
class ScoreRules:
    """How a similarity becomes a score.

    Attributes:
        scale: What the similarity is multiplied by: the exponential of a parameter, one over a parameter, a constant.
        parameter: The key of the parameter.
        value: The constant, or what is taken where the checkpoint has no such parameter.
        times: A further factor of the published protocol.
        limits: Between which the logarithm is cut.
        bias: What is added.
        bias_parameter: The key of the bias.
        link: From scores to probabilities.
        published: The published rule, in words.
        learned: Whether the checkpoint has a learned scale that the published protocol does not use.
        alternatives: Other rules in use.
    """

    scale: Literal["log_param", "divisor_param", "constant", "none"] = "none"
    parameter: str = "logit_scale"
    value: float | None = None
    times: float = 1.0
    limits: tuple[float, float] | None = None
    bias: Literal["param", "none"] = "none"
    bias_parameter: str = "logit_bias"
    link: Literal["softmax", "sigmoid"] = "softmax"
    published: str = ""
    learned: bool = False
    alternatives: tuple[str, ...] = ()

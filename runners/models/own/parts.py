"""A model put together from modules of several libraries, each with its share of one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from fmfair.errors import FmfairError
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.families.hf import read_in
from fmfair.runners.models.state import State
from fmfair.runners.models.weights import SHOWN_KEYS, LoadReport, settled

# Sizes of BERT base, of which all text towers here are.
_BERT: Mapping[str, Any] = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}


class Assembly:
    """Modules that share a checkpoint; every key is accounted for at the end.

    Attributes:
        module: All parts.
        rest: The keys that no part has taken yet.
    """

    def __init__(self, entry: Entry, state: State, report: LoadReport) -> None:
        self.module: Any = torch.nn.Module()
        self.rest = dict(state)
        self._entry, self._report = entry, report
        self._missing: list[str] = []
        self._unexpected: list[str] = []

    def part(self, prefix: str) -> State:
        """The keys with a prefix, without it; they are taken."""
        keys = [key for key in self.rest if key.startswith(prefix)]
        return {key[len(prefix) :]: self.rest.pop(key) for key in keys}

    def add(self, name: str, module: Any, prefix: str) -> Any:
        """A module with the keys of a prefix."""
        share = self.part(prefix)
        own = module.state_dict()
        for key in [key for key in share if key in own and share[key].shape != own[key].shape]:
            got, due = tuple(share[key].shape), tuple(own[key].shape)
            raise FmfairError(f"{self._entry.name}: {self._report.file}: {prefix}{key} is {got}, expected {due}")
        result = module.load_state_dict(share, strict=False)
        self._note(prefix, result.missing_keys, result.unexpected_keys)
        self.module.add_module(name, module)
        return module

    def add_hf(self, name: str, model_class: Any, config: Any, prefix: str, **init: Any) -> Any:
        """A model of transformers, which renames the keys of older releases."""
        module, found = read_in(model_class, config, self.part(prefix), self._entry, self._report, **init)
        self._note(prefix, found["missing_keys"], found["unexpected_keys"])
        self.module.add_module(name, module)
        return module

    def add_bert(self, name: str, prefix: str) -> Any:
        """A BERT whose vocabulary and pooler are those of the checkpoint."""
        from transformers import BertConfig, BertModel

        words = self.rest.get(f"{prefix}embeddings.word_embeddings.weight")
        places = self.rest.get(f"{prefix}embeddings.position_embeddings.weight")
        if words is None or places is None:
            self._missing += [f"{prefix}embeddings.word_embeddings.weight"]
            self.finish()
        assert words is not None
        assert places is not None
        sizes = {**_BERT, **self._entry.loader.kwargs.get("bert", {})}
        config = BertConfig(vocab_size=len(words), max_position_embeddings=len(places), **sizes)
        pooler = any(key.startswith(f"{prefix}pooler.") for key in self.rest)
        self.rest.pop(f"{prefix}embeddings.position_ids", None)  # a list of numbers, in older files
        return self.add_hf(name, BertModel, config, prefix, add_pooling_layer=pooler)

    def matrix(self, name: str, key: str, shape: tuple[int, ...]) -> None:
        """A parameter that stands alone."""
        value = self.rest.pop(key, None)
        if value is None:
            self._missing.append(key)
            value = torch.zeros(shape)
        if value.numel() != torch.Size(shape).numel():
            raise FmfairError(
                f"{self._entry.name}: {self._report.file}: {key} is {tuple(value.shape)}, expected {shape}"
            )
        self.module.register_parameter(name, torch.nn.Parameter(value.float().reshape(shape)))

    def finish(self) -> LoadReport:
        """The report, if every key of the checkpoint was taken and every part has all of its own."""
        left = [*self._unexpected, *self.rest]
        return settled(self._entry, self._report, self.module, missing=self._missing, unexpected=left)

    def _note(self, prefix: str, missing: Any, unexpected: Any) -> None:
        self._missing += [prefix + key for key in sorted(missing)]
        self._unexpected += [prefix + key for key in sorted(unexpected)]


def width(state: State, key: str, axis: int, entry: Entry, report: LoadReport) -> int:
    """A size that the checkpoint says."""
    if key not in state:
        shown = sorted(state)[:SHOWN_KEYS]
        raise FmfairError(
            f"{entry.name}: {report.file} has no {key!r}; it has {shown}. Is it the checkpoint of {entry.title}?"
        )
    return int(state[key].shape[axis])


def linear(state: State, prefix: str, *, bias: bool = True) -> Any:
    """A linear layer of the size that the checkpoint has."""
    weight = state.get(f"{prefix}weight")
    rows, columns = (1, 1) if weight is None else weight.shape
    return torch.nn.Linear(columns, rows, bias=bias)

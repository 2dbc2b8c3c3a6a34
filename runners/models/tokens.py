"""Texts as ids: cleaning, cutting, start and end, padding, all as the entry says and not as a tokenizer defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fmfair.errors import FmfairError
from fmfair.runners.models.checkpoint import Checkpoint, described, instructions
from fmfair.runners.models.entry import Entry
from fmfair.runners.models.sections import TextRules

# What a file of a tokenizer may be called.
FILES = ("tokenizer.json", "vocab.txt")


@dataclass(frozen=True)
class Tokens:
    """Ids of texts, and a mask of ones where they are not padding: tensors of whole numbers, a row per text.

    `cut` says of each text whether its end is lost; it is empty where that is not known.
    """

    ids: Any
    mask: Any
    cut: tuple[bool, ...] = ()


Tokenizer = Callable[[Sequence[str]], Tokens]


def tokenizer_for(entry: Entry, checkpoint: Checkpoint) -> Tokenizer | None:
    """The tokenizer of a model; None where its texts are not wanted."""
    if entry.text is None:
        return None
    if entry.text.tokenizer == "clip_bpe":
        return _clip(entry.text)
    return _from_file(entry, entry.text, _file(entry, entry.text, checkpoint))


def cleaned(text: str, rules: TextRules) -> str:
    """A text as the model's authors feed it.

    Examples:
        >>> rules = TextRules("json", context=64, lower=True, replace=(("_", " "), ("/", " ")), remove=".,")
        >>> cleaned("Pleural_Thickening.", rules)
        'pleural thickening'
    """
    for old, new in rules.replace:
        text = text.replace(old, new)
    if rules.lower:
        text = text.lower()
    text = text.translate(str.maketrans("", "", rules.remove))
    words = text.rstrip(rules.strip_end or None).split()
    return " ".join(words[: rules.max_words or None])


def _has_more(text: str, rules: TextRules) -> bool:
    """Whether a text has more words than are kept."""
    return cleaned(text, rules) != cleaned(text, replace(rules, max_words=0))


def _clip(rules: TextRules) -> Tokenizer:
    """CLIP's byte pairs: lower case, padded by 0, the end token kept where a text is cut."""
    from open_clip import SimpleTokenizer

    tokenizer = SimpleTokenizer(context_length=rules.context)
    end = tokenizer.encoder["<end_of_text>"]

    def tokenize(texts: Sequence[str]) -> Tokens:
        clean = [cleaned(text, rules) for text in texts]
        ids = tokenizer(clean)
        lengths = (ids == end).int().argmax(dim=1, keepdim=True) + 1
        positions = ids.new_ones(ids.shape).cumsum(dim=1)
        cut = tuple(len(tokenizer.encode(text)) > rules.context - 2 for text in clean)
        return Tokens(ids, (positions <= lengths).long(), cut)

    return tokenize


def _from_file(entry: Entry, rules: TextRules, file: Path) -> Tokenizer:
    tokenizer = _word_pieces(file) if file.name == "vocab.txt" else _whole(file)
    start, end = _ids(entry, tokenizer, rules.start, file), _ids(entry, tokenizer, rules.end, file)
    padding = (_ids(entry, tokenizer, rules.pad_token, file) or [0])[0]
    room = rules.context - len(start) - len(end)

    def ids_of(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(cleaned(text, rules), add_special_tokens=False).ids
        return ids

    def tokenize(texts: Sequence[str]) -> Tokens:
        import torch

        found = [ids_of(text) for text in texts]
        rows = [[*start, *ids[:room], *end] for ids in found]
        length = rules.context if rules.pad == "max_length" else max(map(len, rows), default=0)
        filled = [row + [padding] * (length - len(row)) for row in rows]
        masks = [[1] * len(row) + [0] * (length - len(row)) for row in rows]
        cut = tuple(len(ids) > room or _has_more(text, rules) for text, ids in zip(texts, found, strict=True))
        return Tokens(torch.tensor(filled), torch.tensor(masks), cut)

    return tokenize


def _ids(entry: Entry, tokenizer: Any, token: str, file: Path) -> list[int]:
    """The id of a token: of its name, or given as `id:1` where only ids are published."""
    if not token:
        return []
    if token.startswith("id:") and token[3:].isdecimal() and int(token[3:]) < tokenizer.get_vocab_size():
        return [int(token[3:])]
    found = tokenizer.token_to_id(token)
    if found is None:
        raise FmfairError(f"{entry.name}: {file} has no token {token!r}; is it the tokenizer of another model?")
    return [found]


def _whole(file: Path) -> Any:
    from tokenizers import Tokenizer as Tokens_

    try:
        tokenizer = Tokens_.from_file(str(file))
    except Exception as error:
        raise FmfairError(f"{file} cannot be read as a tokenizer: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _word_pieces(file: Path) -> Any:
    """BERT's word pieces from their list, lower-casing as the configuration beside it says."""
    from tokenizers.implementations import BertWordPieceTokenizer

    beside = file.parent / "tokenizer_config.json"
    said = described(beside) if beside.is_file() else {}
    return BertWordPieceTokenizer(str(file), lowercase=bool(said.get("do_lower_case", True)))


def _file(entry: Entry, rules: TextRules, checkpoint: Checkpoint) -> Path:
    """The file of the tokenizer: beside the weights, in a folder of its repository's name, or from the hub."""
    names = (rules.file,) if rules.file else FILES
    folders = [checkpoint.folder]
    if rules.source:
        folders.insert(0, checkpoint.folder / rules.source.rpartition("/")[2])
        if not any((folder / name).is_file() for folder in folders for name in names):
            from fmfair.runners.models.hub import fetch_texts

            folders.append(fetch_texts(entry, rules.source, local=not checkpoint.fetched))
    for folder in folders:
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise FmfairError(
        f"{entry.name}: no {' or '.join(names)} in {' or '.join(map(str, folders))}. {instructions(entry)}"
    )

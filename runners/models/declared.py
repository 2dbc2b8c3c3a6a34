"""Reading a frozen dataclass from a table of TOML or a mapping: its fields are all that may be said.

The fields and their types are the schema. What is unknown, missing, of another type or not one of the choices is a
problem, and all problems of a table are found together.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fmfair.errors import FmfairError, Problems, listing, near

T = TypeVar("T")

_WORDS: Mapping[Any, str] = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def read(cls: type[T], table: object, where: str) -> T:
    """The dataclass that a table describes.

    Args:
        cls: A dataclass of texts, numbers, choices (`Literal`), tuples, mappings and further dataclasses.
        table: The table, as TOML reads it.
        where: Its place, for messages.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Crop:
        ...     size: int
        ...     centred: bool = True
        >>> read(Crop, {"sise": 224}, "crop")
        Traceback (most recent call last):
        ...
        fmfair.errors.FmfairError: 2 problems:
          - crop: no field 'sise'; did you mean 'size'?
          - crop: 'size' is missing; expected a whole number
    """
    if not isinstance(table, Mapping):
        raise FmfairError(f"{where}: expected a table of fields, got {_shown(table)}")
    known = {f.name: f for f in fields(cls) if f.init and not f.metadata.get("undeclared")}  # type: ignore[arg-type]
    types_of = get_type_hints(cls)
    problems = Problems()
    for name in table:
        if name not in known:
            problems.add(f"{where}: no field {name!r}{near(str(name), known) or f'; fields are {listing(known, 40)}'}")
    values: dict[str, Any] = {}
    for name, field in known.items():
        with problems.collecting():
            if name in table:
                values[name] = _value(types_of[name], table[name], f"{where}.{name}")
            elif _required(field):
                raise FmfairError(f"{where}: {name!r} is missing; expected {_expected(types_of[name])}")
    problems.raise_if_any()
    return cls(**values)


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _value(kind: Any, value: object, where: str) -> Any:
    """A value of a declared type; lists become tuples, whole numbers may stand where any number may."""
    if is_dataclass(kind):
        return read(kind, value, where)  # type: ignore[arg-type]
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (kind,) = (k for k in inside if k is not type(None))
        return None if value is None else _value(kind, value, where)
    if origin is Literal:
        if value not in inside:
            hint = near(str(value), inside)
            raise FmfairError(f"{where}: {value!r} is not known; expected one of {listing(inside, 20)}{hint}")
        return value
    if origin is tuple and isinstance(value, list | tuple):
        if inside[-1] is not Ellipsis and len(value) != len(inside):
            raise FmfairError(f"{where}: expected {len(inside)} values, got {len(value)}")
        each = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
        return tuple(_value(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(each, value, strict=True)))
    if origin is not None and isinstance(value, Mapping) and issubclass(origin, Mapping):
        return {str(key): _value(inside[1], item, f"{where}.{key}") for key, item in value.items()}
    return _plain(kind, value, where)


def _plain(kind: Any, value: object, where: str) -> Any:
    if kind is Any:
        return value
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise FmfairError(f"{where}: expected {_expected(kind)}, got {_shown(value)}")
    return value


def _expected(kind: Any) -> str:
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _expected(next(k for k in inside if k is not type(None)))
    if origin is Literal:
        return f"one of {listing(inside, 20)}"
    if origin is tuple:
        return "a list"
    return _WORDS.get(kind, "a table")


def _shown(value: object) -> str:
    return f"{value!r} ({type(value).__name__})"

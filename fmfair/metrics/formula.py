"""Arithmetic on counts, written once as text such as `tp / (tp + fn)` and rendered where it is needed.

The text is parsed by Python's own parser and only names, numbers, `+ - * /`, `sqrt` and `log` are let through,
so that the same definition can become a Polars expression, SQL, or the documentation.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import polars as pl

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@lru_cache(maxsize=256)
def _tree(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def names(formula: str) -> frozenset[str]:
    """The counts that a formula uses.

    Examples:
        >>> sorted(names("tp / (tp + fn)"))
        ['fn', 'tp']
    """
    called = {node.func for node in ast.walk(_tree(formula)) if isinstance(node, ast.Call)}
    return frozenset(n.id for n in ast.walk(_tree(formula)) if isinstance(n, ast.Name) and n not in called)


def to_expr(formula: str, columns: Mapping[str, pl.Expr] | None = None) -> pl.Expr:
    """The formula as a Polars expression in Float64.

    Args:
        formula: Arithmetic on names.
        columns: What each name stands for; a name that is absent stands for the column of that name.

    Examples:
        >>> pl.DataFrame({"tp": [3], "fn": [1]}).select(tpr=to_expr("tp / (tp + fn)")).item()
        0.75
    """
    given = columns or {}

    def column(name: str) -> pl.Expr:
        return given.get(name, pl.col(name)).cast(pl.Float64)

    return _render(_tree(formula), column)


def to_sql(formula: str) -> str:
    """The formula as SQL, which is Float64 where the columns are.

    Examples:
        >>> to_sql("tp / (tp + fn) - log(n)")
        'tp / (tp + fn) - ln(n)'
    """
    _render(_tree(formula), pl.col)  # refuses what is not arithmetic
    return ast.unparse(_Natural().visit(ast.parse(formula, mode="eval")))


class _Natural(ast.NodeTransformer):
    """SQL calls the natural logarithm `ln`; the rest of the arithmetic is written alike."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call, with the function's name in SQL."""
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        return ast.Call(ast.Name("ln" if node.func.id == "log" else node.func.id), node.args, [])


def _render(node: ast.expr, column: Callable[[str], pl.Expr]) -> pl.Expr:
    if isinstance(node, ast.Name):
        return column(node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return pl.lit(float(node.value))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        rendered: pl.Expr = _OPERATORS[type(node.op)](_render(node.left, column), _render(node.right, column))
        return rendered
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("sqrt", "log"):
        argument = _render(node.args[0], column)
        return argument.sqrt() if node.func.id == "sqrt" else argument.log()
    raise ValueError(f"a formula may not hold {ast.unparse(node)!r}")


def ratio_of_sums(formula: str, terms: Sequence[str]) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """How often each term counts above and below the line, where a formula is one sum of terms over another.

    Examples:
        >>> ratio_of_sums("2 * tp / (2 * tp + fp + fn)", ("tp", "fp", "fn", "tn"))
        ((2.0, 0.0, 0.0, 0.0), (2.0, 1.0, 1.0, 0.0))
        >>> ratio_of_sums("(tp / (tp + fn) + tn / (tn + fp)) / 2", ("tp", "fp", "fn", "tn")) is None
        True
    """
    tree = _tree(formula)
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)):
        return None
    above, below = _weights(tree.left, terms), _weights(tree.right, terms)
    return None if above is None or below is None else (above, below)


def _weights(node: ast.expr, terms: Sequence[str]) -> tuple[float, ...] | None:
    """The factor of each term in a sum of terms with factors; None for any other arithmetic."""
    if isinstance(node, ast.Name):
        return tuple(float(node.id == term) for term in terms) if node.id in terms else None
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, int):
        factors = _weights(node.right, terms)
        return None if factors is None else tuple(node.left.value * f for f in factors)
    left, right = _weights(node.left, terms), _weights(node.right, terms)
    if left is None or right is None or not isinstance(node.op, ast.Add):
        return None
    return tuple(map(operator.add, left, right))

"""Calls of instructions with other arguments, by the roles of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autocomp.kernel import ast
from autocomp.transforms.facts import Site


def with_arguments(site: Site, given: Mapping[str, ast.Expression]) -> ast.Call:
    """The call of a site with the first argument of each role exchanged; roles that it does not have are left out."""
    changes = {site.role.position(word): argument for word, argument in given.items()}
    arguments = (changes.get(number, present) for number, present in enumerate(site.call.arguments))
    return replace(site.call, arguments=tuple(arguments))


def element_of(tensor: str, subscripts: Sequence[ast.Expression]) -> ast.Expression:
    """`&T[i][j]`."""
    found: ast.Expression = ast.Name(tensor)
    for subscript in subscripts:
        found = ast.Index(found, subscript)
    return ast.Unary("&", found)

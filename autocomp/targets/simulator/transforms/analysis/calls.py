"""Calls of instructions with other arguments, by the roles of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.syntax.rewrite import call_of, statement_at, with_arguments


def with_roles(site: Site, given: Mapping[str, ast.Expression]) -> ast.Call:
    """The call of a site with the first argument of each role exchanged; roles that it does not have are left out."""
    places = {site.role.position(word): argument for word, argument in given.items()}
    return with_arguments(site.call, {n: argument for n, argument in places.items() if n is not None})


def as_written(facts: Facts, site: Site) -> ast.Call:
    """The call of a site with the names of constants in it."""
    call = call_of(statement_at(facts.body, site.path))
    assert call is not None
    return call


def element_of(tensor: str, subscripts: Sequence[ast.Expression]) -> ast.Expression:
    """`&T[i][j]`."""
    element: ast.Expression = ast.Name(tensor)
    for subscript in subscripts:
        element = ast.Index(element, subscript)
    return ast.Unary("&", element)

"""Move products: sums of products that the host computes become products of the machine, read back by the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File

import numpy as np
import yaml

from autocomp.errors import ConfigError
from autocomp.targets.simulator.kernel import parse
from autocomp.targets.simulator.kernel.checking.scope import outer_types
from autocomp.targets.simulator.kernel.code.types import NAMED, Scalar
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.start.idioms import signature
from autocomp.targets.simulator.start.naive import gemm_holes, tiled_gemm
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import Affine, Interval, affine, constant_of, literal
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    all_names,
    assigned,
    called,
    declared,
    fresh,
    map_expressions,
    names,
    renamed,
    replace_at,
    rewrite_statements,
    statement_at,
    substitute,
    walk,
    with_body,
)
from autocomp.workload.load import parse as parse_workload

_CYCLES = 8.0  # that a host takes for a multiplication, an addition and two loads, roughly
_ALL = -1
# Types of operands, with those of their sums, which the machine has to store as they are.
_SUMS = {"float": ("float32", "float32", "float"), "int8_t": ("int8", "int32", "int32_t")}


class MoveProducts(Transformation):
    name = "move_products"
    title = "Let the machine multiply"
    takes = ("product",)
    order = 215
    causes = ("Host", "Idle")
    uses = ("configuration", "load", "preload", "contraction", "store")
    guidance = """
    Where the host sums products in loops, let the machine compute these sums for all rows at once, into an array of the
    kernel's own; the host adds to them, changes signs and clamps as before, once per row.
    It pays when the host takes most of the time (Host) while the compute unit is Idle.
    Watch for: the host reads the results only after a fence; what the sums read must not change in the same loop; the
    machine adds in another order, and in the type of its accumulators.
    """
    example = """
    for (j …) { s = d[j]; for (k …) s += M[j][k] * x[k]; u[j] = -s; }
      ->  product = M * x on the machine; fence(); for (j …) { s = d[j] + product[j]; u[j] = -s; }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All products of the host's, and each of several."""
        products = list(_products(facts, facts.body))
        gains = [_CYCLES * product.rows.trips * product.depth.trips for product in products]
        each = [
            Proposal({"product": n}, f"the machine multiplies {product.matrix.tensor} with {product.vector.tensor}", g)
            for n, (product, g) in enumerate(zip(products, gains, strict=True))
        ]
        if len(each) < 2:
            return each
        return [Proposal({}, f"the machine computes all {len(each)} products of the host", sum(gains)), *each]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`product` is the number of a sum of products in the order of the source; without it all are moved.

        Such a sum is a loop `s += M[…] * v[…]`, directly in a loop over rows of M, which neither writes M nor v. The
        machine computes it for all rows, before that loop, into an array of the kernel's own.
        """
        number = number_of(parameters, "product", _ALL)
        kernel = facts.kernel
        products = list(_products(facts, kernel.entry.body))
        if not products:
            raise NotApplicable("the host computes no sums of products over rows of a matrix")
        if number != _ALL and not 0 <= number < len(products):
            raise NotApplicable(f"parameter 'product' must be at least 0 and below {len(products)}, and is {number}")
        if number != _ALL:
            return _moved(facts, kernel, products[number])
        while products:
            kernel = _moved(facts, kernel, products[0])
            products = list(_products(facts, kernel.entry.body))
        return kernel


@dataclass(frozen=True)
class _Operand:
    """An element of a tensor that a sum multiplies, with the distances in elements from row to row and along the
    sum."""

    element: ast.Index
    tensor: str
    along_rows: int
    along_depth: int


@dataclass(frozen=True)
class _Product:
    """The loop at `path` adds matrix * vector over `depth` to `sum`, in the loop over `rows` around it."""

    path: Path
    sum: ast.Assignment
    rows: Loop
    depth: Loop
    matrix: _Operand
    vector: _Operand

    @property
    def by_columns(self) -> bool:
        """True if the matrix lies with its rows along the sum: then the vector is multiplied from the left."""
        return self.matrix.along_depth != 1


def _products(facts: Facts, body: ast.Block) -> Iterator[_Product]:
    products: list[_Product] = []

    def look(statement: ast.Statement, path: Path) -> None:
        outer = statement_at(body, path[:-1]) if len(path) > 1 else None
        rows, depth = (loop(outer) if outer is not None else None), loop(statement)
        if outer is None or rows is None or depth is None:
            return
        product = _product(facts, outer, statement, path, rows, depth)
        if product is not None:
            products.append(product)

    rewrite_statements(body, look)
    yield from sorted(products, key=lambda product: product.path)


def _product(
    facts: Facts, outer: ast.Statement, inner: ast.Statement, path: Path, rows: Loop, depth: Loop
) -> _Product | None:
    assert isinstance(inner, ast.For)
    if len(inner.body.statements) != 1 or called(outer):
        return None
    statement = inner.body.statements[0]
    given = statement.expression if isinstance(statement, ast.ExpressionStatement) else None
    if not isinstance(given, ast.Assignment) or given.operator not in ("+", "-"):
        return None
    value = given.value
    if not isinstance(value, ast.Binary) or value.operator != "*" or depth.variable in names(given.target):
        return None
    operands = [_operand(facts, side, rows, depth) for side in (value.left, value.right)]
    if len({facts.arrays[o.tensor].name for o in operands if o is not None}) > 1:
        return None
    matrix = next((o for o in operands if o is not None and o.along_rows and o.along_depth), None)
    vector = next((o for o in operands if o is not None and not o.along_rows and o.along_depth), None)
    if matrix is None or vector is None:
        return None
    if not _adds_alike(facts, given.target, facts.arrays[matrix.tensor].name, depth.trips):
        return None
    inside = (declared(outer) | assigned(outer)) - {rows.variable, depth.variable}
    if inside & (names(matrix.element) | names(vector.element)):
        return None  # where it begins is only known inside of the loop
    product = _Product(path, given, rows, depth, matrix, vector)
    contiguous = not product.by_columns or (matrix.along_rows, vector.along_depth) == (1, 1)
    upward = min(matrix.along_rows, matrix.along_depth, vector.along_depth) > 0
    changed = [node.target for node in walk(outer) if isinstance(node, ast.Assignment | ast.Increment)]
    apart = all(_apart(facts, target, operand) for target in changed for operand in (matrix, vector))
    return product if contiguous and upward and apart else None


def _operand(facts: Facts, node: ast.Expression, rows: Loop, depth: Loop) -> _Operand | None:
    """An element whose place is linear in both loops' variables; a cast to the type of its sums changes nothing."""
    cast = node.type if isinstance(node, ast.Cast) else None
    node = node.operand if isinstance(node, ast.Cast) else node
    name, subscripts = _subscripts(node)
    kind = facts.arrays.get(name)
    if not isinstance(node, ast.Index) or kind is None or kind.name not in _SUMS or kind.pointer:
        return None
    if cast is not None and (cast.pointer or NAMED.get(cast.name) != NAMED[_SUMS[kind.name][2]]):
        return None
    extents = [constant_of(extent, _known(facts)) for extent in kind.extents]
    if len(extents) != len(subscripts):
        return None
    place = Affine(0)
    for subscript, extent in zip(subscripts, extents, strict=True):
        if extent is None:
            return None
        place = place.times(extent) + subscript
    variables = {rows.variable, depth.variable}
    if any(not isinstance(atom, ast.Name) and names(atom) & variables for atom, _ in place.terms):
        return None
    return _Operand(node, name, place.coefficient(rows.variable), place.coefficient(depth.variable))


def _adds_alike(facts: Facts, target: ast.Expression, element: str, terms: int) -> bool:
    """True if the host's sum has the same value when it adds the machine's sum to it at once.

    Sums of integers have it in any integer type, as they wrap, if the machine's own sum cannot leave its type. Sums of
    floats must be added in the machine's type.
    """
    known = outer_types(facts.accelerator)
    types = {known.get(name) for name in _type_names(facts, target)}
    machines = NAMED[_SUMS[element][2]]
    if not isinstance(machines, Scalar) or machines.floating or not types:
        return types == {machines}
    whole = all(isinstance(kind, Scalar) and not kind.floating and kind.bits > 1 for kind in types)
    operand = NAMED[element]
    assert isinstance(operand, Scalar)
    return whole and terms * operand.low**2 <= machines.high


def _type_names(facts: Facts, target: ast.Expression) -> set[str]:
    """The types of all variables of the target's name, or of the elements of a tensor; none for another target."""
    if isinstance(target, ast.Name):
        kernel = facts.kernel
        parts = [*kernel.globals, *(function.body for function in kernel.functions)]
        parameters = [parameter for function in kernel.functions for parameter in function.parameters]
        variables = [node for part in parts for node in walk(part) if isinstance(node, ast.Declarator)]
        kinds = {node.type for node in parameters if node.name == target.name}
        kinds |= {node.type for node in variables if node.name == target.name}
        return set() if any(kind.pointer or kind.extents for kind in kinds) else {kind.name for kind in kinds}
    name, _ = _subscripts(target)
    kind = facts.arrays.get(name)
    return set() if kind is None or kind.pointer else {kind.name}


def _known(facts: Facts) -> Mapping[str, Interval]:
    return {name: (value, value) for name, value in facts.constants.items() if isinstance(value, int)}


def _subscripts(node: ast.Expression) -> tuple[str, list[Affine]]:
    """The tensor and the subscripts of an element; an empty name for anything else."""
    subscripts: list[Affine] = []
    while isinstance(node, ast.Index):
        subscripts.insert(0, affine(node.index))
        node = node.base
    return (node.name if isinstance(node, ast.Name) else ""), subscripts


def _apart(facts: Facts, target: ast.Expression, operand: _Operand) -> bool:
    """True if an assignment in the loop over rows changes no element that a product reads."""
    if isinstance(target, ast.Name):
        return True  # a loop's variable, or one that no subscript has: those would not be known outside
    name, subscripts = _subscripts(target)
    if name not in facts.arrays:
        return False  # through a pointer
    if name != operand.tensor:
        return True
    _, read = _subscripts(operand.element)
    differences = (one - other for one, other in zip(subscripts, read, strict=False))
    return any(difference.is_constant and difference.constant for difference in differences)


def _moved(facts: Facts, kernel: ast.Kernel, product: _Product) -> ast.Kernel:
    """The kernel with the product computed by the machine before the loop over rows."""
    taken = set(all_names(kernel))
    result = fresh("product", taken)
    shape = (1, product.rows.trips) if product.by_columns else (product.rows.trips, 1)
    row = ast.Name(product.rows.variable)
    element = _element(result, (literal(0), row) if product.by_columns else (row, literal(0)))
    read = ast.ExpressionStatement(replace(product.sum, value=element))
    above = product.path[:-1]
    body = replace_at(kernel.entry.body, product.path, read)
    outer = statement_at(body, above)
    commands = _commands(facts, product, result, taken | {result})
    body = replace_at(body, above, (ast.Block(commands), outer))
    _, _, sums = _SUMS[facts.arrays[product.matrix.tensor].name]
    kind = ast.Type(sums, 0, tuple(literal(extent) for extent in shape))
    own = ast.Declaration((ast.Declarator(result, kind),), static=True)
    return with_body(kernel, replace(body, statements=(own, *body.statements)))


def _element(tensor: str, subscripts: Sequence[ast.Expression]) -> ast.Expression:
    element: ast.Expression = ast.Name(tensor)
    for subscript in subscripts:
        element = ast.Index(element, subscript)
    return element


def _commands(facts: Facts, product: _Product, result: str, taken: set[str]) -> tuple[ast.Statement, ...]:
    """The naive kernel of a product of this size, with the elements of its operands in place of its own tensors'."""
    rows, depth = product.rows, product.depth
    matrix, vector = product.matrix, product.vector
    left, right, size = matrix, vector, (rows.trips, 1, depth.trips)
    strides = (matrix.along_rows, vector.along_depth)
    if product.by_columns:
        left, right, size = vector, matrix, (1, rows.trips, depth.trips)
        strides = (depth.trips, matrix.along_depth)
    naive = _naive(facts, facts.arrays[matrix.tensor].name, size, strides).entry
    own: dict[str, str] = {}
    for name in sorted(declared(naive.body)):
        own[name] = fresh(name, taken | set(own.values()))
    along = (rows.variable, depth.variable)
    elements: list[tuple[ast.Expression, tuple[str, str]]] = [
        (left.element, along),
        (right.element, (depth.variable, rows.variable)),
        (_element(result, [ast.Name(name) for name in along]), along),
    ]
    operands = dict(zip((parameter.name for parameter in naive.parameters), elements, strict=True))

    def place(node: ast.Expression) -> ast.Expression:
        match node:
            case ast.Index(ast.Index(ast.Name(name), row), column) if name in operands:
                element, across = operands[name]
                return substitute(element, dict(zip(across, (row, column), strict=True)))
        return node

    return map_expressions(renamed(naive.body, own), place).statements


def _naive(facts: Facts, element: str, size: tuple[int, int, int], strides: tuple[int, int]) -> ast.Kernel:
    """The machine's naive kernel for C = A B, whose operands' rows are `strides` elements apart."""
    machine = facts.accelerator
    dims = dict(zip("IJK", size, strict=True))
    dtype, result, _ = _SUMS[element]
    document = {"operation": "gemm", "accelerator": machine.full_name, "dtype": dtype, "result": result, "dims": dims}
    bytes_each = np.dtype(dtype).itemsize
    try:
        workload = parse_workload(yaml.safe_dump(document), File("product.yaml"))
        holes = {"A": "&A[i][k]", "B": "&B[k][j]", "C": "&C[i][j]", "bias": "0", "first": "k == 0"}
        holes |= gemm_holes(workload)
        holes |= {f"stride_{name}": str(bytes_each * n) for name, n in zip("ab", strides, strict=True)}
        return parse(tiled_gemm(workload, machine, signature(workload.tensors), workload.dims, holes))
    except ConfigError as error:
        raise NotApplicable(str(error)) from None

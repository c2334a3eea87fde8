"""Parsing and printing: what is accepted, and that printing loses nothing but layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import KernelError
from autocomp.targets.simulator.kernel import parse, print_expression, print_kernel
from autocomp.targets.simulator.kernel.syntax import ast

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.c"))


def body(text: str) -> tuple[ast.Statement, ...]:
    return parse(f"void solution(int8_t A[4]) {{ {text} }}").entry.body.statements


def expression(text: str) -> ast.Expression:
    (statement,) = body(text + ";")
    assert isinstance(statement, ast.ExpressionStatement)
    return statement.expression


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_survives_printing_and_printing_is_stable(path: Path) -> None:
    kernel = parse(path.read_text())
    printed = print_kernel(kernel)
    assert parse(printed) == kernel
    assert print_kernel(parse(printed)) == printed


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("x + (j * 256)/16 | 0x40000000", "x + j * 256 / 16 | 0x40000000"),
        ("~((uint32_t)0)", "~(uint32_t)0"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a - b) - c", "a - b - c"),
        ("1 << 31 | (k > 0) << 30", "1 << 31 | (k > 0) << 30"),
        ("-(-x)", "-(-x)"),
        ("a == b & c", "a == b & c"),
        ("(a ? b : c) ? d : e ? f : g", "(a ? b : c) ? d : e ? f : g"),
        ("x = y += z", "x = y += z"),
        ("(uint64_t)&C[i][j]", "(uint64_t)&C[i][j]"),
        ("sizeof(elem_t) + sizeof x", "sizeof(elem_t) + sizeof(x)"),
        ("*p++", "*p++"),
        ("(*p)++", "(*p)++"),
        ("a - -b", "a - -b"),
        ("f((16 + 0), 1.0f, .5, 1e-3)", "f(16 + 0, 1.0f, .5, 1e-3)"),
    ],
)
def test_precedence_is_c_s_and_printed_with_the_fewest_parentheses(text: str, grouped: str) -> None:
    assert print_expression(expression(text)) == grouped
    assert expression(grouped) == expression(text)


def test_braces_may_be_left_out_and_are_printed() -> None:
    kernel = parse("void solution(int8_t A[4]) { for (;;) if (x) y(); else if (z) ; else break; }")
    assert print_kernel(kernel) == (
        "void solution(int8_t A[4]) {\n    for (;;) {\n        if (x) {\n            y();\n        } else if (z) {\n"
        "        } else {\n            break;\n        }\n    }\n}\n"
    )


def test_a_region_is_a_block_with_a_name() -> None:
    inner = '        region("load A") {\n            fence();\n        }\n'
    text = f"void solution() {{\n    for (int i = 0; i < 2; i++) {{\n{inner}    }}\n}}\n"
    spaced = parse(
        text.replace('region("load A")', 'region ( "load A" )').replace("i++) {", "i++)").replace("    }\n}", "}")
    )
    assert print_kernel(spaced) == text
    loop = spaced.functions[0].body.statements[0]
    assert isinstance(loop, ast.For)
    assert [(block.region, block.line, block.end_line) for block in loop.body.statements] == [("load A", 3, 5)]


def test_own_line_comments_stay_where_they_stood_and_others_go() -> None:
    text = "// top\nvoid solution(int8_t A[4]) {\n  // one\n  a(); // gone\n"
    text += "  /* two\n   * lines */\n  {\n  // in\n  }\n  // end\n}"
    comments = "    // one\n    a();\n    // two\n    // lines\n    {\n        // in\n    }\n    // end\n"
    assert print_kernel(parse(text)) == f"void solution(int8_t A[4]) {{\n{comments}}}\n"


@pytest.mark.parametrize("splice", ["\\\n", "\\ \n"])
def test_a_backslash_carries_a_comment_into_the_next_line(splice: str) -> None:
    text = f"void solution(int8_t A[4]) {{\n  // one {splice}  gone();\n  a(); // two {splice} gone();\n  /* \\ */\n}}"
    printed = print_kernel(parse(text))
    assert printed == "void solution(int8_t A[4]) {\n    // one\n    // gone();\n    a();\n    //\n}\n"
    assert print_kernel(parse(printed)) == printed


def test_no_comment_that_is_printed_carries_on() -> None:
    comments = tuple(ast.Comment(text) for text in ("a \\", "b ??/", "c \\ ??/ \\ ", "d \\e"))
    kernel = parse("void solution(int8_t A[4]) { }")
    printed = print_kernel(replace(kernel, functions=(replace(kernel.entry, body=ast.Block(comments)),)))
    assert [line.strip() for line in printed.splitlines()[1:-1]] == ["// a", "// b", "// c", "// d \\e"]


def test_digits_are_those_of_c() -> None:
    with pytest.raises(KernelError):
        parse("void solution(int8_t A[4]) { int x = \N{ARABIC-INDIC DIGIT THREE}; }")


def test_alignment_macros_are_ignored() -> None:
    assert body("static elem_t t[2][2] row_align_acc(1) = {{1, 2}, {3, 4}};") == body(
        "static elem_t t[2][2] = {{1, 2}, {3, 4}};"
    )


def test_a_variable_whose_name_ends_like_a_type_is_a_variable() -> None:
    declared = "int x_t = 3; "
    assert expression_of_last(declared + "y = (x_t) + 1;") == expression_of_last(declared + "y = (x_t + 1);")
    assert parse("int half_t(int x) { return x / 2; } void solution(int8_t A[4]) { A[0] = half_t(4); }")


def expression_of_last(text: str) -> ast.Expression:
    statement = body(text)[-1]
    assert isinstance(statement, ast.ExpressionStatement)
    return statement.expression


def test_nodes_know_their_lines_and_columns() -> None:
    call = parse("void solution(int8_t A[4]) {\n  f(\n    A);\n}").entry.body.statements[0]
    assert isinstance(call, ast.ExpressionStatement)
    assert isinstance(call.expression, ast.Call)
    assert (call.line, call.expression.line, call.expression.column) == (2, 2, 3)
    assert call.expression.arguments[0].line == 3


# --- trees that no one wrote ---

names = st.sampled_from(["a", "b", "x_t1", "A"])
literals = st.integers(0, 2**64 - 1).map(ast.IntLiteral) | st.floats(0, 1e300).map(ast.FloatLiteral)
types = st.builds(ast.Type, st.sampled_from(["int", "uint32_t", "elem_t", "unsigned long"]), st.integers(0, 2))


def extend(children: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    targets = st.builds(ast.Name, names) | st.builds(ast.Index, st.builds(ast.Name, names), children)
    binary = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
    return st.one_of(
        st.builds(ast.Binary, st.sampled_from(binary), children, children),
        st.builds(ast.Unary, st.sampled_from(["-", "+", "!", "~", "&", "*"]), children),
        st.builds(ast.Conditional, children, children, children),
        st.builds(ast.Cast, types, children),
        st.builds(ast.SizeOf, types | st.builds(ast.Index, st.builds(ast.Name, names), children)),
        st.builds(ast.Call, names, st.lists(children, max_size=3).map(tuple)),
        st.builds(ast.Index, children, children),
        st.builds(ast.Assignment, targets, children, st.sampled_from(["", "+", "<<", "|"])),
        st.builds(ast.Increment, targets, st.sampled_from(["++", "--"]), st.booleans()),
    )


expressions = st.recursive(st.builds(ast.Name, names) | literals, extend, max_leaves=12)
declarators = st.builds(ast.Declarator, names, st.just(ast.Type("int")), st.none() | expressions)
declarations = st.builds(
    ast.Declaration, st.lists(declarators, min_size=1, max_size=2).map(tuple), st.booleans(), st.booleans()
)
simple = st.one_of(
    st.builds(ast.ExpressionStatement, expressions),
    declarations,
    st.builds(ast.Return, st.none() | expressions),
    st.builds(ast.Break),
    st.builds(ast.Comment, st.sampled_from(["a remark", "", "x = 1;"])),
)


def nest(children: st.SearchStrategy[ast.Statement]) -> st.SearchStrategy[ast.Statement]:
    blocks = st.lists(children, max_size=3).map(lambda statements: ast.Block(tuple(statements)))
    initial = st.none() | declarations | st.builds(ast.ExpressionStatement, expressions)
    optional = st.none() | expressions
    return st.one_of(
        blocks,
        st.builds(lambda block, name: replace(block, region=name), blocks, st.sampled_from(["load A", "x"])),
        st.builds(ast.If, expressions, blocks, st.none() | blocks),
        st.builds(ast.For, initial, optional, optional, blocks),
        st.builds(ast.While, expressions, blocks),
        st.builds(ast.DoWhile, blocks, expressions),
    )


statements = st.recursive(simple, nest, max_leaves=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(statements, max_size=4))
def test_any_tree_is_what_its_print_parses_to(made: list[ast.Statement]) -> None:
    function = ast.Function("solution", ast.Type("void"), (), ast.Block(tuple(made)))
    kernel = ast.Kernel((function,))
    assert parse(print_kernel(kernel)) == kernel

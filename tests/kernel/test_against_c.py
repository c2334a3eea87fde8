"""The dialect means what C means: the same text is compiled by the C compiler and by us, and run on the same data."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Run = Callable[..., dict[str, np.ndarray]]
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
COUNT = 400
# Signed overflow wraps in the dialect, floats are not fused, and -w: random code earns warnings by the dozen.
FLAGS = ["-O1", "-fwrapv", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
HEADER = "#include <stdint.h>\n#include <stddef.h>\n#include <stdbool.h>\n"
SAMPLES = sorted((Path(__file__).parent / "samples").glob("host_*.c"))


def compiler() -> str:
    """A C++ compiler is needed to build this project, and comes with a C compiler."""
    found = next((path for name in (os.environ.get("CC", "cc"), "gcc", "clang") if (path := shutil.which(name))), None)
    assert found, "no C compiler found; set CC"
    return found


def run_as_c(text: str, tensors: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(HEADER + text)
    subprocess.run([compiler(), *FLAGS, "-o", str(library), str(source)], check=True)
    copies = {name: array.copy() for name, array in tensors.items()}
    ctypes.CDLL(str(library)).solution(*(array.ctypes.data_as(ctypes.c_void_p) for array in copies.values()))
    return copies


def inputs(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Four numbers of every integer type, extremes among them, and four floats of each width."""
    tensors: dict[str, np.ndarray] = {}
    for name in TYPES:
        low, high = np.iinfo(name).min, np.iinfo(name).max
        tensors[f"{name}s"] = np.array([low, high, *generator.integers(low, high, 2, dtype=name)], dtype=name)
    tensors["floats"] = np.array([0.1, -3.5, 1e6, 7.0], np.float32)
    tensors["doubles"] = np.array([0.1, -2.25, 3e9, 1.0], np.float64)
    return tensors


class Expressions:
    """Random integer expressions whose value C defines once signed overflow wraps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def leaf(self) -> str:
        choice = self.random.random()
        if choice < 0.5:
            return f"{self.random.choice(TYPES)}s[{self.random.randrange(4)}]"
        if choice < 0.65:
            return self.random.choice(["i", "u", "s", "c", "z"])
        literals = [
            "0",
            "1",
            "-1",
            "7",
            "255",
            "0x80000000",
            "0xffffffff",
            "1u",
            "3ul",
            "2147483647",
            "4294967296",
            "sizeof(int)",
        ]
        return f"({self.random.choice(literals)})"

    def any(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        a, b = self.any(depth - 1), self.any(self.random.randrange(depth))
        kind = self.random.randrange(12)
        if kind < 5:
            return f"({a} {self.random.choice('+-*&|^')} {b})"
        if kind == 5:  # the divisor is positive, since INT64_MIN / -1 traps
            return f"({a} {self.random.choice('/%')} (({b} & 63) + 1))"
        if kind == 6:
            return f"({a} {self.random.choice(['<<', '>>'])} ({b} & 7))"
        if kind == 7:
            return f"({a} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {b})"
        if kind == 8:
            return f"({a} {self.random.choice(['&&', '||'])} {b})"
        if kind == 9:
            return f"({self.any(depth - 1)} ? {a} : {b})"
        if kind == 10:
            return f"({self.random.choice(['-', '~', '!', '+'])}{a})"
        return f"(({self.random.choice(TYPES)}_t){a})"


def test_integer_expressions_have_the_values_that_c_gives_them(
    run: Callable[..., dict[str, np.ndarray]], tmp_path: Path
) -> None:
    expressions = Expressions(seed=1)
    tensors = inputs(np.random.default_rng(2))
    parameters = ", ".join(f"{name}_t {name}s[4]" for name in TYPES)
    lines = [
        f"void solution({parameters}, float floats[4], double doubles[4], int64_t out[{COUNT}]) {{",
        "int i = int32s[2]; uint32_t u = uint32s[3]; int16_t s = int16s[2]; const int8_t c = -5; size_t z = 12;",
        "u += 1; z *= 3; s -= 2; i++;",
        *(f"out[{n}] = {expressions.any(n % 5)};" for n in range(COUNT)),
        "}",
    ]
    text = "\n".join(lines)
    tensors["out"] = np.zeros(COUNT, np.int64)
    expected = run_as_c(text, tensors, tmp_path)["out"]
    actual = run(text, tensors)["out"]
    wrong = [f"{lines[3 + n]}  C: {expected[n]}, here: {actual[n]}" for n in np.flatnonzero(expected != actual)]
    assert not wrong, "\n".join(wrong[:5])


def test_loop_counters_of_every_type_wrap_and_end_as_in_c(
    run: Callable[..., dict[str, np.ndarray]], tmp_path: Path
) -> None:
    loops = [("0", "i < 100", "i += 7"), ("100", "i > 3", "i -= 9"), ("120", "i < 127", "++i"), ("5", "i >= 1", "i--")]
    loops += [
        ("3", "i < 90", "i += 13"),
        ("3", "i <= 66", "i += 64"),
        ("0", "i != 12", "i += 3"),
        ("9", "3 < i", "--i"),
    ]
    loops += [("5", "i >= 0 && n < 300", "i--"), ("3", "i < 127 && n < 9", "i += 64"), ("-1", "i < 3 && n < 20", "i++")]
    headers = [f"{kind}_t i = {start}; {test}; {step}" for kind in TYPES for start, test, step in loops]
    body = "\n".join(
        f"n = 0; for ({header}) {{ out[{position}] += i * 3 + (i << 24); n++; }}"
        for position, header in enumerate(headers)
    )
    text = f"void solution(int64_t out[{len(headers)}]) {{ int n; {body} }}"
    tensors = {"out": np.zeros(len(headers), np.int64)}
    np.testing.assert_array_equal(run(text, tensors)["out"], run_as_c(text, tensors, tmp_path)["out"])


def test_several_steps_of_a_loop_are_taken_in_their_order_as_in_c(
    run: Callable[..., dict[str, np.ndarray]], tmp_path: Path
) -> None:
    heads = [
        "i = 0, j = 9; i < 6; i++, j -= 2",
        "j = 2, i = j; i < 40; j += i, i += j",
        "i = 0, j = 0; i < 9; i += 2, j = i",
    ]
    body = "".join(
        f"for ({head}) {{ if (j % 3 == 1) continue; for (int k = 0, m = 1; k < 3; k++, m *= 2) {{ if (k == 1) continue;"
        f" out[{number}] = out[{number}] * 7 + i + 3 * j + m; }} }} out[{number}] += 100 * i + j;"
        for number, head in enumerate(heads)
    )
    text = f"void solution(int64_t out[{len(heads)}]) {{ int i; int j; {body} }}"
    tensors = {"out": np.zeros(len(heads), np.int64)}
    np.testing.assert_array_equal(run(text, tensors)["out"], run_as_c(text, tensors, tmp_path)["out"])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_host_programs_compute_what_c_computes(path: Path, run: Run, tmp_path: Path) -> None:
    text = path.read_text()
    tensors = {
        "x": np.arange(64, dtype=np.int32).reshape(8, 8) * 7 - 100,
        "f": np.linspace(-2, 3, 16, dtype=np.float32),
    }
    tensors["out"] = np.zeros(64, np.int64)
    expected, actual = run_as_c(text, tensors, tmp_path), run(text, tensors)
    for name in tensors:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)

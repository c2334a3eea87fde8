"""The differences that the canonical hash sees, and those that it does not."""

from __future__ import annotations

import pytest

from autocomp.targets.simulator.kernel import canonical_hash, parse, print_kernel

BASE = """
int half(int n) { return n / 2; }
void solution(int8_t A[4][4], int8_t C[4][4]) {
    uint32_t base = 16;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) { move_in(&A[i][j], base + half(i), 4, 1); }
    }
    if (base > 3) fence();
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int i = 0; i < 4; i++", "int row = 0; row < 4; ++row"),
        ("j++", "j += 1"),
        ("16", "0x10"),
        ("base + half(i)", "(base) + (half(i))"),
        ("half", "halve"),
        ("int half(int n) { return n / 2", "int32_t half(int k) { return k / 2"),
        ("    if", "    // done\n    /* really */ if"),
        ("fence();", "{ fence(); }"),
        ("uint32_t base", "const uint32_t base"),
        ("A", "X"),
        ("16", "(4 + 2 * 6)"),
        ("16", "1 << 4"),
        ("[4][4]", "[8 / 2][9 % 5]"),
    ],
)
def test_spelling_does_not_matter(old: str, new: str) -> None:
    changed = BASE.replace(old, new)
    if "row" in new:
        changed = changed.replace("[i]", "[row]").replace("half(i)", "half(row)")
    assert changed != BASE
    assert canonical_hash(parse(changed)) == canonical_hash(parse(BASE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i < 4", "i < 3"), ("[i][j]", "[j][i]"), ("&A", "&C"), ("half(i)", "half(j)"), ("int i", "uint32_t i"),
        ("16", "16u"), ("16", "32768 * 65536"), ("16", "16 / 0"), ("16", "4 - -4"),
        ("fence()", "flush()"), ("n / 2", "n / 3"), ("base > 3", "base >= 3"),
        ("uint32_t base", "static uint32_t base"),
    ],
)  # fmt: skip
def test_meaning_does(old: str, new: str) -> None:
    assert canonical_hash(parse(BASE.replace(old, new, 1))) != canonical_hash(parse(BASE))


def test_printing_keeps_the_hash() -> None:
    assert canonical_hash(parse(print_kernel(parse(BASE)))) == canonical_hash(parse(BASE))


def test_a_shadowing_name_is_not_the_name_it_shadows() -> None:
    text = "void solution(int8_t A[4]) {{ int x = 1; {{ int y = 2; A[0] = {}; }} }}"
    renamed = "void solution(int8_t A[4]) { int x = 1; { int x = 2; A[0] = x; } }"
    assert canonical_hash(parse(renamed)) == canonical_hash(parse(text.format("y")))
    assert canonical_hash(parse(renamed)) != canonical_hash(parse(text.format("x")))

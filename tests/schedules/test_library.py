"""Looking up schedules, as a compiler does."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.schedules import Entry, Library, Stored, lookup
from autocomp.schedules.arguments import has_number

SIZES = st.integers(1, 5000)
SHAPES = st.fixed_dictionaries({"I": SIZES, "J": SIZES, "K": SIZES})


def stored(number: int = 0, cycles: int = 100, width: int = 16, bias: str = "none", **dims: int) -> Stored:
    entry = Entry(
        f"toy/gemm/{number}.yaml",
        "",
        "simulator:toy",
        {"DIM": width},
        "gemm",
        dims,
        {"bias": bias},
        ["bias"] if bias == "none" else [],
        cycles,
        "cycles",
        "lower",
        0.9,
        str(number),
    )
    return Stored(Path("/library"), entry)


def distance(a: dict[str, int], b: dict[str, int]) -> float:
    return sum(abs(math.log2(a[name] / b[name])) for name in a)


@pytest.mark.usefixtures("shipped_schedules")
def test_the_shipped_schedule_of_a_shape_is_found_with_its_kernel() -> None:
    match = lookup("gemm", {"I": 512, "J": 512, "K": 512}, "gemmini")
    assert match is not None
    assert match.exact
    assert match.expected_ratio > 0.9
    assert match.stored.kernel().startswith("void solution(")


@given(st.lists(SHAPES, min_size=1, max_size=30), SHAPES)
def test_no_record_is_nearer_than_the_one_found(shapes: list[dict[str, int]], asked: dict[str, int]) -> None:
    assume(asked not in shapes)
    match = Library(stored(number, **shape) for number, shape in enumerate(shapes)).lookup("gemm", asked, "toy")
    assert match is not None
    assert match.distance == pytest.approx(min(distance(asked, shape) for shape in shapes))


@given(
    st.lists(st.tuples(SHAPES, st.sampled_from(["none", "row"]), st.sampled_from(range(40))), max_size=60, min_size=1),
    SHAPES,
    st.sampled_from(["none", "row", "full"]),
)
def test_the_nearest_of_the_records_that_agree_is_found_however_many_kinds_there_are(
    records: list[tuple[dict[str, int], str, int]], asked: dict[str, int], bias: str
) -> None:
    library = Library(stored(n, width=width, bias=b, **shape) for n, (shape, b, width) in enumerate(records))
    agreeing = [distance(asked, shape) for shape, b, _ in records if b == bias]
    assume(0 not in agreeing)
    match = library.lookup("gemm", asked, "toy", options={"bias": bias})
    assert (match is None) == (not agreeing)
    if match is not None:
        assert match.stored.entry.options == {"bias": bias}
        assert match.distance == pytest.approx(min(agreeing))


def test_another_operation_or_accelerator_has_none() -> None:
    library = Library([stored(I=4, J=4, K=4)])
    assert library.lookup("conv2d", {"I": 4, "J": 4, "K": 4}, "toy") is None
    assert library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "other") is None
    assert library.lookup("gemm", {"I": 4, "J": 4}, "toy") is None


def test_options_and_parameters_that_are_given_must_agree() -> None:
    library = Library([stored(0, width=16, I=4, J=4, K=4), stored(1, width=32, I=8, J=8, K=8)])
    match = library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy", parameters={"DIM": 32})
    assert match is not None
    assert (match.exact, match.distance) == (False, 3.0)
    assert library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy", options={"bias": "row"}) is None


def test_records_that_differ_in_what_was_not_stated_are_not_interchangeable() -> None:
    library = Library([stored(0, width=16, I=4, J=4, K=4), stored(1, width=32, I=4, J=4, K=4)])
    with pytest.raises(ConfigError, match=r"several schedules(.|\n)*state the operation's options"):
        library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy")
    match = library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy", parameters={"DIM": 32})
    assert match is not None
    assert match.stored.entry.identity == "1"


def test_an_option_that_is_left_open_counts_with_its_usual_value() -> None:
    shape = {"I": 4, "J": 4, "K": 4}
    unusual, usual = stored(0, bias="row", **shape), stored(1, **shape)
    match = Library([unusual, usual]).lookup("gemm", shape, "toy")
    assert match is not None
    assert (match.stored, match.exact) == (usual, True)
    near = Library([unusual, usual]).lookup("gemm", {**shape, "I": 5}, "toy")
    assert near is not None
    assert (near.stored, dict(near.assumed)) == (usual, {})
    alone = Library([unusual]).lookup("gemm", shape, "toy")
    assert alone is not None
    assert (alone.distance, alone.exact, alone.assumed) == (0, False, {"bias": "row"})


@pytest.mark.parametrize("size", [0, -1, 1.5, "4", True, None])
def test_a_size_that_is_no_whole_number_of_at_least_one_is_refused(size: object) -> None:
    with pytest.raises(ConfigError, match="sizes are whole numbers of at least 1"):
        Library([stored(I=4, J=4, K=4)]).lookup("gemm", {"I": size, "J": 4, "K": 4}, "toy")


@pytest.mark.parametrize("scale", ["0.5", float("nan"), float("inf"), True, None])
@pytest.mark.usefixtures("shipped_schedules")
def test_a_run_time_option_is_a_finite_number(scale: object) -> None:
    with pytest.raises(ConfigError, match="the option scale is a finite number"):
        lookup("gemm", {"I": 3136, "J": 24, "K": 144}, "gemmini", options={"scale": scale})


def test_a_changed_file_is_not_trusted(tmp_path: Path) -> None:
    item = Stored(tmp_path, stored(I=4).entry)
    item.path.parent.mkdir(parents=True)
    item.path.write_text("kernel: |\n  malicious();\n")
    with pytest.raises(ConfigError, match="changed after it was indexed"):
        item.kernel()


BARE = """
import sys
class Only:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {*sys.stdlib_module_names, "autocomp", "pydantic"}:
            raise ImportError(f"blocked: {name}")
sys.meta_path.insert(0, Only())
from autocomp.schedules import lookup
print(lookup("gemm", {"I": 512, "J": 512, "K": 512}, "gemmini").stored.kernel())
"""


@pytest.mark.usefixtures("shipped_schedules")
def test_a_look_up_needs_no_other_package() -> None:
    root = Path(__file__).resolve().parents[2]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); exec({BARE!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("void solution(")


@pytest.mark.usefixtures("shipped_schedules")
@pytest.mark.parametrize("scale", [0.0123, 2**-10, 1.0])
def test_a_shipped_schedule_answers_for_every_scale(scale: float) -> None:
    match = lookup("gemm", {"I": 3136, "J": 24, "K": 144}, "gemmini", options={"bias": "row", "scale": scale})
    assert match is not None
    assert match.exact
    assert {"activation", "DIM"} <= match.not_compared.keys()
    assert has_number(match.kernel(), scale)


def test_a_record_with_an_option_that_nobody_asked_for_is_no_exact_match() -> None:
    match = Library([stored(bias="row", I=4, J=4, K=4)]).lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy")
    assert match is not None
    assert (match.distance, match.exact, match.assumed) == (0, False, {"bias": "row"})


@pytest.mark.parametrize(("asked", "found"), [((0, 1), True), ([0, 1], True), ([1, 1], False), (1, False)], ids=str)
def test_an_option_may_be_a_number_for_each_side(asked: object, found: bool) -> None:
    library = Library([stored(bias=[0, 1], I=4, J=4, K=4)])  # type: ignore[arg-type]
    match = library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy", options={"bias": asked})
    assert (match is not None) == found


def test_equal_numbers_for_each_side_are_one_number() -> None:
    library = Library([stored(bias=1, I=4, J=4, K=4)])  # type: ignore[arg-type]
    match = library.lookup("gemm", {"I": 4, "J": 4, "K": 4}, "toy", options={"bias": [1, 1]})
    assert match is not None
    assert match.exact


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"operation": "gem"}, "no schedule of 'gem' is for simulator:toy; did you mean gemm?"),
        ({"accelerator": "tay"}, "no schedule is for simulator:tay; did you mean simulator:toy?"),
        ({"accelerator": "vta"}, "no schedule is for simulator:vta; known: simulator:toy"),
        ({"shape": {"I": 4, "J": 4}}, "gemm has the dimensions I, J, K; the look-up gives I, J"),
        (
            {"options": {"bias": "full"}},
            "no schedule of gemm for simulator:toy has the option bias = full; schedules have none, row",
        ),
        (
            {"parameters": {"DIN": 16}},
            "no schedule of gemm for simulator:toy has the parameter DIN = 16; "
            "no parameter has that name; did you mean DIM?",
        ),
    ],
    ids=["operation", "machine", "far machine", "dimensions", "option", "parameter"],
)
def test_a_miss_has_a_reason(question: dict[str, object], reason: str) -> None:
    known = Library([stored(0, I=8, J=8, K=8), stored(1, bias="row", I=8, J=8, K=8)])
    asked = {"operation": "gemm", "shape": {"I": 8, "J": 8, "K": 8}, "accelerator": "toy", **question}
    assert known.why_none(**asked) == reason

"""The candidates that each strategy expands, and the plans for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from toy_search import ToyEvaluator

from autocomp.agents.scientist import by_speed
from autocomp.errors import ConfigError
from autocomp.search import BeamSearch, Candidate, Expand, History, Options, Stop
from autocomp.search.candidate import Selection, Step
from autocomp.search.strategies import Evolve, Exhaustive, Greedy, RandomSearch, make_strategy
from autocomp.search.strategies.archive import Archive, elites_of, kind_of
from autocomp.search.strategies.evolve import three_of
from autocomp.search.strategies.islands import Islands
from autocomp.search.strategy import Select
from autocomp.targets.evaluation import Measurement
from autocomp.targets.planning import GENERATED, LineageStep, Peer, Plan, Usage


def candidate(number: int, cycles: int | None, step: int = 1, parent: int = 0) -> Candidate:
    """A correct candidate, or a duplicate if `cycles` is None."""
    if cycles is None:
        return Candidate(number, step, parent, None, "", "", "duplicate")
    evaluation = replace(ToyEvaluator().evaluate("naive"), measurement=Measurement(cycles))
    return Candidate(number, step, parent, None, f"k{number}", f"h{number}", "correct", evaluation=evaluation)


NAIVE = replace(candidate(0, 1000, step=0), parent=None)
NO_LIMITS = Options(beam=2, patience=100, max_steps=100, ratio=2.0)


def parents(options: Options, *steps: Step) -> list[int]:
    decision = BeamSearch(options).decide(History(NAIVE, steps))
    assert isinstance(decision, Expand)
    return [parent.id for parent in decision.parents]


def test_it_starts_from_the_naive_kernel() -> None:
    assert parents(NO_LIMITS) == [0]


def test_dives_take_one_plan_of_the_whole_menu_at_a_time_until_two_in_a_row_bring_nothing() -> None:
    diving = BeamSearch(NO_LIMITS, dives=True)
    first = (Step(1, (0,), (candidate(1, 500),)), *(Step(n, (1,), (candidate(n, 600, n, 1),)) for n in (2, 3)))
    others = tuple(Step(n, (0,), (candidate(n, 2000, n),)) for n in range(4, 8))
    steps = (*first, *others)
    decisions = [diving.decide(History(NAIVE, steps[:taken])) for taken in range(len(steps) + 1)]
    shown = [([p.id for p in d.parents], d.plans, d.whole_menu) for d in decisions if isinstance(d, Expand)]
    assert shown == [*(([parent], 1, True) for parent in (0, 1, 1, 0, 0, 0, 0)), ([1, 2], 6, False)]


def test_the_generated_kernel_has_a_plan_before_the_users_and_the_dive_goes_on_from_the_fastest() -> None:
    generated = replace(candidate(1, 4000, 0), plan=Plan(GENERATED, "begin anew"))
    opening = Step(0, (), (generated,))
    made = (candidate(2, 500, 1, 1), candidate(3, 900, 2), candidate(4, 600, 3, 2), candidate(5, 600, 4, 2))
    steps = tuple(Step(c.step, (c.parent or 0,), (c,)) for c in made)
    diving = BeamSearch(NO_LIMITS, dives=True)
    decisions = [diving.decide(History(NAIVE, steps[:taken], opening=opening)) for taken in range(5)]
    assert [p.id for d in decisions if isinstance(d, Expand) for p in d.parents] == [1, 0, 2, 2, 0]


def test_steps_of_dives_are_not_what_patience_is_for() -> None:
    steps = tuple(Step(number, (0,), (candidate(number, 1000 + number, number),), 1) for number in range(1, 8))
    impatient = BeamSearch(NO_LIMITS.replace(patience=1), dives=True)
    assert isinstance(impatient.decide(History(NAIVE, steps[:6])), Expand)
    assert impatient.decide(History(NAIVE, steps)) == Stop("no better kernel in 1 steps")


def test_the_fastest_are_expanded_and_ties_go_to_the_older() -> None:
    step = Step(1, (0,), (candidate(1, 500), candidate(2, 300), candidate(3, 500)))
    assert parents(NO_LIMITS, step) == [2, 1]


def test_parents_compete_with_their_children() -> None:
    step = Step(1, (0,), (candidate(1, 2000), candidate(2, 3000)))
    assert parents(NO_LIMITS, step) == [0, 1]
    assert parents(NO_LIMITS.replace(keep_parents=False), step) == [1, 2]


def test_without_children_the_last_generation_stays() -> None:
    options = NO_LIMITS.replace(keep_parents=False)
    first = Step(1, (0,), (candidate(1, 500),))
    assert parents(options, first, Step(2, (1,), (candidate(2, None, 2, 1),))) == [1]


def test_a_parent_that_bears_nothing_new_twice_gives_its_place_away() -> None:
    options = NO_LIMITS.replace(beam=1)
    first = Step(1, (0,), (candidate(1, 500), candidate(2, 600)))
    barren = [Step(n, (1,), (candidate(n + 10, None, n, 1),)) for n in (2, 3)]
    assert parents(options, first, barren[0]) == [1]
    assert parents(options, first, *barren) == [2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (NO_LIMITS.replace(max_steps=1), "all steps taken"),
        (NO_LIMITS.replace(patience=1), "no better kernel in 1 steps"),
        (NO_LIMITS.replace(ratio=0.1), "target ratio reached"),
    ],
)
def test_reasons_to_stop(options: Options, reason: str) -> None:
    step = Step(1, (0,), (candidate(1, None),), evaluations=1)
    assert BeamSearch(options).decide(History(NAIVE, (step,))) == Stop(reason)


@pytest.mark.parametrize("usage", [Usage(), Usage(requests=1)])
def test_steps_that_cost_nothing_try_nobodys_patience(usage: Usage) -> None:
    first = Step(1, (0,), (candidate(1, 500), candidate(2, 600), candidate(3, 700)), evaluations=3)
    barren = [Step(n, (1, 2), (candidate(n + 10, None, n, 1),), usage=usage) for n in (2, 3)]
    decision = BeamSearch(NO_LIMITS.replace(patience=2)).decide(History(NAIVE, (first, *barren)))
    assert isinstance(decision, Expand if usage == Usage() else Stop)


@pytest.mark.parametrize(("gate", "expected"), [(None, [1, 0, 3, 2]), (1.2, [1, 0, 3]), (0.8, [1, 0])])
def test_the_gate_admits_by_the_parents_cycles_and_exempts_incumbents(gate: float | None, expected: list[int]) -> None:
    first = Step(1, (0,), (candidate(1, 950),))
    second = Step(2, (1,), (candidate(2, 1200, 2, 1), candidate(3, 1100, 2, 1)))
    assert parents(NO_LIMITS.replace(beam=9, alike=9, gate=gate), first, second) == expected


def made_by(option: str, number: int, cycles: int) -> Candidate:
    return replace(candidate(number, cycles), plan=Plan(option, ""))


def test_without_a_dive_the_first_step_after_an_opening_expands_the_starting_kernel_too() -> None:
    history = History(NAIVE, opening=Step(0, (), (candidate(1, 500, 0), candidate(2, 400, 0), candidate(3, 450, 0))))
    decision = BeamSearch(NO_LIMITS).decide(history)
    assert isinstance(decision, Expand)
    assert [parent.id for parent in decision.parents] == [2, 0]


def test_kernels_made_alike_do_not_fill_the_beam() -> None:
    same = [made_by("tile", n, 500 + n) for n in (1, 2, 3)]
    step = Step(1, (0,), (*same, made_by("stage", 4, 900)))
    assert parents(NO_LIMITS.replace(beam=3, alike=2), step) == [1, 2, 4]
    assert parents(NO_LIMITS.replace(beam=3, alike=3), step) == [1, 2, 3]


def test_a_kernel_as_fast_as_its_parent_waits_behind_others() -> None:
    first = Step(1, (0,), (candidate(1, 500),))
    second = Step(2, (1,), (candidate(2, 500, 2, 1), candidate(3, 600, 2, 1)))
    assert parents(NO_LIMITS.replace(alike=2), first, second) == [1, 3]


def test_greedy_keeps_what_is_faster_and_reverts_the_rest() -> None:
    kept = Step(1, (0,), (candidate(1, 900),))
    reverted = Step(2, (1,), (candidate(2, 950, 2, 1),))
    failed = Step(3, (1,), (candidate(3, None, 3, 1),))
    decision = Greedy(NO_LIMITS).decide(History(NAIVE, (kept, reverted, failed)))
    assert isinstance(decision, Expand)
    assert ([p.id for p in decision.parents], decision.plans) == ([1], 1)


def test_greedy_reverts_what_turns_out_to_be_wrong() -> None:
    step = Step(1, (0,), (candidate(1, 900),))
    history = History(NAIVE, (step,)).updated({1: replace(candidate(1, 900), outcome="failed adversarial")})
    decision = Greedy(NO_LIMITS).decide(history)
    assert isinstance(decision, Expand)
    assert decision.parents == (NAIVE,)


def test_exhaustive_search_expands_everything_once_in_order() -> None:
    step = Step(1, (0,), (candidate(1, 1900), candidate(2, None), candidate(3, 500)))
    decision = Exhaustive(NO_LIMITS).decide(History(NAIVE, (step,)))
    assert isinstance(decision, Expand)
    assert ([p.id for p in decision.parents], decision.plans) == ([1, 3], None)
    done = Step(2, (1, 3), ())
    assert Exhaustive(NO_LIMITS).decide(History(NAIVE, (step, done))) == Stop("nothing left to expand")


def test_random_search_draws_parents_and_plans_with_equal_chances() -> None:
    step = Step(1, (0,), tuple(candidate(n, 100 * n) for n in (1, 2, 3)))
    plans = [Plan(word, "") for word in "abcd"]
    drawn: Counter[tuple[int, str]] = Counter()
    for seed in range(400):
        decision = RandomSearch(NO_LIMITS.replace(seed=seed, plans_per_parent=1)).decide(History(NAIVE, (step,)))
        assert isinstance(decision, Expand)
        (parent,), (plan,) = decision.parents, decision.choose(decision.parents[0], plans)
        drawn[parent.id, plan.option] += 1
    assert len(drawn) == 16
    assert max(drawn.values()) < 50


def test_evolution_runs_the_newest_the_highest_maximum_and_the_highest_minimum() -> None:
    plans = [
        Plan("a", "", gain=(1.1, 1.2), innovation=10),
        Plan("b", "", gain=(0.5, 3.0), innovation=20),
        Plan("c", "", gain=(1.3, 1.4), innovation=30),
        Plan("d", "", gain=(1.0, 1.1), innovation=90),
        Plan("e", "", gain=(0.9, 2.0), innovation=90),
    ]
    assert [plan.option for plan in three_of(NAIVE, plans)] == ["d", "b", "c"]
    assert [plan.option for plan in three_of(NAIVE, plans[:2])] == ["b", "a"]


def test_evolution_asks_for_a_selection_and_again_if_its_base_was_wrong() -> None:
    step = Step(1, (0,), (candidate(1, 500), candidate(2, 700)))
    history = History(NAIVE, (step,))
    strategy = Evolve(NO_LIMITS)
    assert isinstance(strategy.decide(history), Select)
    chosen = history.selected(Selection(2, 1, 2, "why not"))
    decision = strategy.decide(chosen)
    assert isinstance(decision, Expand)
    assert decision.peers is not None
    assert ([p.id for p in decision.parents], [p.id for p in decision.peers]) == ([1], [2])
    wrong = chosen.updated({1: replace(candidate(1, 500), outcome="failed adversarial")})
    assert isinstance(strategy.decide(wrong), Select)


def test_the_mechanical_selector_takes_the_fastest_and_the_fastest_of_another_kind() -> None:
    def peer(number: int, cycles: int, *options: str) -> Peer:
        evaluation = candidate(number, cycles).evaluation
        assert evaluation is not None
        return Peer(number, "", evaluation, [LineageStep(Plan(option, ""), cycles) for option in options])

    population = [peer(0, 900), peer(1, 500, "a", "b"), peer(2, 510, "a", "b"), peer(3, 700, "c"), peer(4, 600, "c")]
    selected = by_speed(population)
    assert (selected.base, selected.reference) == (1, 4)
    assert by_speed(population[1:3]).reference == 2
    assert by_speed(population[:1]).reference is None


def test_a_strategy_that_lists_all_plans_needs_a_planner_that_can() -> None:
    with pytest.raises(ConfigError, match="lists all its plans"):
        make_strategy("exhaustive", NO_LIMITS, enumerates=False)
    with pytest.raises(ConfigError, match="did you mean 'greedy'"):
        make_strategy("gredy", NO_LIMITS)


def found(number: int, cycles: int, cause: str, used: int, step: int = 1) -> Candidate:
    """A candidate that waits for a cause, and uses a part of 64 rows."""
    made = candidate(number, cycles, step)
    assert made.evaluation is not None
    evidence = replace(made.evaluation.evidence, parts={"unit": {cause: 10}}, resources={"memory": (used, 64)})
    return replace(made, evaluation=replace(made.evaluation, evidence=evidence))


def test_an_archive_keeps_the_best_of_each_kind() -> None:
    made = (found(1, 900, "Bus", 4), found(2, 500, "Bus", 60), found(3, 800, "Idle", 60), found(4, 700, "Idle", 50))
    kept = elites_of(History(found(0, 1000, "Bus", 4, 0), (Step(1, (0,), made),)))
    assert {kind: c.id for kind, c in kept.items()} == {
        ("unit", "Bus", 1): 1,
        ("unit", "Bus", 4): 2,
        ("unit", "Idle", 4): 4,
    }


def test_an_archive_expands_the_best_and_then_the_kinds_that_were_expanded_least() -> None:
    made = (found(1, 900, "Bus", 4), found(2, 500, "Bus", 60), found(3, 800, "Idle", 60))
    steps = (Step(1, (0,), made), Step(2, (2, 1), (found(4, 950, "Idle", 20, 2),)))
    decision = Archive(NO_LIMITS.replace(beam=3)).decide(History(found(0, 1000, "Bus", 4, 0), steps))
    assert isinstance(decision, Expand)
    assert decision.parents[0].id == 2
    assert {parent.id for parent in decision.parents[1:]} == {3, 4}


def test_evidence_without_parts_and_memories_is_one_kind() -> None:
    plain = candidate(1, 900)
    assert plain.evaluation is not None
    bare = replace(plain, evaluation=plain.evaluation.without_evidence())
    assert kind_of(bare) == ("", "", 0)


def test_islands_take_turns_and_start_from_plans_of_their_own() -> None:
    plans = [Plan(word, "") for word in "abcdef"]
    taken = []
    history = History(NAIVE)
    for number in (1, 2, 3):
        decision = Islands(NO_LIMITS.replace(plans_per_parent=2), enumerates=True).decide(history)
        assert isinstance(decision, Expand)
        assert decision.parents == (NAIVE,)
        taken.append([plan.option for plan in decision.choose(NAIVE, plans)])
        history = history.extended(Step(number, (0,), (candidate(number, 1000 - number, number),), 1))
    assert taken == [["a", "d"], ["b", "e"], ["c", "f"]]
    fourth = Islands(NO_LIMITS).decide(history)
    assert isinstance(fourth, Expand)
    assert [parent.id for parent in fourth.parents] == [1]


def test_the_best_of_a_neighbour_comes_to_an_island_every_third_round() -> None:
    steps = tuple(Step(n, (0,), (candidate(n, 1000 - n, n),), 1) for n in range(1, 10))
    decision = Islands(NO_LIMITS).decide(History(NAIVE, steps))
    assert isinstance(decision, Expand)
    assert [parent.id for parent in decision.parents] == [7, 9]
    before = Islands(NO_LIMITS).decide(History(NAIVE, steps[:6]))
    assert isinstance(before, Expand)
    assert [parent.id for parent in before.parents] == [4]

"""One session of a run: from a request and a folder to a result, with the executors that it needs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial

from autocomp.agents.factory import AgentPair, make_agents
from autocomp.data import cache_folder
from autocomp.errors import AutocompError, ConfigError, RunFolderError
from autocomp.search.budget import Budget
from autocomp.search.cache import EvaluationCache, scope_of
from autocomp.search.candidate import Candidate
from autocomp.search.executors import Executor, ThreadExecutor, check_executor, make_executor
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Journal, Listener
from autocomp.search.log.snapshot import Request
from autocomp.search.options import Options
from autocomp.search.search import Problem, Search, SearchResult
from autocomp.search.strategies import make_strategy
from autocomp.search.strategy import Strategy
from autocomp.search.targets import AgentTarget, EvaluationTarget
from autocomp.targets.conditions import NOMINAL, WorstOf, conditions_of
from autocomp.targets.planning import GENERATED, Plan, Replay, Replayed
from autocomp.targets.protocol import Evaluator, Target
from autocomp.targets.rewriting import replay, rules_of
from autocomp.workload import fresh_seed
from autocomp.workload.model import Workload

NETWORK_CALLS = 16  # requests to a model that are in flight at once


@dataclass(frozen=True)
class Means:
    """Execution resources of a session; none of them affects the result. `executor` is a spec; without one, `workers`
    decides."""

    workers: int = 1
    executor: str | None = None
    cache: bool = True

    def __post_init__(self) -> None:
        if self.executor is not None:
            check_executor(self.executor)


def run_session(
    request: Request,
    folder: RunFolder,
    means: Means,
    listener: Listener | None = None,
    grant: Budget | None = None,
    *,
    recheck: bool = False,
    most: Budget | None = None,
) -> SearchResult:
    """Start or continue the run in `folder`. A run that starts gets the `grant` on top of its own budget.

    `most` is what the user allows its models from beginning to end, whatever the folder says.

    With `recheck` the best kernel is judged once more at the end, because anyone may have written the log.

    Holds the folder's lock; KeyboardInterrupt leaves a run that resumes. Raises RunFolderError where the judge does not
    say what the log says of the best kernel.
    """
    cache = _cache(request) if means.cache else None
    executor = make_executor(means.executor, means.workers, [type(request.target).__module__])
    try:
        with folder.locked():
            journal = Journal(folder.events, listener)
            try:
                options = granted_options(request.options, journal, grant)
                request = replace(request, options=options if most is None else most.over_models(options))
                return _search(request, folder, journal, executor, cache, recheck)
            except AutocompError as error:
                journal.note("fault", {"message": error.message})
                raise
            finally:
                journal.close()
    finally:
        executor.shutdown()
        if cache is not None:
            cache.trim()


def _cache(request: Request) -> EvaluationCache | None:
    evaluator = judge_of(request)
    if not evaluator.keeps:
        return None
    return EvaluationCache(cache_folder("evaluations"), scope_of(request.target, request.workload, evaluator.version))


def granted_options(options: Options, journal: Journal, grant: Budget | None) -> Options:
    """The options with what the journal says was granted on top; the first event of a run decides that for good."""
    if grant is not None and not journal:
        journal.record("grant", "grant", asdict(grant))
    if "grant" not in journal:
        return options
    return (Budget.of(options) + Budget.granted(journal["grant"])).within(options)


def _search(
    request: Request,
    folder: RunFolder,
    journal: Journal,
    executor: Executor,
    cache: EvaluationCache | None,
    recheck: bool,
) -> SearchResult:
    options = request.options
    strategy = strategy_of(request)
    agents = make_agents(request.agents, request.target, options.tokens, options.money)
    if agents.ledger is not None:
        agents.ledger.resume(journal.usage, journal.charge, folder.exchanges.keep)
    problem = make_problem(request, agents, judge_seed(options, journal))
    agent_executor: Executor = ThreadExecutor(NETWORK_CALLS) if agents.waits_on == "network" else executor
    try:
        search = Search(problem, strategy, options, folder, journal, executor, agent_executor, cache)
        result = search.run()
    finally:
        agent_executor.shutdown()
    if recheck:
        require_true(problem.evaluation.evaluator, folder, result.best)
    return result


def require_true(judge: Evaluator, folder: RunFolder, best: Candidate) -> None:
    """Raises RunFolderError unless the judge finds the kernel correct, with what was measured but for noise."""
    evaluation = judge.evaluate(folder.kernel(best.kernel))
    now, objective = evaluation.measurement, best.objective
    if evaluation.correct and now is not None:
        if not objective.better(now, best.measurement) and not objective.better(best.measurement, now):
            return
        says = f"{now.value:,} {objective.unit}"
    else:
        says = f"it fails {evaluation.failure.stage}" if evaluation.failure else "it is not measured"
    raise RunFolderError(
        f"the log of {folder.path} states {best.value:,} {objective.unit} for its best kernel; now: {says}",
        hint="its log was edited, or another version wrote it; start a new search",
    )


def judge_seed(options: Options, journal: Journal) -> int:
    """The seed of the judge's draws, in the first session of this run and in all that follow."""
    seed = fresh_seed() if options.judge_seed is None else options.judge_seed
    return int(journal.record("entropy", "entropy", {"seed": seed})["seed"])


def left_over(result: SearchResult) -> Budget:
    """The rest of a finished run's budget and grant."""
    usage = result.usage
    return Budget.of(result.options).left(Budget(result.evaluations, result.seconds, usage.tokens, usage.money))


def make_problem(request: Request, agents: AgentPair, judge_seed: int | None = None) -> Problem:
    """Where the search starts, and whom it asks. The judge draws from `judge_seed`, else from fresh entropy."""
    target, workload = request.target, request.workload
    conditions = conditions_of(target, request.options.conditions)
    agents_target = AgentTarget(
        planner=agents.planner,
        coder=agents.coder,
        target=target,
        workload=workload,
        menu=request.menu,
        dropout=request.options.dropout,
        black_box=request.options.black_box,
        precedents=request.precedents,
        experience=request.experience,
        account=nullcontext if agents.ledger is None else agents.ledger.on_account_of,
        fallback=rules_of(target) if request.agents.fallback == "rules" else None,
        writes=bool(request.agents.models),
        diagnoses=bool(request.agents.models),  # the rules gain nothing by it: benchmarks/feedback.py, gpu/advice.py
        conditions=conditions if request.options.robust else {},
    )
    start = starting_kernel(workload, target)
    return Problem(
        starting_kernel=start,
        agents=agents_target,
        evaluation=EvaluationTarget(judge_of(request), judge_seed),
        opening=_opening(request, start),
        routine=target.routine(workload),
        conditions={
            name: EvaluationTarget(machine.evaluator(workload), judge_seed)
            for name, machine in {NOMINAL: target, **conditions}.items()
        },
    )


def _opening(request: Request, start: str) -> Callable[[], Replay] | None:
    """The kernels to try before the first step: the generated one, where the user gave another, and those by the plans
    of precedents, on the generated one if there is one."""
    target, workload, precedents = request.target, request.workload, request.precedents
    generated = _generated(workload, target)
    if generated is None:
        return partial(_replayed, request, start) if precedents else None

    def opening() -> Replay:
        text = "Begin with the generated kernel, in place of the one given."
        first = Replayed("the target", Plan(GENERATED, text), generated, None)
        replayed = _replayed(request, generated) if precedents else Replay()
        later = (replace(s, parent=0 if s.parent is None else s.parent + 1) for s in replayed.steps)
        return replace(replayed, steps=(first, *later))

    return opening


def _replayed(request: Request, start: str) -> Replay:
    """The kernels by the plans of precedents; where rules plan, those that they do not beat from the start."""
    made = replay(request.target, request.precedents, start, request.workload)
    return made if request.agents.models else request.target.ahead_of_rules(made, start, request.workload)


def _generated(workload: Workload, target: Target) -> str | None:
    """The kernel that the target generates beside the user's; None where that is all there is, or the same one."""
    if workload.starting_kernel is None:
        return None
    try:
        text = target.starting_kernel(replace(workload, starting_kernel=None))
    except ConfigError:
        return None
    print_of = target.language.fingerprint
    return None if print_of(text) == print_of(workload.starting_kernel) else text


def judge_of(request: Request) -> Evaluator:
    """Who judges and measures: with the option `robust`, in all conditions."""
    if not request.options.robust:
        return request.target.evaluator(request.workload)
    conditions = conditions_of(request.target, request.options.conditions)
    return WorstOf(request.target, request.workload, conditions)


def strategy_of(request: Request) -> Strategy:
    """The strategy of a request. Raises ConfigError if it is unknown, or does not go with the agents."""
    enumerates = all(member.is_rules for member in request.agents.planner)
    rules = rules_of(request.target)
    return make_strategy(request.strategy, request.options, enumerates, dives=rules is None or rules.dives)


def starting_kernel(workload: Workload, target: Target) -> str:
    """The user's own kernel, else the target's. Raises ConfigError if neither exists."""
    own = workload.starting_kernel
    return target.starting_kernel(workload) if own is None else target.completed(own, workload)

"""The words for timing settings and properties: every key with its meaning, unit, default and bounds.

An accelerator's timing is stated in settings of its units, memories, `host`, `front` and `hazards`, and in the
`timing { }` block of each instruction. The native core says which keys it reads, with their defaults and bounds, and
which kinds and roles there are; this module adds what they mean. docs/reference lists the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from autocomp.simulator import _core

MOST = 1 << 26  # of any setting: what an evaluation scales it by still fits the simulator's range
MOST_ENTRIES = 1024  # in the pools of all units
TRANSFERS = ("transfer_in", "transfer_out")
STREAMS = ("stream_in", "stream_out")
MOVES = (*TRANSFERS, *STREAMS)
ARRAYS = ("array", "systolic")
POOLED = ("serial", *MOVES, *ARRAYS)  # their commands wait in pools
ALL = (*POOLED, "expander")
KINDS: Mapping[str, str] = {
    "serial": "one command after the other, each for as long as it says",
    "transfer_in": "rows from DRAM into local memory: per-row requests, bounded in flight, one row written a cycle",
    "transfer_out": "rows from local memory to DRAM: reads, an optional scaler, a writer of aligned requests",
    "array": "operand rows from banks, a preload overlapping with the multiply before it, results after a latency",
    "stream_in": "rows from DRAM into local memory through a chain of buffers (a controller, a reader of"
    " aligned requests, a merger, a scaler and a repeater). Its requests may pass one another while a `stream_out`"
    " unit is on the link: two of its writes of one row are in order only if none is",
    "stream_out": "rows from local memory to DRAM (through a chain of queues, a scaler and a writer of aligned"
    " requests)",
    "systolic": "operands read a row at a time, each at its own pace, into an array whose results leave by the"
    " destination that an earlier operation has named",
    "expander": "sends, in place of a command, the commands that it expands to: a hardware loop",
}
ROLES: Mapping[str, str] = {
    "work": "occupies a serial unit (the default there)",
    "configure": "changes a unit's configuration; takes no time, but an array may have to drain first",
    "transfer": "moves rows (the default of transfer units)",
    "preload": "loads an operand into the array and names the destination of the next multiply",
    "multiply": "streams operands through the array (the default there)",
    "fence": "the host waits until the machine is idle",
    "immediate": "takes effect at the head of the front queue",
    "forget": "as immediate; what was translated of addresses is forgotten",
    "wait": "holds its unit until a semaphore is above 0, then takes 1 from it",
    "signal": "adds 1 to a semaphore when all older commands of its unit have completed",
}


@dataclass(frozen=True)
class Key:
    """A setting or property: its meaning with its unit, and the kinds of unit or memory that use it. `default` and
    `low` are the core's, or stated where it does not read the key as a number."""

    doc: str
    default: int | str = 0
    kinds: tuple[str, ...] = ALL
    words: tuple[str, ...] = ()  # allowed words, if it is not a number
    low: int = 0  # the least number allowed
    most: int = MOST  # the greatest


_CORE = _core.timing_schema()


def _known(place: str, keys: Mapping[str, Key]) -> dict[str, Key]:
    """The keys with the core's default and bound; `place` is where they stand, for memories their kind is."""

    def completed(name: str, key: Key) -> Key:
        bounds = _CORE["numbers"].get((key.kinds[0] if place == "memory" else place, name))
        return key if bounds is None else replace(key, default=bounds[0], low=bounds[1])

    return {name: completed(name, key) for name, key in keys.items()}


UNIT_KEYS: Mapping[str, Key] = _known(
    "unit",
    {
        "kind": Key("mechanism that times the unit's commands", "serial", words=tuple(KINDS)),
        "entries": Key("commands in the unit's pool, from allocation to completion", kinds=POOLED),
        "queue": Key("issued commands that may wait in front of the unit (expander: of the front's)"),
        "interlock": Key("1: a command waits for older ones of its own unit whose rows it uses", kinds=POOLED, most=1),
        "reorder": Key(
            "1: a command passes older ones of its unit that wait for rows, but none that uses semaphores or DRAM, as "
            "an out-of-order processor does; needs `interlock`",
            kinds=("serial",),
            most=1,
        ),
        "start": Key("cycles from a command's issue to its first step", kinds=POOLED),
        "priority": Key("of completions: one command completes a cycle, the lowest number first", kinds=POOLED),
        "serial": Key("1: a command issues only when all older ones of the unit have completed", kinds=POOLED, most=1),
        "instant": Key(
            "1: a command completes as soon as it issues, to ask what an infinitely fast unit would bring",
            kinds=POOLED,
            most=1,
        ),
        "completion": Key("cycles a completion takes beyond the last step", kinds=POOLED),
        "unordered_writes": Key(
            "commands within which a write of a row that an older command of the unit wrote is not ordered after it", 0
        ),
        "exact_base_reads": Key(
            "commands within which a read of rows that an older command of the unit writes is ordered after it only if"
            " both start at the same row",
            0,
        ),
        "exact_base_sums": Key(
            "commands within which a result is added to rows that an older one wrote in order only if both start at the"
            " same row",
            0,
        ),
        "command_steps": Key("fewest cycles between the first steps of two commands", kinds=TRANSFERS),
        "in_flight": Key("commands between their first request and their completion", kinds=("transfer_in", *STREAMS)),
        "request_latency": Key("cycles from a row's step to its request at the memory's port", kinds=("transfer_in",)),
        "request_queue": Key("rows stepped through and not yet requested", kinds=("transfer_in", "stream_in")),
        "requests": Key("outstanding requests", kinds=MOVES),
        "recovery": Key(
            "cycles a request counts as outstanding after its last beat or acknowledgement", kinds=TRANSFERS
        ),
        "request_min": Key("bytes of the smallest request, a power of two", kinds=MOVES),
        "request_max": Key("bytes of the largest request, a power of two", kinds=MOVES),
        "write_buffer": Key(
            "rows that may wait for a port of local memory before the bus is held up", kinds=("transfer_in",)
        ),
        "zero_latency": Key("cycles from a step to the write of a row that no memory supplies", kinds=("transfer_in",)),
        "scale_slots": Key("rows in the scaler at a time", kinds=("transfer_in", "stream_in")),
        "scale_latency": Key("cycles of a row in the scaler", kinds=MOVES),
        "scale_interval": Key("cycles between rows leaving the scaler", kinds=("transfer_in",)),
        "scale_recovery": Key("cycles a row's place stays taken after it has left the scaler", kinds=("transfer_in",)),
        "scale_window": Key("rows between the scaler's input and the writer", kinds=("transfer_out", "stream_out")),
        "read_recovery": Key(
            "cycles from the writer's taking a row until its place may be read into", kinds=("transfer_out",)
        ),
        "idle_delay": Key("cycles from the last acknowledgement until the unit is idle", kinds=("transfer_out",)),
        "result_owner": Key(
            "which command of a pair completes with the result and holds its rows",
            "multiply",
            ("array",),
            ("preload", "multiply"),
        ),
        "lookahead": Key("commands that must be visible for a multiply to overlap with the next preload", kinds=ARRAYS),
        "min_rows": Key("fewest steps of an operation", kinds=ARRAYS),
        "latency": Key(
            "cycles from an operand row to its result row (array), places of the pipeline of each stream (expander)",
            kinds=(*ARRAYS, "expander"),
        ),
        "operations": Key("operations in the array at a time", kinds=("array",)),
        "operation_exit": Key(
            "cycles from an operation's last step until it no longer counts as one", kinds=("array",)
        ),
        "flush_first": Key(
            "cycles from an operation's last step to the end of a flush right after it", kinds=("array",)
        ),
        "flush_period": Key("cycles of every other flush", kinds=("array",)),
        "scale_steps": Key(
            "cycles of a row in the multipliers, one row after the other; 0: rows pass one a cycle",
            kinds=("stream_in",),
        ),
        "direct_latency": Key("cycles of a row on the direct way around the scaler", kinds=("stream_in",)),
        "read_queue": Key("rows that wait to be read", kinds=("stream_out",)),
        "scale_queue": Key("rows before, and rows after, the scaler's input", kinds=("stream_out",)),
        "scale_input": Key("rows at the scaler's input", kinds=("stream_out",)),
        "side": Key("rows of a preloaded operand, and steps of a flush", kinds=("systolic",)),
        "unroll_queue": Key("issued commands in front of the unit's queue", kinds=("systolic",)),
        "operand_queue": Key("cycles of reading whose rows have not reached the array", kinds=("systolic",)),
        "loops": Key("expansions in flight", kinds=("expander",)),
        "stage": Key("cycles from a command's acceptance by the front to the unit", kinds=("expander",)),
        "together": Key(
            "1: streams that another one follows send nothing of a loop while that one waits for them in an older loop",
            kinds=("expander",),
            most=1,
        ),
    },
)

PROPERTY_KEYS: Mapping[str, Key] = _known(
    "property",
    {
        "role": Key("what the command does in its unit", "by the unit's kind", words=tuple(ROLES)),
        "busy": Key("cycles until the unit takes its next command", kinds=("serial",)),
        "latency": Key(
            "cycles from `busy`'s end to completion (serial), from a beat to its write (transfer_in), from a read to"
            " the scaler, or to the writer less 1 (transfer_out)",
            kinds=("serial", *TRANSFERS),
        ),
        "rows": Key("steps of the operation (arrays); rows of the move (moves)", kinds=(*ARRAYS, *MOVES)),
        "passes": Key("times that the pair runs; only the last gives results", kinds=ARRAYS),
        "early": Key("bit mask of operands, by parameter position, read with the preload before", kinds=ARRAYS),
        "deferred": Key("1: results leave the array with the next operation", kinds=ARRAYS),
        "drain": Key("1: waits until no result is in the array", kinds=ARRAYS),
        "scaled": Key("1: goes through the scaler", kinds=MOVES),
        "window": Key(
            "local rows read for a row moved out (transfer_out), or written for a row moved in (transfer_in,"
            " stream_in); side of the square of rows that one comes of, 0: no pooling (stream_out)",
            kinds=MOVES,
        ),
        "block": Key("bytes that a full local row has in DRAM", kinds=STREAMS),
        "block_step": Key("local rows between blocks of columns", kinds=STREAMS),
        "bytes": Key("of a row that no memory supplies, as it would be in DRAM", kinds=("stream_in",)),
        "path": Key(
            "of rows: 0: through scaler and repeater, 1: the direct way around them, 2: from no memory; writes on"
            " different paths are not in order",
            kinds=("stream_in",),
        ),
        "stride": Key(
            "bytes between DRAM rows; a move in that states it asks for all its `rows`, read or not", kinds=STREAMS
        ),
        "lines": Key("rows of a pooled image", kinds=("stream_out",)),
        "line_rows": Key("pixels in a row of a pooled image", kinds=("stream_out",)),
        "line_step": Key("DRAM rows between rows of a pooled image", kinds=("stream_out",)),
        "window_step": Key("pixels between windows of an image that is pooled", kinds=("stream_out",)),
        "image_rows": Key("rows of an image that is pooled", kinds=("stream_out",)),
        "image_columns": Key("pixels in a row of an image that is pooled", kinds=("stream_out",)),
        "above": Key("rows of padding above an image that is pooled", kinds=("stream_out",)),
        "before": Key("pixels of padding before each row of an image that is pooled", kinds=("stream_out",)),
        "left_rows": Key("rows of the multiply's first operand, 0: it is absent", kinds=("systolic",)),
        "left_step": Key("local rows between them", kinds=("systolic",)),
        "right_rows": Key("rows of the multiply's second operand, 0: it is absent", kinds=("systolic",)),
        "read_ahead": Key("rows between reading and the writer", kinds=("transfer_out",)),
        "semaphore": Key("index of the semaphore of a wait or signal, 0 to 1023"),
        "pops": Key("bit mask of the semaphores 0 to 31 that the command takes 1 from before it issues", kinds=POOLED),
        "pushes": Key(
            "bit mask of the semaphores 0 to 31 that get 1 more when the command and all older ones of its unit"
            " complete",
            kinds=POOLED,
        ),
    },
)

DRAM, LOCAL = ("dram",), ("local",)  # kinds of memory
MEMORY_KEYS: Mapping[str, Key] = _known(
    "memory",
    {
        "bus": Key("bytes a cycle of the way back", kinds=DRAM),
        "latency": Key("cycles from a request to its first data or acknowledgement", kinds=DRAM),
        "channels": Key(
            "channels of this bus each, to which addresses go in turn, a power of two; a unit asks for one request a"
            " cycle all the same (not beside units that stream)",
            kinds=DRAM,
        ),
        "interleave": Key(
            "bytes after which the next channel follows, a power of two, and at least the largest request", kinds=DRAM
        ),
        "cache_lines": Key(
            "lines of a cache in front of the memory, 0: no cache. The line used least recently makes room; what"
            " the cache holds follows from the order of commands alone (not beside units that stream)",
            kinds=DRAM,
        ),
        "cache_line": Key("bytes of a line, a power of two", kinds=DRAM),
        "cache_bus": Key("bytes a cycle of each channel's way back from the cache; by default `bus`", kinds=DRAM),
        "cache_latency": Key(
            "cycles from a request to its first data or acknowledgement where the cache holds the line; `latency` comes"
            " on top where it does not",
            kinds=DRAM,
        ),
        "page": Key("bytes of a page of address translation, a power of two; 0: no translation", kinds=DRAM),
        "request_port": Key(
            "moves in and out send a beat a cycle each, or one of both together, moves out first",
            "separate",
            DRAM,
            words=("shared", "separate"),
        ),
        "read_latency": Key("cycles from a read to its data, for units that stream and systolic arrays", kinds=LOCAL),
        "held_rows": Key(
            "rows that were read and wait at their bank, for each kind of reader; by default read_latency",
            kinds=LOCAL,
        ),
        "contention": Key("0: a port is never taken, to ask what more ports would bring", kinds=LOCAL, most=1),
        "bandwidth": Key("bytes a cycle that units of kind serial share; 0: as many as they want", kinds=LOCAL),
        "renamed": Key(
            "1: each write gets rows of its own, so that it need not wait for older reads and writes of them",
            kinds=LOCAL,
            most=1,
        ),
        "shared_adders": Key(
            "1: one adder a column serves all banks, which choose a `path` together. Commands of two units that add in"
            " different banks, and moves on two paths that write different banks, must not be under way at the same"
            " time: sums would be wrong, and rows go astray",
            kinds=LOCAL,
            most=1,
        ),
        "ports": Key(
            "one port a bank for reads and writes, or one of each", "shared", LOCAL, words=("shared", "separate")
        ),
    },
)

SECTION_KEYS: Mapping[str, Mapping[str, Key]] = {
    "host": _known(
        "host",
        {
            "issue": Key("fewest cycles between two commands"),
            "code": Key(
                "1: kernel code takes the cycles below, as an optimising compiler leaves it; 0: it takes none",
                0,
                most=1,
            ),
            "integer": Key("cycles of an addition, a shift, a logical operation or a comparison, a move", 1),
            "multiply": Key("cycles of an integer multiplication", 4),
            "divide": Key("cycles of an integer division", 32),
            "load": Key("cycles of a load with the wait for its value", 2),
            "store": Key("cycles of a store", 1),
            "branch": Key("cycles of a branch as foreseen: the one that closes a loop is taken", 1),
            "mispredict": Key("cycles more of the branch that leaves a loop", 3),
            "call": Key("cycles of calling a function and returning from it, without its arguments", 4),
            "fence": Key("cycles of a fence besides its waiting", 0),
            "float_add": Key("cycles of a float addition or subtraction with the wait for its result", 4),
            "float_multiply": Key("cycles of a float multiplication with the wait for its result", 4),
            "float_divide": Key("cycles of a float division", 20),
            "float_compare": Key("cycles of a float comparison with the wait for its result", 4),
            "float_move": Key("cycles of a float negation, conversion or move between register files", 2),
        },
    ),
    "front": _known(
        "front",
        {
            "queue": Key("commands accepted and not yet in a pool"),
            "latency": Key("cycles from acceptance to the pool"),
            "width": Key("commands that the host offers, that enter pools and that complete in a cycle"),
        },
    ),
    "semaphores": _known(
        "semaphores",
        {
            "depth": Key("the most that a semaphore holds: whoever adds to it waits for room; 0: any number"),
        },
    ),
    "hazards": _known(
        "hazards",
        {
            "tracked": Key("1: overlapping accesses of different units are ordered by the machine", most=1),
            "dram": Key(
                "1: what orders commands orders their DRAM accesses too; 0: only a fence does",
                "not `tracked`",
                most=1,
            ),
        },
    ),
}

Value = int | float | str
Settings = Mapping[str, Value]  # of a unit or memory, as the description states them


def unit_number(unit: Settings, name: str) -> int:
    """A setting of a unit, or the simulator's default where the description leaves it out."""
    return int(unit.get(name, UNIT_KEYS[name].default))


def memory_number(memory: Settings, name: str) -> int:
    """A setting of a memory, or the simulator's default."""
    return int(memory.get(name, MEMORY_KEYS[name].default))


def reference_table() -> Iterator[tuple[str, str, str, str]]:
    """(where, key, meaning, default) of every key, for the language's documentation."""
    tables = {"unit": UNIT_KEYS, "memory": MEMORY_KEYS, **SECTION_KEYS, "timing": PROPERTY_KEYS}
    for where, table in tables.items():
        for name, key in table.items():
            kinds = "" if key.kinds == ALL else f" ({', '.join(key.kinds)})"
            yield where, name, key.doc + kinds, str(key.default)

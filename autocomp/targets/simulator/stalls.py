"""The glossary of stalls: why a cycle of a unit or of a command was not work, and what usually helps.

Profiles, reports, prompts and the documentation of machines take their words from here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from autocomp.targets.evaluation import Cause

BUSY = "Busy"  # the one name that is not a stall
HOST = "Host"

STALLS: Mapping[str, Cause] = {
    "Idle": Cause(
        "No command for the unit has arrived yet.",
        "has no command yet",
        "issue its commands earlier, so that they wait in its queue",
    ),
    HOST: Cause(
        "The host has not issued the next command yet: it issues others, or runs code of the kernel that takes time.",
        "has not issued the command yet",
        "have fewer and larger commands, and less code that takes time between them",
    ),
    "QueueFull": Cause(
        "Commands leave the host in program order. The next one finds no room in its unit's queue, and holds up all"
        " commands after it, those of other units too.",
        "waits for room in its queue",
        "issue fewer and larger commands, or alternate more evenly between the units",
        "line {next} finds the queue full",
    ),
    "ReadAfterWrite": Cause(
        "The command reads rows that an older command is still producing.",
        "waits for data that is being produced",
        "issue the producer earlier, into rows of its own",
        "line {next} needs its result",
    ),
    "WriteAfterRead": Cause(
        "The command overwrites rows that an older command has not read yet.",
        "waits until what it overwrites has been read",
        "use a second buffer in turn with the first",
        "line {next} overwrites what it reads",
    ),
    "WriteAfterWrite": Cause(
        "The command overwrites rows that an older command has not written yet.",
        "waits until what it overwrites has been written",
        "use a second buffer in turn with the first",
        "line {next} overwrites what it writes",
    ),
    "Semaphore": Cause(
        "The command waits for a signal that no older command has given yet.",
        "waits at a semaphore",
        "signal earlier, or use a second buffer so that more is allowed to run ahead",
        "line {next} waits for its signal",
    ),
    "Bus": Cause(
        "The DRAM bus carries other transfers, or as many requests as allowed are outstanding.",
        "waits for the DRAM bus",
        "move fewer bytes: keep operands in local memory for every use, and move whole, aligned rows",
    ),
    "MemoryLatency": Cause(
        "The first data of a request has not come back from DRAM.",
        "waits for the first data from DRAM",
        "start moves earlier, before their data is needed, and keep several in flight",
    ),
    "BankConflict": Cause(
        "Another access holds the port of the memory bank.",
        "waits for a bank that another access holds",
        "place what is used at the same time in different banks",
    ),
    "Pairing": Cause(
        "The command executes together with a second one, which has not arrived.",
        "waits for the other half of its pair",
        "issue the two directly one after the other",
        "line {next} is paired with it",
    ),
    "Drain": Cause(
        "The unit's pipeline has to run empty before its configuration changes.",
        "waits for its pipeline to run empty",
        "configure less often: do all work of one configuration together",
    ),
    "Pipeline": Cause(
        "Results are inside the unit's pipeline, still on their way.",
        "waits for what is still in its pipeline",
        "put independent work between a command and the one that needs its result",
    ),
    "Fence": Cause(
        "The host waits until the whole machine is idle.",
        "waits at the fence",
        "drop the fence where no access of DRAM or of the host needs it",
        "the fence of line {next} waits for it",
    ),
}


def activity(cause: str) -> str:
    """The activity of a unit in cycles of a cause, as a verb: "waits for the DRAM bus"."""
    if cause == BUSY:
        return "works"
    return STALLS[cause].activity if cause in STALLS else f"waits ({cause})"


def glossary_lines(causes: Collection[str] = tuple(STALLS)) -> list[str]:
    """A Markdown list of causes with their usual remedies."""
    return [
        f"- `{name}`: {stall.meaning} Usual remedy: {stall.remedy}." for name, stall in STALLS.items() if name in causes
    ]

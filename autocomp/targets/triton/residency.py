"""The number of blocks that share a multiprocessor, and the resource that limits it. The figures are those of the CUDA
programming guide for compute capabilities 8.0 and 9.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REGISTERS, WARPS, BLOCKS = 65_536, 64, 32  # of a multiprocessor
LARGEST_BLOCK = 65_536  # elements that one program holds in registers without spilling all of them
REGISTER_UNIT = 8  # registers of a thread are handed out in such multiples
RESERVED = 1024  # bytes of shared memory that the system takes of each block
FEWEST_RECORDS = 16  # a warp's buffer of records must hold, to be of use
RECORD_BYTES = 8


def blocks_at_a_time(needs: Mapping[str, Any], shared_bytes: int) -> tuple[int, str]:
    """The number of blocks that fit, and the resource that limits it. `needs` are the `registers` of a thread, the
    `warps` and the bytes of `shared` memory of a block; `shared_bytes` is what a multiprocessor has."""
    registers = -(-int(needs["registers"]) // REGISTER_UNIT) * REGISTER_UNIT * 32 * int(needs["warps"])
    limits = {
        "registers": REGISTERS // max(1, registers),
        "shared memory": shared_bytes // (int(needs["shared"]) + RESERVED),
        "warps": WARPS // int(needs["warps"]),
        "blocks": BLOCKS,
    }
    least = min(limits, key=lambda name: limits[name])
    return limits[least], least


def room_beside(needs: Mapping[str, Any], shared_bytes: int) -> int:
    """Bytes of shared memory that a block may use on top of its own while as many blocks fit as before. Each warp gets
    a power of two of them. 0 where that is too little for records."""
    blocks, _ = blocks_at_a_time(needs, shared_bytes)
    warps = int(needs["warps"])
    spare = (shared_bytes // max(1, blocks) - RESERVED - int(needs["shared"])) // warps
    room = 1 << (spare.bit_length() - 1) if spare > 0 else 0
    return room * warps if room >= FEWEST_RECORDS * RECORD_BYTES else 0

"""Cuts a row in DRAM into requests, as the timing engine does it (`best_request` in its channel)."""

from __future__ import annotations


def requests(address: int, length: int, smallest: int, largest: int) -> tuple[int, ...]:
    """Bytes of each request for `length` bytes at `address`: always the naturally aligned power of two that covers most
    of what is left, the smaller of two that cover as much."""
    sizes: list[int] = []
    while length > 0:
        best, useful = 0, 0
        size = smallest
        while size <= largest:
            covered = min(length, size - address % size)
            if covered > useful:
                best, useful = size, covered
            size *= 2
        sizes.append(best)
        address, length = address + useful, length - useful
    return tuple(sizes)


def beats(sizes: tuple[int, ...], bus: int) -> int:
    """Cycles that the requests' data occupy a bus of `bus` bytes a cycle."""
    return sum(-(-size // bus) for size in sizes)

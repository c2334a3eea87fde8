"""Places of elements as sums of parts of symbols: `coefficient · (symbol // divisor % modulus)`.

Taking an index apart by a view and putting it together again gives back the symbol, so that loads of contiguous tensors
stay contiguous in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autocomp.linear import Linear


@dataclass(frozen=True)
class Symbol:
    """A variable of a kernel, or a sum of `terms` in parentheses, which counts from 0 to below `extent`."""

    text: str
    extent: int
    terms: tuple[tuple[Part, int], ...] = ()


@dataclass(frozen=True)
class Part:
    """`symbol // divisor % modulus`."""

    symbol: Symbol
    divisor: int
    modulus: int

    @property
    def text(self) -> str:
        text = self.symbol.text
        if self.divisor > 1:
            text = f"{text} // {self.divisor}"
        if self.divisor * self.modulus < self.symbol.extent:
            text = f"{text} % {self.modulus}"
        return text


class Index(Linear[Part]):
    """A sum of parts; neighbouring parts of one symbol become one."""

    def _arranged(self, coefficients: Mapping[Part, int]) -> Iterable[tuple[Part, int]]:
        return _joined(coefficients)

    @property
    def most(self) -> int:
        """The largest value."""
        return self.constant + sum(max(by, 0) * (part.modulus - 1) for part, by in self.terms)

    def divide(self, number: int) -> tuple[Index, Index]:
        """Quotient and remainder by a positive number. The index is not negative. Where it is `step * over + under`
        with `under` below a step that divides the number, `over` alone has to be divided."""
        if number == 1:
            return self, Index()
        high = [(part, by) for part, by in self.terms if by % number == 0]
        low = Index(self.constant % number, tuple(pair for pair in self.terms if pair[1] % number))
        quotient = Index(self.constant // number, tuple((part, by // number) for part, by in high))
        if low.most < number:
            return quotient, low
        if len(low.terms) == 1 and not low.constant and low.terms[0][1] == 1:
            part = low.terms[0][0]
            if part.modulus % number == 0 or part.divisor * part.modulus >= part.symbol.extent:
                rest = Part(part.symbol, part.divisor * number, -(-part.modulus // number))
                return quotient + of(rest), of(Part(part.symbol, part.divisor, number))
        for step in sorted({by for _, by in low.terms if by > 1 and number % by == 0}, reverse=True):
            over = tuple((part, by // step) for part, by in low.terms if by % step == 0)
            under = Index(low.constant % step, tuple(pair for pair in low.terms if pair[1] % step))
            if under.most < step and all(by > 0 for _, by in low.terms):
                outer, inner = Index(low.constant // step, over).divide(number // step)
                return quotient + outer, inner.times(step) + under
        opaque = Symbol(f"({self.text({})})", self.most + 1, () if self.constant else self.terms)
        return of(Part(opaque, number, -(-opaque.extent // number))), of(Part(opaque, 1, number))

    def text(self, names: Mapping[int, str]) -> str:
        """The index in Python; `names` has names for coefficients. Parts of a tile's rows come apart from those of its
        columns, so that each vector is added up before the tile is."""
        vectors = {part.symbol.text for part, _ in self.terms}
        if len(vectors) > 1 and len(self.terms) > len(vectors) and all("[" in vector for vector in vectors):
            apart = (
                Index(0, tuple(pair for pair in self.terms if pair[0].symbol.text == one)) for one in sorted(vectors)
            )
            sums = [f"({index.text(names)})" if len(index.terms) > 1 else index.text(names) for index in apart]
            if self.constant:
                sums[-1] = f"({sums[-1]} + {self.constant})"
            return " + ".join(sums)
        words = ""
        for part, by in sorted(self.terms, key=lambda pair: -abs(pair[1])):
            inner = part.text
            size = abs(by)
            shown = names.get(size, str(size))
            term = (
                inner
                if size == 1
                else f"{inner} * {shown}"
                if "%" not in inner and "/" not in inner
                else (f"({inner}) * {shown}")
            )
            if words:
                words += f" - {term}" if by < 0 else f" + {term}"
            elif by < 0:  # a minus in front would bind before a division
                words = f"-({term})" if "%" in term or "/" in term else f"-{term}"
            else:
                words = term
        if self.constant or not words:
            sign = "-" if self.constant < 0 else "+"
            words = f"{words} {sign} {abs(self.constant)}" if words else str(self.constant)
        return words


def of(part: Part) -> Index:
    return Index(0, ((part, 1),)) if part.modulus > 1 else Index()


def symbol(text: str, extent: int) -> Index:
    return of(Part(Symbol(text, extent), 1, extent))


def split(whole: Index, shape: Sequence[int]) -> tuple[Index, ...]:
    """The indices along the axes of a contiguous tensor for a place in it."""
    parts: list[Index] = []
    for position, extent in reversed(list(enumerate(shape))):
        whole, rest = whole.divide(extent) if position else (whole, whole)
        parts.append(rest if extent > 1 else Index())
    return tuple(reversed(parts))


def join(indices: Sequence[Index], shape: Sequence[int]) -> Index:
    """The place in a contiguous tensor of an element."""
    place = Index()
    stride = 1
    for index, extent in zip(reversed(indices), reversed(shape), strict=True):
        place = place + index.times(stride)
        stride *= extent
    return place


def _joined(coefficients: Mapping[Part, int]) -> tuple[tuple[Part, int], ...]:
    """The terms of a sum, with neighbouring parts of one symbol put together."""
    terms = dict(coefficients)
    again = True
    while again:
        again = False
        for high, by in list(terms.items()):
            for low, other in list(terms.items()):
                if (
                    high.symbol == low.symbol
                    and high.divisor == low.divisor * low.modulus
                    and by == other * low.modulus
                ):
                    del terms[high], terms[low]
                    both = Part(low.symbol, low.divisor, low.modulus * high.modulus)
                    is_whole = both.divisor == 1 and both.modulus >= both.symbol.extent
                    for part, inner in (both.symbol.terms if is_whole else ()) or ((both, 1),):
                        terms[part] = terms.get(part, 0) + inner * other
                    again = True
                    break
            if again:
                break
    return tuple(sorted(terms.items(), key=lambda pair: (pair[0].symbol.text, pair[0].divisor, pair[0].modulus)))

"""Operators of PyTorch, taken apart into those that starting kernels have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions

aten = torch.ops.aten
NARROW = 4  # columns of a product up to which it is a sum of each row
FEW = 16  # places of the largest elements of a row that are looked for one after the other


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    table: dict[Any, Callable[..., Any]] = dict(core_aten_decompositions())
    wanted = (
        aten._softmax,
        aten._log_softmax,
        aten.elu,
        aten.gelu,
        aten.leaky_relu,
        aten.hardtanh,
        aten.nll_loss_forward,
        aten.addmm,
        aten.baddbmm,
    )
    table.update(get_decompositions(wanted))
    table.update(
        {
            aten.mean.default: lambda x, **_: _total(x, None, False) / x.numel(),
            aten.mean.dim: lambda x, dim=None, keepdim=False, **_: _total(x, dim, keepdim) / _count(x, dim),
            aten.var.correction: _variance,
            aten.var_mean.correction: lambda x, dim=None, correction=1, keepdim=False: (
                _variance(x, dim, correction, keepdim),
                _moments(x, dim)[0] if keepdim else _moments(x, dim)[0].squeeze(_axes(x, dim)),
            ),
            aten.linalg_vector_norm.default: _norm,
            aten.max.dim: lambda x, dim, keepdim=False: (x.amax(dim, keepdim), x.argmax(dim, keepdim)),
            aten.min.dim: lambda x, dim, keepdim=False: (x.amin(dim, keepdim), x.argmin(dim, keepdim)),
            aten.max.default: lambda x: x.amax(),
            aten.min.default: lambda x: x.amin(),
            aten.native_layer_norm.default: _layer_norm,
            aten.native_group_norm.default: _group_norm,
            aten._native_batch_norm_legit_functional.default: _batch_norm,
            aten._native_batch_norm_legit.default: lambda *given: _batch_norm(*given)[:3],
            aten._native_batch_norm_legit.no_stats: lambda x, weight, bias, training, momentum, eps: _batch_norm(
                x, weight, bias, None, None, True, momentum, eps
            )[:3],
            aten.native_batch_norm.default: lambda *given: _batch_norm(*given)[:3],
            aten.mm.default: _product,
            aten.split_with_sizes.default: _split,
            aten.split.Tensor: lambda x, size, dim=0: _split(x, _sizes(x.shape[dim], size), dim),
            aten.unbind.int: lambda x, dim=0: [x.select(dim, at) for at in range(x.shape[dim])],
            aten.topk.default: _largest,
            aten.as_strided.default: _as_laid_out,
            aten.index_add.default: _added_at,
            aten.embedding.default: lambda weight, index, *_, **__: weight[index],
            aten.index_select.default: lambda x, dim, index: x[(slice(None),) * (dim % max(x.dim(), 1)) + (index,)],
        }
    )
    table.pop(aten.sum.dim_IntList, None)
    table.pop(aten.sum.default, None)
    return table


def _product(a: Tensor, b: Tensor) -> Tensor:
    if b.shape[1] <= NARROW:
        return torch.stack([(a * b[:, column]).sum(-1) for column in range(b.shape[1])], dim=1)
    return NotImplemented


def _split(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    ends = list(accumulate(sizes))
    return [aten.slice.Tensor(x, dim, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _as_laid_out(x: Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> Any:
    """A view of all elements in their order, whatever the strides of axes of one element are."""
    plain = [math.prod(size[axis + 1 :]) for axis in range(len(size))]
    same = all(extent == 1 or one == other for extent, one, other in zip(size, stride, plain, strict=True))
    if offset or not same or not x.is_contiguous() or math.prod(size) != x.numel():
        return NotImplemented
    return x.view(size)


def _sizes(extent: int, size: int) -> list[int]:
    return [min(size, extent - start) for start in range(0, extent, size)]


def _largest(x: Tensor, k: int, dim: int = -1, largest: bool = True, *_sorted: Any) -> Any:
    """The first of the `k` largest or least elements, then the next: few of them need no sorting."""
    if k > FEW or not x.dtype.is_floating_point:
        return NotImplemented
    dim = dim % x.dim()
    along = torch.arange(x.shape[dim], device=x.device).reshape([-1] + [1] * (x.dim() - dim - 1))
    values, places = [], []
    for _ in range(k):
        place = x.argmax(dim, keepdim=True) if largest else x.argmin(dim, keepdim=True)
        values.append(x.amax(dim, keepdim=True) if largest else x.amin(dim, keepdim=True))
        places.append(place)
        x = torch.where(along == place, -math.inf if largest else math.inf, x)
    return torch.cat(values, dim), torch.cat(places, dim)


def _added_at(x: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> Any:
    """As a product with a matrix that has a one where a row is added: the order of the additions is fixed."""
    if not source.dtype.is_floating_point:
        return NotImplemented
    moved = source.movedim(dim, 0)
    rows = torch.arange(x.shape[dim], device=x.device)
    chosen = (rows[:, None] == index[None, :]).to(source.dtype)
    added = (chosen @ moved.reshape(moved.shape[0], -1)).reshape(x.shape[dim], *moved.shape[1:])
    return x + added.movedim(0, dim) * alpha


def _axes(x: Tensor, dim: Any) -> list[int]:
    if dim is None or dim == []:
        return list(range(x.dim()))
    return sorted(one % max(x.dim(), 1) for one in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def _count(x: Tensor, dim: Any) -> int:
    count = 1
    for axis in _axes(x, dim):
        count *= x.shape[axis]
    return count


def _total(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """A sum, first over the axes at the end, whose elements are neighbours in memory."""
    axes = _axes(x, dim)
    last = [axis for axis in axes if set(range(axis, x.dim())) <= set(axes)]
    others = [axis for axis in axes if axis not in last and x.shape[axis] > 1]
    total = x.sum(last, keepdim=True) if last else x
    total = total.sum(others, keepdim=True) if others else total
    return total if keepdim else total.squeeze(axes)


def _moments(x: Tensor, dim: Any) -> tuple[Tensor, Tensor]:
    """The mean, and the sum of squared distances to it, with axes kept. Over axes of which only the last ones are
    neighbours in memory, rows have both first, and then their means (Chan, Golub and LeVeque, 1983): so a kernel reads
    each element once for both."""
    axes = _axes(x, dim)
    last = [axis for axis in axes if set(range(axis, x.dim())) <= set(axes)]
    others = [axis for axis in axes if axis not in last and x.shape[axis] > 1]
    if last and others:
        part, within = _moments(x, last)
        mean, apart = _moments(part, others)
        return mean, _total(within, others, True) + apart * _count(x, last)
    mean = _total(x, axes, True) / _count(x, axes)
    centred = x - mean
    return mean, _total(centred * centred, axes, True)


def _variance(x: Tensor, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Tensor:
    spread = _moments(x, dim)[1] / (_count(x, dim) - (1 if correction is None else correction))
    return spread if keepdim else spread.squeeze(_axes(x, dim))


def _norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:  # noqa: A002
    if ord == 2:
        return _total(x * x, dim, keepdim).sqrt()
    if ord == 1:
        return _total(x.abs(), dim, keepdim)
    if ord == float("inf"):
        return x.abs().amax(_axes(x, dim), keepdim)
    return _total(x.abs().pow(ord), dim, keepdim).pow(1 / ord)


def _layer_norm(x: Tensor, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    axes = list(range(x.dim() - len(shape), x.dim()))
    mean, spread = _moments(x, axes)
    scale = (spread / _count(x, axes) + eps).rsqrt()
    normal = (x - mean) * scale
    normal = normal if weight is None else normal * weight
    return (normal if bias is None else normal + bias), mean, scale


def _group_norm(
    x: Tensor, weight: Any, bias: Any, images: int, channels: int, size: int, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    parts = x.reshape(images, groups, -1)
    normal, mean, scale = _layer_norm(parts, [parts.shape[-1]], None, None, eps)
    result = normal.reshape(x.shape)
    shape = [1, channels] + [1] * (x.dim() - 2)
    result = result if weight is None else result * weight.reshape(shape)
    return (result if bias is None else result + bias.reshape(shape)), mean, scale


def _batch_norm(
    x: Tensor, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float
) -> tuple[Tensor, ...]:
    """Without the running statistics: a kernel has no state."""
    axes = [axis for axis in range(x.dim()) if axis != 1]
    shape = [1, x.shape[1]] + [1] * (x.dim() - 2)
    if training:
        mean, spread = _moments(x, axes)
        variance = spread / _count(x, axes)
    scale = (variance.reshape(shape) + eps).rsqrt()
    result = (x - mean.reshape(shape)) * scale
    result = result if weight is None else result * weight.reshape(shape)
    return (result if bias is None else result + bias.reshape(shape)), mean, scale, mean, variance

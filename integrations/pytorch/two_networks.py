"""Two networks, quantised and run on our kernels: python integrations/pytorch/two_networks.py [--evaluations N]

Prints Markdown: how much of each runs on kernels, its cycles, and whether the results are PyTorch's own, bit for bit.
"""

from __future__ import annotations

import argparse

import autocomp_torch
import torch
from torch import fx, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

SAMPLES = 4


class InvertedResidual(nn.Module):
    """A block of MobileNetV2: widened, filtered channel by channel, narrowed, and added to what came in."""

    def __init__(self, channels: int, factor: int = 4) -> None:
        super().__init__()
        wide = factor * channels
        self.widen = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU())
        self.filter = nn.Sequential(nn.Conv2d(wide, wide, 3, padding=1, groups=wide), nn.BatchNorm2d(wide), nn.ReLU())
        self.narrow = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return value + self.narrow(self.filter(self.widen(value)))


class Convolutional(nn.Module):
    """A small MobileNet."""

    def __init__(self, channels: int = 16, blocks: int = 2) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, channels, 3, stride=2, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
        self.blocks = nn.Sequential(*(InvertedResidual(channels) for _ in range(blocks)))
        self.last = nn.Linear(channels, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.last(self.blocks(self.first(image)).mean((2, 3)))


class Encoder(nn.Module):
    """A layer of a transformer's encoder, its products of queries, keys and values in float."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.projections = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        images, length, width = tokens.shape
        split = (images, length, self.heads, width // self.heads)
        query, key, value = (layer(tokens).reshape(split).transpose(1, 2) for layer in self.projections[:3])
        scores = torch.matmul(query, key.transpose(2, 3)) / (width // self.heads) ** 0.5
        context = torch.matmul(scores.softmax(-1), value).transpose(1, 2).reshape(tokens.shape)
        tokens = self.norms[0](tokens + self.projections[3](context))
        return self.norms[1](tokens + self.narrow(torch.relu(self.wide(tokens))))


def quantised(network: nn.Module, *shape: int) -> fx.GraphModule:
    """The network after static quantisation to what the kernels compute, by samples drawn at random."""
    exported = torch.export.export(network.eval(), (torch.randn(shape),)).module()
    prepared = prepare_pt2e(exported, autocomp_torch.SymmetricInt8())
    for _ in range(SAMPLES):
        prepared(torch.randn(shape))
    return convert_pt2e(prepared)


def row(name: str, network: nn.Module, shape: tuple[int, ...], evaluations: int) -> str:
    module, argument = quantised(network, *shape), torch.randn(shape)
    program = autocomp_torch.offload(module, (argument,), evaluations=evaluations)
    same = torch.equal(program.module(argument), autocomp_torch.on_integers(module)(argument))
    time = autocomp_torch.share_of_time(program, module, argument)
    figures = [f"{len(program.offloaded)} of {len(program.work)}", f"{program.share_of_operations:.1%}", f"{time:.0%}"]
    return f"| {name} | {' | '.join(figures)} | {program.cycles:,} | {'yes' if same else 'no'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=8, help="for each kernel that the library does not have")
    evaluations = parser.parse_args().evaluations
    torch.manual_seed(0)
    print("| network | layers on kernels | of operations | of PyTorch's time | cycles | as PyTorch |")
    print("|---|---:|---:|---:|---:|---|")
    print(row("MobileNet, 32 x 32", Convolutional(), (1, 3, 32, 32), evaluations), flush=True)
    print(row("encoder layer, 32 tokens", Encoder(), (1, 32, 64), evaluations), flush=True)


if __name__ == "__main__":
    main()

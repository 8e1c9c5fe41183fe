# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch network as an ONNX file: export.py OUT.onnx

Ran with PyTorch 2.6 to make net.onnx, which lies beside it: nothing here needs
PyTorch. Weights are random, from a seed.
"""
import sys

import torch
from torch import nn


class Block(nn.Module):
    """Two convolutions around which the input passes."""

    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1),
            nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1),
        )  # fmt: skip

    def forward(self, x):
        return x + self.body(x)


class Denoiser(nn.Module):
    """Halves a picture twice and doubles it again, with a skip at each size."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv2d(3, width, 5, padding=2, padding_mode="reflect")
        self.down = nn.ModuleList(nn.Conv2d(width << i, width << i + 1, 3, stride=2, padding=1) for i in range(2))
        self.blocks = nn.ModuleList(Block(width << i) for i in range(3))
        self.up = nn.ModuleList([nn.ConvTranspose2d(width << 1, width, 4, stride=2, padding=1),
                                 nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"),
                                               nn.Conv2d(width << 2, width << 1, 1))])  # fmt: skip
        self.join = nn.ModuleList(nn.Conv2d(width << i + 1, width << i, 3, padding=1) for i in range(2))
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, image):
        x, skips = self.first(image), []
        for i, down in enumerate(self.down):
            skips.append(self.blocks[i](x))
            x = down(skips[-1])
        x = self.blocks[2](x)
        for i in (1, 0):
            x = self.join[i](torch.cat([skips[i], self.up[i](x)], 1))
        return image - self.last(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.onnx.export(
        Denoiser().eval(), torch.zeros(1, 3, 32, 48), sys.argv[1], dynamo=False, opset_version=17,
        input_names=["image"], output_names=["clean"], dynamic_axes={"image": {2: "height", 3: "width"}},
    )  # fmt: skip

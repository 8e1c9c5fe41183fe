# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise work behind a convolution, done by its kernel: the result times a
number per feature, plus a tensor, but not below zero."""
import numpy as np

from conv import Conv, TYPES
from special import Special

GENERIC = """
  %zero = arith.constant 0.0 : TYPE
  linalg.generic {indexing_maps = [#all, #feature, #all, #all], iterator_types = [PARALLEL]}
    ins(%y, %s, %r : RESULT, memref<Kx TYPE>, RESULT) outs(%y : RESULT) {
  ^bb0(%value: TYPE, %scale: TYPE, %other: TYPE, %old: TYPE):
    %0 = arith.mulf %value, %scale : TYPE
    %1 = arith.addf %0, %other : TYPE
    %2 = arith.maxnumf %1, %zero : TYPE
    linalg.yield %2 : TYPE
  }
  return"""


class Scaled(Conv):
    def make(self, seed=0):
        operands = super().make(seed)
        down, up, _ = TYPES[self.result]
        rng = np.random.default_rng(7)
        scale = down(rng.choice([-0.5, 0.25, 2], self.K).astype(np.float32))
        other = down(rng.uniform(-1, 1, self.expected.shape).astype(np.float32))
        scaled = self.expected * up(scale)
        self.expected = np.fmax(scaled + up(other), 0)
        self.beside = np.abs(scaled) + np.abs(up(other))
        return operands[:-1] + [scale, self.laid(other), operands[-1]]

    def bound(self):
        # The result is rounded before and after each operation.
        return 2 * super().bound() + 3 * TYPES[self.result][2] * self.beside

    def text(self):
        rank = len(self.own) + 2
        dims = ", ".join(f"d{i}" for i in range(rank))
        feature = self.order(rank).index(rank - 1)
        shape = [(self.N, *self.out, self.K)[i] for i in self.order(rank)]
        result = f"memref<{'x'.join(map(str, shape))}x{self.result}>"
        body = GENERIC
        for word, text in (("RESULT", result), ("PARALLEL", ", ".join(['"parallel"'] * rank)),
                           ("Kx TYPE", f"{self.K}x{self.result}"), ("TYPE", self.result)):
            body = body.replace(word, text)
        conv = super().text().replace(f"%y: {result}", f"%s: memref<{self.K}x{self.result}>, %r: {result}, %y: {result}")
        return (f"#all = affine_map<({dims}) -> ({dims})>\n#feature = affine_map<({dims}) -> (d{feature})>\n" +
                conv.replace("\n  return", body))


class ScaledSpecial(Scaled, Special):
    """What is NaN only because padding was multiplied must not be hidden."""


F16, F32, F64 = "--tile=64,64,32,32,4", "--tile=64,64,64,32,3", "--tile=64,64,32,32,3"
SHAPE = dict(N=2, own=(8, 9), C=16, K=40)

CASES = [
    (Scaled(**SHAPE), [F16]),
    (Scaled(own=(9, 7), C=16, K=13, dtype="bf16"), [F16]),
    (Scaled(layout="first", result="f32", **SHAPE), [F16]),
    (Scaled(halo={1: (1, 1)}, pad=((1, 1), (0, 0)), **SHAPE), [F16]),
    (Scaled(own=(7, 8), C=16, K=24, lhs=(2, 2), pad=((1, 2), (1, 2)), reverse=(True, True)), [F16]),
    (Scaled(own=(9, 7), C=64, K=96, groups=4), [F16]),
    (Scaled(dtype="f32", layout="first", N=2, own=(8, 8), C=16, K=40), [F32]),
    (Scaled(dtype="f32", layout="first", **SHAPE), [F32]),
    (Scaled(dtype="f32", **SHAPE), [F32]),
    (Scaled(dtype="f64", own=(9, 11), C=13, K=64, layout="first"), [F64]),
    (Scaled(N=2, own=(9, 11), C=16, K=16, groups=16), [""]),
    (Scaled(own=(9, 11), C=6, K=6, groups=3, dtype="f32"), [""]),  # plain
    (ScaledSpecial(**SHAPE), [F16]),
    (ScaledSpecial(dtype="f32", layout="first", **SHAPE), [F32]),
]


def check(case, program, launches):
    """The convolution is the last: no kernel stands behind it."""
    for name in [l["kernel"] for l in program["launches"]][-1:]:
        if not name.startswith("conv"):
            yield f"a kernel of its own: {name}"

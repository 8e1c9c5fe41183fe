# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A local convolution for the kernel tests: its operation as text, its operands,
and its result worked out with NumPy in f64.

Spatial dimensions are those of the extended input: low slab, shard, high slab.
Elements that no output may read are NaN."""
import itertools
import math
import os
import sys

import numpy as np


def bf16(x):
    """Rounded to bfloat16, as its bits."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype(np.uint16)


TYPES = {
    "f16": (lambda x: x.astype(np.float16), lambda x: x.astype(np.float64), 2.0**-11),
    "bf16": (bf16, lambda x: (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64), 2.0**-8),
    "f32": (lambda x: x.astype(np.float32), lambda x: x.astype(np.float64), 2.0**-24),
    "f64": (lambda x: x.astype(np.float64), lambda x: x, 2.0**-53),
}


class Conv:
    """N images of C features and spatial size `own`, K output features.

    halo:  {spatial dimension: (low, high)}, the extents of the slabs
    layout: features "last" or "first", or "batch": that of the gradient of a filter
           whose operands had features last
    pad:   per dimension (low, high) beyond the extended input, or beyond `valid`
    valid: per dimension (begin, end) of the elements that may be read"""

    def __init__(self, N=1, own=(8, 8), C=32, K=32, taps=(3, 3), stride=None, dilation=None, pad=None, halo=None,
                 valid=None, groups=1, reverse=None, dtype="f16", result=None, layout="last", bias=True, lhs=None):
        d = len(own)
        self.N, self.own, self.C, self.K, self.taps, self.groups = N, own, C, K, taps, groups
        self.stride, self.dilation = stride or (1,) * d, dilation or (1,) * d
        self.lhs, self.reverse = lhs or (1,) * d, reverse or (False,) * d
        self.halo, self.dtype, self.result, self.layout, self.bias = halo or {}, dtype, result or dtype, layout, bias
        self.extended = tuple(n + sum(self.halo.get(i, (0, 0))) for i, n in enumerate(own))
        self.valid = valid or tuple((0, n) for n in self.extended)
        self.pad = pad or tuple((t // 2, t // 2) for t in taps)
        self.offset = tuple(v[0] * l - p[0] for v, p, l in zip(self.valid, self.pad, self.lhs))
        self.out = tuple(((v[1] - v[0] - 1) * l + 1 + sum(p) - (t - 1) * r - 1) // s + 1 for v, p, t, s, r, l in
                         zip(self.valid, self.pad, taps, self.stride, self.dilation, self.lhs))

    def products(self):
        """Multiply-adds, padding included."""
        return self.N * math.prod(self.out) * self.K * self.C // self.groups * math.prod(self.taps)

    # ---- Operands, features last; `laid` puts them into the layout ----
    def laid(self, x):
        """From batch, space, features (filter: outputs, taps, inputs)."""
        return np.ascontiguousarray(np.transpose(x, self.order(x.ndim)))

    def order(self, rank):
        space = range(1, rank - 1)
        return {"last": (0, *space, rank - 1), "first": (0, rank - 1, *space),
                "batch": (rank - 1, *space, 0)}[self.layout]

    def make(self, seed=0):
        rng = np.random.default_rng(seed)
        down, up, _ = TYPES[self.dtype]
        x, w = self.values(rng.uniform(-1, 1, (self.N, *self.extended, self.C)).astype(np.float32),
                           rng.uniform(-1, 1, (self.K, *self.taps, self.C // self.groups)).astype(np.float32))
        x, w = down(x), down(w)
        bias = TYPES[self.result][0](rng.uniform(-1, 1, self.K).astype(np.float32))
        readable = np.zeros(self.extended, bool)
        readable[tuple(slice(*v) for v in self.valid)] = True
        exact = np.where(readable[None, ..., None], up(x), 0)
        x = np.where(readable[None, ..., None], x, down(np.array(np.nan)))
        self.expected = self.evaluate(exact, up(w)) + (TYPES[self.result][1](bias) if self.bias else 0)
        operands = [self.laid(p) for p in self.pieces(x)] + [self.laid(w)] + ([bias] if self.bias else [])
        return operands + [self.laid(down(np.full((self.N, *self.out, self.K), np.nan)) if self.result == self.dtype else
                                     TYPES[self.result][0](np.full((self.N, *self.out, self.K), np.nan)))]

    def values(self, x, w):
        """Input and filter, from numbers in [-1, 1)."""
        return x, w

    def pieces(self, x):
        """The shard and its slabs."""
        cut = sorted(self.halo)
        own = [slice(None)] * x.ndim
        for i in cut:
            own[1 + i] = slice(self.halo[i][0], self.halo[i][0] + self.own[i])
        pieces = [x[tuple(own)]]
        for at, i in enumerate(cut):
            for side in (slice(0, self.halo[i][0]), slice(self.halo[i][0] + self.own[i], None)):
                index = [slice(None)] * x.ndim
                for j in cut[at + 1:]:
                    index[1 + j] = own[1 + j]
                index[1 + i] = side
                pieces.append(x[tuple(index)])
        return pieces

    def evaluate(self, x, w):
        y = np.zeros((self.N, *self.out, self.K))
        c, k = self.C // self.groups, self.K // self.groups
        for tap in itertools.product(*(range(t) for t in self.taps)):
            part, reads = x, np.ones(self.out, bool)
            for i, t in enumerate(tap):
                position = np.arange(self.out[i]) * self.stride[i] + t * self.dilation[i] + self.offset[i]
                element = position // self.lhs[i]
                ok = (position % self.lhs[i] == 0) & (element >= self.valid[i][0]) & (element < self.valid[i][1])
                shape = [1] * len(self.out)
                shape[i] = -1
                reads = reads & ok.reshape(shape)
                part = part.take(np.clip(element, 0, self.extended[i] - 1), axis=1 + i)
            reads = reads[None, ..., None]
            at = tuple(s - 1 - t if r else t for s, t, r in zip(self.taps, tap, self.reverse))
            for g in range(self.groups):
                with np.errstate(invalid="ignore"):
                    product = part[..., g * c:(g + 1) * c] @ w[(slice(g * k, (g + 1) * k), *at)].T
                    y[..., g * k:(g + 1) * k] += np.where(reads, product, 0)
        return y

    def bound(self):
        """One rounding of the result, and of each f32 (f64) sum of terms below 1."""
        terms = self.C // self.groups * math.prod(self.taps)
        return TYPES[self.result][2] * np.abs(self.expected) + terms * (2.0**-50 if self.dtype == "f64" else 2.0**-22)

    def error(self, got):
        """None, or what is wrong."""
        got = TYPES[self.result][1](got)
        got = np.transpose(got, np.argsort(self.order(got.ndim)))
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(got - self.expected) <= self.bound())
        bad &= ~((got == self.expected) | np.isnan(got) & np.isnan(self.expected))
        if bad.any():
            i = tuple(np.argwhere(bad)[0])
            return f"{bad.sum()} of {bad.size} differ, first at {i}: got {got[i]} want {self.expected[i]}"

    # ---- The operation ----
    def text(self):
        d = len(self.own)
        order = self.order(d + 2)
        laid = lambda *items: [items[i] for i in order]
        shape = lambda n, space, c: "x".join(map(str, laid(n, *space, c)))
        memref = lambda dims, t: f"memref<{dims}x{t}>"
        x = [memref(shape(self.N, p.shape[1:-1], self.C), self.dtype)
             for p in self.pieces(np.empty((1, *self.extended, 1), np.int8))]
        w = memref(shape(self.K, self.taps, self.C // self.groups), self.dtype)
        y = memref(shape(self.N, self.out, self.K), self.result)
        bias = [memref(self.K, self.result)] if self.bias else []
        names = ["%x"] + [f"%h{i}" for i in range(len(x) - 1)] + ["%w"] + ["%b"] * len(bias) + ["%y"]
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, x + [w] + bias + [y]))
        halos = f"halos({', '.join(names[1:len(x)])} : {', '.join(x[1:])}) " if len(x) > 1 else ""
        dims = lambda a, b: "[" + ", ".join(laid(a, *map(str, range(d)), b)) + "]"
        array = lambda v: "array<i64: " + ", ".join(map(str, v)) + ">"
        flags = ", ".join("true" if r else "false" for r in self.reverse)
        cut = [order.index(1 + i) for i in sorted(self.halo)]
        where = f"at {list(self.offset)} valid {[v[0] for v in self.valid]} to {[v[1] for v in self.valid]}"
        return f"""func.func @conv({arguments}) {{
  ringconv.local_conv ins(%x, %w {'bias %b ' if bias else ''}: {', '.join([x[0], w] + bias)}) {halos}outs(%y : {y})
    dims {dims('b', 'f')} x {dims('o', 'i')} -> {dims('b', 'f')} {where}
    {{stride = {array(self.stride)}, lhs_dilate = {array(self.lhs)}, rhs_dilate = {array(self.dilation)},
     reverse = array<i1: {flags}>, halo_dims = {array(cut) if cut else 'array<i64>'},
     feature_group_outputs = {self.K // self.groups if self.groups > 1 else 0} : i64}}
  return
}}
"""

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of elementary functions in kernels, in units of the last place.

    math.py RINGCONV_RUN FOLDER

The reference is NumPy in 80-bit arithmetic (Python's math module for erf).
"""
import math
import os
import subprocess
import sys

import numpy as np

run, folder = sys.argv[1:]
N = 512
random = np.random.default_rng(0)


def spread(low, high):
    """Of both signs and of magnitudes from e^low to e^high."""
    return random.choice([-1, 1], N) * np.exp(random.uniform(low, high, N))


def erf(of):
    return lambda x: np.array([of(float(v)) for v in x], np.longdouble)


# name: (reference, arguments, largest error in f64, in f32)
FUNCTIONS = {
    "exp": (np.exp, spread(-10, 4), 1.5, 1.5), "exp2": (np.exp2, spread(-10, 4.5), 1.5, 1),
    "expm1": (np.expm1, spread(-10, 4), 2, 2.5), "log": (np.log, abs(spread(-30, 30)), 1, 1.5),
    "log2": (np.log2, abs(spread(-30, 30)), 1.5, 1), "log10": (np.log10, abs(spread(-30, 30)), 2, 1),
    "log1p": (np.log1p, abs(spread(-20, 20)), 3, 2.5), "sin": (np.sin, spread(-5, 8), 2, 1),
    "cos": (np.cos, spread(-5, 8), 2, 1), "tan": (np.tan, spread(-5, 3), 4, 1), "sinh": (np.sinh, spread(-10, 4), 3, 1),
    "cosh": (np.cosh, spread(-10, 4), 2, 1), "tanh": (np.tanh, spread(-10, 5), 3, 4),
    "asinh": (np.arcsinh, spread(-10, 5), 3, 1), "acosh": (np.arccosh, 1 + abs(spread(-5, 20)), 3, 1),
    "atanh": (np.arctanh, random.uniform(-0.99, 0.99, N), 4, 1), "asin": (np.arcsin, random.uniform(-1, 1, N), 4, 1),
    "acos": (np.arccos, random.uniform(-1, 1, N), 5, 1), "atan": (np.arctan, spread(-10, 5), 3, 1),
    "erf": (erf(math.erf), random.uniform(-5, 5, N), 3, 4), "erfc": (erf(math.erfc), random.uniform(-5, 5, N), 5, 1),
    "cbrt": (np.cbrt, spread(-10, 10), 1.5, 1), "rsqrt": (lambda x: 1 / np.sqrt(x), abs(spread(-10, 10)), 1.5, 1.5),
    "sqrt": (np.sqrt, abs(spread(-10, 10)), 0.51, 0.51),
}
SPECIAL = {"exp": [(math.inf, math.inf), (-math.inf, 0), (1000, math.inf), (-1000, 0), (math.nan, math.nan)],
           "log": [(0, -math.inf), (-1, math.nan), (math.inf, math.inf), (math.nan, math.nan)],
           "tanh": [(math.inf, 1), (-math.inf, -1), (0, 0), (math.nan, math.nan)],
           "sin": [(math.inf, math.nan), (0, 0)], "erf": [(math.inf, 1), (-40, -1), (math.nan, math.nan)],
           "cbrt": [(0, 0), (-math.inf, -math.inf), (-27, -3)], "atan": [(math.inf, math.pi / 2), (0, 0)]}


def program(element):
    names = list(FUNCTIONS)
    shape = f"tensor<{N}x{element}>"
    arguments = ", ".join(f"%x{i}: {shape}" for i in range(len(names)))
    lines = [f"  %y{i} = math.{name} %x{i} : {shape}" for i, name in enumerate(names)]
    results = ", ".join(f"%y{i}" for i in range(len(names)))
    types = ", ".join([shape] * len(names))
    return f"func.func @main({arguments}) -> ({types}) {{\n" + "\n".join(lines) + f"\n  return {results} : {types}\n}}\n"


def check(name, real, x, y, bound):
    reference = FUNCTIONS[name][0]
    special = SPECIAL.get(name, [])
    for i, (_, wanted) in enumerate(special):
        if not np.allclose(y[i], wanted, rtol=1e-6, equal_nan=True):
            return f"{name}({x[i]}) = {y[i]}, expected {wanted}"
    x, y = x[len(special):], y[len(special):]
    exact = reference(x.astype(np.longdouble))
    unit = np.spacing(np.maximum(abs(exact.astype(real)), np.finfo(real).tiny)).astype(np.longdouble)
    error = abs(y.astype(np.longdouble) - exact) / unit
    worst = int(np.argmax(error))
    if not error[worst] <= bound:
        return f"{name}({x[worst]}) = {y[worst]}, expected {exact[worst]}: {float(error[worst]):.2f} units"
    return None


failures = 0
for element, real, which in (("f64", np.float64, 2), ("f32", np.float32, 3)):
    path = os.path.join(folder, element)
    os.makedirs(path, exist_ok=True)
    open(os.path.join(path, "main.mlir"), "w").write(program(element))
    arguments = []
    for i, (name, entry) in enumerate(FUNCTIONS.items()):
        x = entry[1].astype(real)
        special = SPECIAL.get(name, [])
        x[:len(special)] = [argument for argument, _ in special]
        np.save(os.path.join(path, f"x{i}.npy"), x)
        arguments += [f"--input={i}=x{i}.npy", f"--output={i}=y{i}.npy"]
    subprocess.run([run, "main.mlir", "--target=cuda", "--simulate"] + arguments, check=True, cwd=path)
    for i, (name, entry) in enumerate(FUNCTIONS.items()):
        x, y = (np.load(os.path.join(path, f"{letter}{i}.npy")) for letter in "xy")
        why = check(name, real, x, y, entry[which])
        if why:
            print(f"{element}: {why}")
            failures += 1
print(f"{2 * len(FUNCTIONS)} functions, {failures} failures")
sys.exit(failures > 0)

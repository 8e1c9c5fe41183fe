#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of ringconv against other libraries, in one process on one core per rank.

    compare.py --bin BUILD/bin --env DIR --install          once: peers into an environment of their own
    compare.py --bin BUILD/bin --env DIR [--layers FILE-OR-FOLDER] [--only REGEX] [--peers onednn,...] [--json FILE]

Peers: onednn (plain layouts, filter packed outside of what is timed), onednn-own (all operands in layouts of its own,
reorders not timed), onnxruntime. Ratios are times of the peer over ours, larger is better for us: the median over rounds,
or with --best that of the best times, which other programs on the machine disturb less. The table ends with geometric
means per class. pictures.py draws the JSON file.
"""
import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

import layers

HERE = os.path.dirname(os.path.abspath(__file__))
# The last oneDNN on PyPI that computes on CPUs without SYCL.
PACKAGES = ["numpy", "matplotlib", "onnxruntime", "onnx", "onednn-cpu-gomp==2023.2.0",
            "onednn-devel-cpu-gomp==2023.2.0"]


def install(env):
    subprocess.run([sys.executable, "-m", "venv", env], check=True)
    subprocess.run([os.path.join(env, "bin", "pip"), "install", "--quiet", *PACKAGES], check=True)


def build_peers(env, folder):
    """Shared libraries of peers/, made with the environment's headers."""
    libraries = {}
    for name, link in (("repeat", ["-lpthread"]), ("onednn", ["-ldnnl"])):
        libraries[name] = os.path.join(folder, name + ".so")
        include, lib = (os.path.join(env, d) for d in ("include", "lib"))
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", os.path.join(HERE, "peers", name + ".c"), "-o",
                        libraries[name], "-isystem", include, "-L" + lib, "-Wl,-rpath," + os.path.abspath(lib), *link],
                       check=True)
    return libraries


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return {"cpu": model.group(1) if model else platform.processor(), "cores": os.cpu_count(),
            "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d", time.gmtime())}


def compile_layer(opts, layer, folder):
    """(library, seconds that the compiler took)"""
    source, library = (os.path.join(folder, name) for name in ("layer.mlir", "layer.so"))
    with open(source, "w", encoding="utf-8") as f:
        f.write(layers.program(layer, opts.ranks))
    begin = time.perf_counter()
    subprocess.run([os.path.join(opts.bin, "ringconv-compile"), source, "--emit=lib", "-o", library,
                    f"--target-cpu={opts.target_cpu}", *opts.flag], check=True)
    return library, time.perf_counter() - begin


def measure(opts, layer, libraries):
    with tempfile.TemporaryDirectory() as folder:
        library, seconds = compile_layer(opts, layer, folder)
        spec = {"layer": layer, "library": library, "repeat": libraries["repeat"], "onednn": libraries["onednn"],
                "peers": opts.peers, "ranks": opts.ranks, "rounds": opts.rounds, "slice_ms": opts.slice_ms,
                "cores": opts.cores}
        path = os.path.join(folder, "spec.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(spec, f)
        prefix = ["nice", "-n", str(opts.nice)] if opts.nice else []
        done = subprocess.run(prefix + [os.path.join(opts.env, "bin", "python"), os.path.join(HERE, "pair.py"), path],
                              env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False)
    if done.returncode:
        return {**layer, "error": done.stderr.strip().splitlines()[-1] if done.stderr else "no result"}
    return {**layer, **json.loads(done.stdout), "compile_ms": seconds * 1e3}


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def print_means(results, peers, ratio):
    for name in sorted({r["class"] for r in results}) + ["all"]:
        chosen = [r for r in results if "ours" in r and name in (r["class"], "all")]
        ratios = [[r["peers"][p][ratio] for r in chosen if p in r["peers"]] for p in peers]
        cells = [f"{mean(v):8.2f} (least {min(v):.2f})" if v else f"{'-':>8} {'':12}" for v in ratios]
        print(f"{name:44} {len(chosen):4} layers    {'  '.join(cells)}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True, help="folder of ringconv-compile")
    p.add_argument("--env", required=True, help="folder of the peers' Python environment")
    p.add_argument("--install", action="store_true", help="make the environment first (needs PyPI)")
    p.add_argument("--layers", default=os.path.join(HERE, "layers"))
    p.add_argument("--only", default="", help="regular expression on class and name")
    p.add_argument("--peers", default="onednn,onednn-own,onnxruntime", type=lambda s: s.split(",") if s else [])
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--cores", default="0", type=lambda s: [int(c) for c in s.split(",")], help="of rank 0, 1, ...")
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("--slice-ms", type=float, default=5, help="time of one side in one round")
    p.add_argument("--nice", type=int, default=0, help="priority of what is timed (below 0: as root)")
    p.add_argument("--target-cpu", default="native")
    p.add_argument("--flag", action="append", default=[], help="another flag of ringconv-compile")
    p.add_argument("--best", action="store_true", help="ratios of the best times")
    p.add_argument("--json", help="file for the results")
    opts = p.parse_args()
    if opts.install:
        install(opts.env)
    results, ratio = [], "best_ratio" if opts.best else "ratio"
    print(f"{'layer':44} {'GFLOP/s':>8} " + "".join(f"{name:>13}" for name in opts.peers))
    with tempfile.TemporaryDirectory() as folder:
        libraries = build_peers(opts.env, folder)
        for layer in layers.load(opts.layers):
            title = f"{layer['class']}: {layer['name']}"
            if not re.search(opts.only, title):
                continue
            r = measure(opts, layer, libraries)
            results.append(r)
            if "error" in r:
                print(f"{title:44} {r['error']}", flush=True)
                continue
            cells = [f"{r['peers'][n][ratio]:13.2f}" if n in r["peers"] else f"{'-':>13}" for n in opts.peers]
            print(f"{title:44} {r['ours']['gflops']:8.1f} " + "".join(cells), flush=True)
    print_means(results, opts.peers, ratio)
    if opts.json:
        with open(opts.json, "w", encoding="utf-8") as f:
            json.dump({"machine": machine(), "ranks": opts.ranks, "layers": results}, f, indent=1)


if __name__ == "__main__":
    main()

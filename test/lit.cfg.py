# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests of this folder.

Parameters (lit --param NAME=VALUE):
  level=quick|default|long   which tests run; see "Levels" below
  roundtrip=1                every ringconv-opt also checks that what it read
                             survives printing and parsing, as text and bytecode
"""
import glob
import os
import shutil
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "ringconv"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Runtime", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ringconv_build_root, "test")

bin_dir = os.path.join(config.ringconv_build_root, "bin")
lib_dir = os.path.join(config.ringconv_build_root, "lib")

# ---- Tools: names in RUN lines become absolute paths ----
llvm_config.with_system_environment(["HOME", "TMP", "TEMP", "TMPDIR", "SLURM_CONF"])
roundtrip = lit_config.params.get("roundtrip", "0") != "0"
tools = [
    ToolSubst("ringconv-opt", extra_args=["--verify-roundtrip"] if roundtrip else [], unresolved="ignore"),
    ToolSubst("ringconv-compile", unresolved="ignore"),
    ToolSubst("ringconv-run", unresolved="ignore"),
    ToolSubst("ringconv-draw", unresolved="ignore"),
    ToolSubst("ringconv-gpusim", unresolved="ignore"),
    ToolSubst("ringconv-lsp-server", unresolved="ignore"),
    ToolSubst("ringconv-reduce", unresolved="ignore"),
    ToolSubst("FileCheck", unresolved="fatal"),
    ToolSubst("not", unresolved="fatal"),
    ToolSubst("split-file", unresolved="fatal"),
    ToolSubst("mlir-opt", unresolved="ignore"),
    ToolSubst("mlir-translate", unresolved="ignore"),
    ToolSubst("llvm-objdump", unresolved="ignore"),
    ToolSubst("llvm-nm", unresolved="ignore"),
]
tools += [ToolSubst(name, unresolved="ignore") for name in config.ringconv_test_programs if name]
llvm_config.add_tool_substitutions(tools, [bin_dir, config.llvm_tools_dir])
config.substitutions += [
    ("%python", config.ringconv_python),
    ("%cc", config.ringconv_cc),
    ("%cxx", config.ringconv_cxx),
    ("%mlir_dir", config.ringconv_mlir_dir),
    ("%llvm_tools", config.llvm_tools_dir),
    ("%ringconv_src", config.ringconv_source_root),
    ("%ringconv_lib", lib_dir),
    ("%llvm_bin", config.llvm_tools_dir),
    ("%ringconv_include", os.path.join(config.ringconv_source_root, "include")),
    ("%ringconv_plugin", os.path.join(lib_dir, "RingConvPlugin.so")),
]

# ---- Levels ----
# Every test runs at the default level, but for those that ask for another:
#   REQUIRES: level-default    not in the quick suite (it takes seconds)
#   REQUIRES: level-long       in the long suite only (it takes minutes)
level = lit_config.params.get("level", "default")
if level not in ("quick", "default", "long"):
    lit_config.fatal(f"level={level}, expected quick, default or long")
if level != "quick":
    config.available_features.add("level-default")
if level == "long":
    config.available_features.add("level-long")


# ---- What this machine has ----
def left_out(text):
    print("left out: " + text, file=sys.stderr)


def answers(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def find_launcher(implementation, mark):
    """Debian names launchers with a suffix; elsewhere mpirun says whose it is."""
    for name in (f"mpirun.{implementation}", "mpirun", "mpiexec"):
        path = shutil.which(name)
        if path and mark in (answers(path, "--version") or ""):
            return path
    return None


for implementation, mark, flags in (
    ("openmpi", "Open MPI", ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])),
    ("mpich", "HYDRA", []),
):
    launcher = find_launcher(implementation, mark)
    library = os.path.join(lib_dir, f"libringconv_mpi_{implementation}.so")
    if launcher and os.path.exists(library):
        config.substitutions.append((f"%mpirun_{implementation}", " ".join([launcher] + flags)))
        if level != "quick":
            config.available_features.add(f"mpi-{implementation}")
    elif level != "quick":
        left_out(f"tests under {implementation} (no launcher or no {os.path.basename(library)})")

if config.ringconv_cuda:
    config.available_features.add("cuda")
else:
    left_out("tests of the target cuda (RINGCONV_ENABLE_CUDA is off)")
if shutil.which("srun") and "UP" in (answers("scontrol", "ping") or ""):
    if level != "quick":
        config.available_features.add("srun")
elif level != "quick":
    left_out("tests under srun (no controller answers; scripts/slurm.sh starts one)")

# Tried in a namespace that ends with the command.
cable = "ip netns list && ip link add ringconv-a type veth peer name ringconv-b"
if answers("unshare", "--net", "sh", "-c", cable) is not None:
    if level != "quick":
        config.available_features.add("network-namespaces")
elif level != "quick":
    left_out("tests of two nodes (network namespaces cannot be made here)")

cuda = [os.path.join(os.environ[v], "bin") for v in ("CUDA_HOME", "CUDA_PATH") if v in os.environ]
cuda += ["/usr/local/cuda/bin"]
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=os.pathsep.join(cuda))
if ptxas:
    config.available_features.add("cuda-toolkit")
    config.substitutions.append(("%ptxas", ptxas))
else:
    left_out("tests with NVIDIA's toolkit (no ptxas)")

for module, feature in (("numpy", "numpy"), ("PIL", "pillow")):
    if answers(config.ringconv_python, "-c", f"import {module}") is not None:
        config.available_features.add(feature)
    else:
        left_out(f"tests with {feature} ({config.ringconv_python} has none)")
# Whole networks: scripts/networks.sh makes an environment for them.
networks = os.path.join(config.ringconv_build_root, "networks")
networks_python = os.path.join(networks, "venv", "bin", "python")
for python in (networks_python, config.ringconv_python):
    if answers(python, "-c", "import onnx, onnxruntime") is not None:
        config.available_features.add("onnx")
        config.substitutions.append(("%onnx_python", f"env PYTHONPATH={config.ringconv_source_root}/python {python}"))
        break
else:
    left_out("tests with onnx and onnxruntime (scripts/networks.sh fetches them)")
config.substitutions.append(("%networks", networks))
config.environment["CI"] = os.environ.get("CI", "")
for tool, feature in (("ringconv-compile", "ringconv-compile"), ("ringconv-gpusim", "gpusim"),
                      ("ringconv-lsp-server", "lsp-server"), ("ringconv-reduce", "reduce")):
    if os.path.exists(os.path.join(bin_dir, tool)):
        config.available_features.add(feature)
if os.path.exists(os.path.join(lib_dir, "RingConvPlugin.so")):
    config.available_features.add("plugin")
if os.path.exists(os.path.join(lib_dir, "libRingConv-C.so")):
    config.available_features.add("capi")
if glob.glob(os.path.join(config.ringconv_build_root, "python", "ringconv", "_ringconv.*.so")):
    config.available_features.add("python-package")

# Tests that start several processes, or simulate a device, run one at a time:
# their folders name the group (lit.local.cfg).
lit_config.parallelism_groups["serial"] = 1

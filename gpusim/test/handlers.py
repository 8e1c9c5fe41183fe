# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every handler of an opcode is in some kernel that opcodes.py or hopper.py ran:
those they loaded lie in GPUSIM_KEEP_PTX. Handlers are the functions of one signature."""
import os
import shutil
import subprocess

from gpusim import PLAIN_ENV, Suite

suite = Suite()
SIGNATURE = "(gpusim::Warp&, gpusim::Inst const&)"
NO_HANDLERS = {"gpusim::wholeWarp" + SIGNATURE}
IN_FAULTS_PY = {"(anonymous namespace)::" + n + SIGNATURE for n in ("trap", "assertFail")}


def symbols(program, nm):
    """Addresses of functions, with their demangled names."""
    for line in subprocess.run([nm, "-C", program], capture_output=True, text=True, check=True, env=PLAIN_ENV).stdout.splitlines():
        address, kind, name = line[:16], line[17:18], line[19:]
        if kind in "tTW" and address.strip():
            yield int(address, 16), name


def main():
    nm = shutil.which("nm") or shutil.which("llvm-nm-22") or shutil.which("llvm-nm")
    tool, kept = os.environ["GPUSIM_HANDLERS"], os.environ.get("GPUSIM_KEEP_PTX")
    if not nm or not kept:
        print("skipped: no nm, or the kernels of opcodes.py and hopper.py were not kept")
        return
    table = list(symbols(tool, nm))
    base = [a for a, name in table if name.startswith("gpusim::loadModule(")][0]
    run = subprocess.run([tool, kept], capture_output=True, text=True, check=True)
    used = {base + int(offset) for offset in run.stdout.split()}
    handlers = {a: name for a, name in table if name.endswith(SIGNATURE) and
                "(*" not in name and name not in NO_HANDLERS}
    suite.check("the table of symbols fits", len(used) > 100 and used <= set(handlers), f"{used - set(handlers)}")
    for address, name in sorted(handlers.items(), key=lambda item: item[1]):
        suite.check(f"no test of {name}", address in used or name in IN_FAULTS_PY)


main()
suite.finish()

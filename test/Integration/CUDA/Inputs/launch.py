# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program as torchrun or srun do: `launch.py torchrun|srun N [WORD...] -- COMMAND`.

  nodes     the first half of the ranks runs in one network namespace, the others in
            another, with a cable between them
  kill      rank 1 is killed once all ranks have NCCL loaded
  stop      rank 1 is stopped then, and continued when all others have ended
  absent    rank 1 never comes: it sleeps instead
  NAME=TEXT that stands in the environment of rank 1 alone
  --FLAG    a further flag of rank 1 alone
  agent     somebody else listens at MASTER_PORT already
  DELAY     a number: seconds to wait before the fault (0.5)

Prints the exit code of each rank and its output. A rank that has not ended two
minutes after the fault hangs: that is printed, and the rank killed.
"""
import os
import signal
import socket
import subprocess
import sys
import time

how, number = sys.argv[1], int(sys.argv[2])
split = sys.argv.index("--")
words, command = sys.argv[3:split], sys.argv[split + 1:]
fault = next((w for w in words if w in ("kill", "stop", "absent")), None)
delay = next((float(w) for w in words if w.replace(".", "").isdigit()), 0.5)
HANGS = 120


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Nodes:
    """Two network namespaces, 10.87.0.1 and 10.87.0.2."""

    def __init__(self):
        self.names = [f"ringconv-{os.getpid()}-{n}" for n in (1, 2)]
        ends = [f"rc{os.getpid()}{n}" for n in "ab"]
        for name in self.names:
            self.ip("netns", "add", name)
        self.ip("link", "add", ends[0], "netns", self.names[0], "type", "veth", "peer", "name", ends[1], "netns",
                self.names[1])
        for n, (name, end) in enumerate(zip(self.names, ends)):
            self.ip("-n", name, "address", "add", f"10.87.0.{n + 1}/24", "dev", end)
            self.ip("-n", name, "link", "set", end, "up")
            self.ip("-n", name, "link", "set", "lo", "up")

    def ip(self, *arguments):
        subprocess.run(("ip",) + arguments, check=True)

    def wrap(self, rank):
        return ["ip", "netns", "exec", self.names[2 * rank // number]]

    def remove(self):
        for name in self.names:
            subprocess.run(("ip", "netns", "delete", name))


nodes = Nodes() if "nodes" in words else None
port = free_port()
if "agent" in words:
    agent = socket.create_server(("", port))
host = "10.87.0.1" if nodes else "127.0.0.1"


def environment(rank):
    local = rank % ((number + 1) // 2) if nodes else rank
    if how == "torchrun":
        return {"TORCHELASTIC_RUN_ID": "run", "RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": number,
                "MASTER_ADDR": host, "MASTER_PORT": port}
    return {"SLURM_PROCID": rank, "SLURM_LOCALID": local, "SLURM_STEP_NUM_TASKS": number,
            "SLURM_STEP_NODELIST": host, "SLURM_JOB_ID": port}


def start(rank):
    what = ["sleep", "1000"] if fault == "absent" and rank == 1 else command
    env = dict(os.environ, **{k: str(v) for k, v in environment(rank).items()})
    if rank == 1:
        what = what + [w for w in words if w.startswith("--")]
        env.update(w.split("=", 1) for w in words if "=" in w and not w.startswith("--"))
    return subprocess.Popen((nodes.wrap(rank) if nodes else []) + what, env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def has_nccl(process):
    try:
        return "libnccl" in open(f"/proc/{process.pid}/maps").read()
    except OSError:
        return True  # it has ended already


def finish(rank, process, limit):
    try:
        output = process.communicate(timeout=limit)[0]
        ended = f"exit {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        output, ended = process.communicate()[0], "hangs"
    return f"rank {rank}: {ended}\n" + "".join(
        line + "\n" for line in output.splitlines() if not line.startswith("gpusim:"))


def run():
    processes = [start(rank) for rank in range(number)]
    limit = HANGS if fault else None
    results = {}
    if fault in ("kill", "stop"):
        while not all(has_nccl(p) for p in processes):
            time.sleep(0.05)
        time.sleep(delay)
        processes[1].send_signal(signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
    for rank, process in enumerate(processes):
        if rank != 1 or not fault:
            results[rank] = finish(rank, process, limit)
    if fault == "stop":
        processes[1].send_signal(signal.SIGCONT)
    elif fault == "absent":
        processes[1].terminate()
    if fault:
        results[1] = finish(1, processes[1], limit)
    print("".join(results[rank] for rank in sorted(results)), end="")


try:
    run()
finally:
    if nodes:
        nodes.remove()

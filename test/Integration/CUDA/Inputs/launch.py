# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program as torchrun or srun do: `launch.py torchrun|srun N [kill] -- COMMAND`.

With `kill` rank 1 is killed once all ranks have NCCL loaded; then all others
must end with an error of their own.
"""
import os
import signal
import socket
import subprocess
import sys
import time

how, number = sys.argv[1], int(sys.argv[2])
split = sys.argv.index("--")
kill, command = "kill" in sys.argv[3:split], sys.argv[split + 1:]
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]


def environment(rank):
    if how == "torchrun":
        return {"TORCHELASTIC_RUN_ID": "run", "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": number,
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_STEP_NUM_TASKS": number,
            "SLURM_STEP_NODELIST": "localhost", "SLURM_JOB_ID": port}


processes = []
for rank in range(number):
    env = dict(os.environ, **{k: str(v) for k, v in environment(rank).items()})
    processes.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
if kill:
    while not all("libnccl" in open(f"/proc/{p.pid}/maps").read() for p in processes):
        time.sleep(0.05)
    time.sleep(0.5)
    processes[1].send_signal(signal.SIGKILL)
for rank, process in enumerate(processes):
    output = process.communicate()[0]
    print(f"rank {rank}: exit {process.returncode}")
    print("".join(line + "\n" for line in output.splitlines() if not line.startswith("gpusim:")), end="")

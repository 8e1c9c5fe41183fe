#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A Slurm of this machine alone, for tests of programs under srun:
#   scripts/slurm.sh start FOLDER    configuration, keys, logs and state lie there
#   SLURM_CONF=FOLDER/slurm.conf srun -n 4 COMMAND
#   scripts/slurm.sh stop FOLDER
# Needs root, and the packages slurm-wlm and munge.
set -eu
[ $# = 2 ] || { sed -n '4,8p' "$0"; exit 1; }
mkdir -p "$2"
dir=$(cd "$2" && pwd)

stop() {
  for name in slurmd slurmctld munged; do
    [ -f "$dir/$name.pid" ] || continue
    pid=$(cat "$dir/$name.pid")
    while kill "$pid" 2> /dev/null; do sleep 0.2; done
    rm -f "$dir/$name.pid"
  done
}

configure() {
  host=$(hostname -s)
  dd if=/dev/urandom of="$dir/munge.key" bs=1024 count=1 2> /dev/null
  chmod 400 "$dir/munge.key"
  mkdir -p "$dir/state" "$dir/spool"
  cat > "$dir/slurm.conf" << END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8 MaxTime=INFINITE State=UP
END
}

start() {
  stop
  configure
  munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munged.seed"
  SLURM_CONF="$dir/slurm.conf" slurmctld -f "$dir/slurm.conf"
  SLURM_CONF="$dir/slurm.conf" slurmd -f "$dir/slurm.conf"
  for _ in $(seq 100); do
    SLURM_CONF="$dir/slurm.conf" sinfo --noheader --format=%t 2> /dev/null | grep -q idle && exit 0
    sleep 0.2
  done
  echo "slurm.sh: the node does not become idle, see $dir/slurmctld.log" >&2
  exit 1
}

"$1"

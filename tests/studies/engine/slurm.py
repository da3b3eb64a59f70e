"""A SLURM of one node in a folder of its own: installed where root may, started, ended."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["slurm"]

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
CONFIGURATION = """ClusterName=hwgen
SlurmctldHost={host}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=5
NodeName={host} CPUs=2 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=24:00:00 State=UP
PartitionName=short Nodes={host} Default=NO MaxTime=00:02:00 State=UP
"""


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Yields the variables under which its programs find it; skips the test, with the reason, where there is none."""
    _install()
    host = socket.gethostname().partition(".")[0]
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(64))
    key.chmod(0o400)
    file = folder / "slurm.conf"
    file.write_text(CONFIGURATION.format(host=host, folder=folder, ports=_free_ports(2)), encoding="utf-8")
    variables = {"SLURM_CONF": str(file)}
    munge = [f"--{option}={folder / 'munge' / name}" for option, name in
             (("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"),
              ("seed-file", "seed"))]  # fmt: skip
    commands = (
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D", "-c"],
        ["slurmd", "-D", "-N", host],
    )
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{command[0]}.log").open("wb") as log:
                started.append(subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log))
            time.sleep(1)
        _await_node(variables, folder)
        yield variables
    finally:
        for _ in range(60):  # what starts jobs is to end after them
            subprocess.run(["scancel", "--me"], env={**os.environ, **variables}, check=False, capture_output=True)
            left = subprocess.run(
                ["squeue", "--me", "-h"], env={**os.environ, **variables}, check=False, capture_output=True
            )
            if not left.stdout:
                break
            time.sleep(0.5)
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def _install() -> None:
    if all(shutil.which(program) for program in PROGRAMS):
        return
    if os.geteuid() or shutil.which("apt-get") is None:
        pytest.skip("no SLURM: it takes root and apt-get to install slurm-wlm and munge")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "slurm-wlm", "munge"]):
        done = subprocess.run(["apt-get", *arguments], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no SLURM: apt-get {arguments[0]}: {done.stderr.strip().splitlines()[-1:]}")


def _await_node(variables: dict[str, str], folder: Path) -> None:
    for _ in range(60):
        command = ["sinfo", "-h", "-p", "main", "-o", "%t"]
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
        if done.stdout.strip() in ("idle", "mix"):
            return
        time.sleep(0.5)
    logs = [file.read_text(encoding="utf-8", errors="replace")[-300:] for file in folder.glob("*.log")]
    raise AssertionError(f"SLURM does not start: {logs}")


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()

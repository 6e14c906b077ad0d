# SPDX-License-Identifier: GPL-2.0-only
"""systemctl and its view of the service, for tests in a guest that systemd manages."""
import os
import pathlib
import re
import subprocess
import time

OUT = pathlib.Path(os.environ["VM_OUT"])
URL = "http://127.0.0.1:9834"
CONFIG = pathlib.Path("/etc/blklat/blklat.conf")
DEFAULTS = pathlib.Path("/etc/default/blklat")
DROP_IN = pathlib.Path("/etc/systemd/system/blklat.service.d/test.conf")


def run(*argv, fails=False):
    r = subprocess.run([str(a) for a in argv], capture_output=True, text=True, errors="replace", timeout=240)
    assert fails or r.returncode == 0, f"{' '.join(map(str, argv))}: {r.stdout}{r.stderr}{log() if argv[0] == 'systemctl' else ''}"
    return r.stdout


def wait_for(condition, what, seconds=180):
    """Returns the condition's value once it is true."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"no {what} within {seconds} s\n{log()}"
        time.sleep(0.2)
    return value


def show(*keys):
    """Properties of the service, as text."""
    lines = run("systemctl", "show", "blklat.service", *(f"-p{k}" for k in keys)).splitlines()
    found = dict(line.split("=", 1) for line in lines)
    return found[keys[0]] if len(keys) == 1 else [found[k] for k in keys]


def log():
    return run("journalctl", "--no-pager", "-q", "-o", "cat", "-u", "blklat.service")


def main_pid():
    return int(show("MainPID"))


def get(path, *options):
    """Body of an answer; any status but success is an error."""
    return run("curl", "-sS", "--fail", "--max-time", "30", *options, URL + path)


def samples(text):
    """{(name, labels as a frozenset)}: value} of an exposition."""
    found = {}
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*?)\})? (\S+)$", text, re.M):
        found[name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))] = float(value)
    return found


def ios(device, op):
    """IOs counted since the service started; 0 when there is no such series."""
    wanted = {("device", device), ("op", op), ("stage", "device")}
    return next((int(v) for (name, labels), v in samples(get("/metrics")).items()
                 if name == "blklat_io_latency_seconds_count" and labels == wanted), 0)

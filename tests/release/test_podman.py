# SPDX-License-Identifier: GPL-2.0-only
"""
The image and the DaemonSet in a container engine: in a guest, Debian 13's podman builds the one and plays the other, with its own
default profile of system calls, and the service counts the guest's IOs.
"""
import json
import os
import pathlib
import re
import shutil
import sys

import debian13
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import chroot  # noqa: E402
from kernels import KERNELS, fetch  # noqa: E402
from machine import Machine  # noqa: E402

ARCHIVE = pathlib.Path(os.environ["RELEASE_ARCHIVE"])
CONTAINERFILE = ROOT / "packaging/container/Containerfile"
DAEMONSET = ROOT / "packaging/kubernetes/daemonset.yaml"
KERNEL = KERNELS["6.12"]
PACKAGES = ("podman", "crun", "catatonit", "netavark", "curl", "kmod", "procps", "util-linux", "xz-utils")
TIMEOUT_S = 900
READS, BLOCK = 2000, 4096
CAPABILITIES = 6, 7, 38, 39  # SETGID, SETUID, PERFMON, BPF in linux/capability.h
SCRIPT = r"""
set -e
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /var/lib/containers
# Layers of files that are not on one themselves.
mount -t tmpfs tmpfs /var/lib/containers
modprobe null_blk nr_devices=1 gb=1

# Podman unpacks xz by itself, for minutes in an emulator.
xz -dc $ARCHIVE >plain
mv plain $ARCHIVE
podman build -q -t $IMAGE -f Containerfile .
podman kube play --network none daemonset.yaml
name=$(podman ps -a --filter ancestor=$IMAGE --format '{{.Names}}')
pid=$(podman inspect -f '{{.State.Pid}}' $name)

# The pod has a network of its own, with nothing but lo.
scrape() { nsenter -t $pid -n curl -sf http://127.0.0.1:9834/$1; }
wait_for() {
	for n in $(seq 60); do
		scrape metrics | grep -q "$1" && return
		sleep 1
	done
	podman logs $name
	return 1
}
wait_for 'device="nullb0"'
cp /proc/$pid/status status-of-program
cp /proc/$pid/mountinfo mounts
dd if=/dev/nullb0 of=/dev/null iflag=direct bs=$BLOCK count=$READS status=none
wait_for 'latency_seconds_count{device="nullb0",op="read".*} [1-9]'
sleep 3
scrape metrics >metrics
scrape healthz >healthz
podman kube down daemonset.yaml

podman run --rm --network none --read-only --cap-drop ALL --cap-add BPF,PERFMON $IMAGE \
	live --dev nullb0 --interval 0.2 --count 2 --format json >live.json
podman run --rm --network none --cap-drop ALL --cap-add BPF,PERFMON,SETUID,SETGID --security-opt seccomp=older.json $IMAGE \
	>older 2>&1 || echo "status $?" >>older
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What the guest left in its folder."""
    root = chroot.make(debian13.SUITE, PACKAGES)
    out = tmp_path_factory.mktemp("podman")
    for path in (ARCHIVE, CONTAINERFILE, DAEMONSET):
        shutil.copy(path, out)
    profile = json.loads((root / "usr/share/containers/seccomp.json").read_text())
    profile["syscalls"] = [rule for rule in profile["syscalls"] if "CAP_BPF" not in rule.get("includes", {}).get("caps", ())]
    (out / "older.json").write_text(json.dumps(profile))
    fetch([KERNEL])
    image = list(yaml.safe_load_all(DAEMONSET.read_text()))[-1]["spec"]["template"]["spec"]["containers"][0]["image"]
    environment = {"ARCHIVE": ARCHIVE.name, "IMAGE": image, "READS": READS, "BLOCK": BLOCK}
    result = Machine(KERNEL, root=root, memory="2G").run([SCRIPT], TIMEOUT_S, environment, out=out)
    assert (result.status, result.alarms()) == (0, []), result.output
    return out


def test_it_counts(played):
    """Every read, and nothing went wrong."""
    metrics = (played / "metrics").read_text()
    assert re.findall(r'^blklat_io_latency_seconds_count{device="nullb0",op="read",stage="device"} (\d+)$', metrics, re.M) == [str(READS)]
    assert set(re.findall(r'^blklat_io_lost_total{device="nullb0",.*} (\d+)$', metrics, re.M)) == {"0"}
    assert (played / "healthz").read_text() == "ok\n"


def test_confined_by_the_engine(played):
    """The DaemonSet's four capabilities, podman's own filter of system calls before the program's, and a root that is read-only."""
    status = dict(re.findall(r"^(\w+):\s+(.*)$", (played / "status-of-program").read_text(), re.M))
    assert int(status["CapBnd"], 16) == sum(1 << bit for bit in CAPABILITIES)
    assert status["Seccomp_filters"] == "2"
    mounts = {line.split()[4]: line.split()[5].split(",") for line in (played / "mounts").read_text().splitlines()}
    assert "ro" in mounts["/"] and "ro" in mounts["/sys/fs/cgroup"]


def test_a_command(played):
    lines = [json.loads(line) for line in (played / "live.json").read_text().splitlines()]
    assert [(line["device"], line["accounting"]["lost"]) for line in lines] == [("nullb0", 0)] * 2


def test_a_profile_of_an_older_engine(played):
    assert (played / "older").read_text() == (
        "blklat serve: not permitted to call bpf(): a seccomp filter refuses it in spite of the capabilities, as the default profile of an older "
        "container engine does: give the container another profile\nstatus 1\n")

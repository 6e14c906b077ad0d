# SPDX-License-Identifier: GPL-2.0-only
"""A cgroup's limit holds IOs back before any stage begins: which is said, since it can't be seen."""
import contextlib
import json
import os
import pathlib
import subprocess

from guest import null_blk
from load import BLKLAT, Blklat, fio_argv

ROOT = pathlib.Path("/sys/fs/cgroup")
WIOPS = 20
IOS = 60


@contextlib.contextmanager
def limited(device):
    """A cgroup that may write so many times a second to the device."""
    subprocess.run(["mount", "-t", "cgroup2", "none", ROOT], check=True)
    try:
        (ROOT / "cgroup.subtree_control").write_text("+io")
        group = ROOT / "slow"
        group.mkdir()
        number = (device.sysfs / "dev").read_text().strip()
        (group / "io.max").write_text(f"{number} wiops={WIOPS}")
        yield group
        group.rmdir()
    finally:
        subprocess.run(["umount", ROOT], check=True)


def test_limit(tmp_path):
    with null_blk() as (device,), limited(device) as group:
        said = f"cgroup /slow has io.max wiops={WIOPS}"
        [listed] = [d for d in json.loads(subprocess.check_output([BLKLAT, "list", "--format", "json"]))["devices"] if d["name"] == device.name]
        assert listed["limits"] == [{"cgroup": "/slow", "io_max": f"wiops={WIOPS}"}]
        with Blklat(device, stage="total") as b:
            argv = fio_argv(device, rw="randwrite", number_ios=IOS)
            done = subprocess.run(argv, capture_output=True, text=True, check=True,
                                  preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
            b.next(device, "total", n=2)
        assert said in b.stderr
        write = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]["write"]
        assert write["total_ios"] == IOS == b.total("ios", "write", device, "total")
        # fio waited for the limit, and no IO that is counted did.
        assert write["runtime"] >= 0.5 * 1000 * IOS / WIOPS
        assert max(o["latency_ns"]["max"] for l in b.of(device, "total") for o in l["ops"]) < 0.5e9 / WIOPS

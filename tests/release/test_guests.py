# SPDX-License-Identifier: GPL-2.0-only
"""
The static program in guests, on a stock kernel of each series: the tests of both engines, and a root with nothing else
but busybox.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("host", "vm")]

import matrix  # noqa: E402
from kernels import KERNELS, TOOLS, fetch, program  # noqa: E402
from load import Blklat, assert_all_counted  # noqa: E402
from machine import Machine  # noqa: E402

ARCHIVE = pathlib.Path(os.environ["RELEASE_ARCHIVE"])
SERIES = "5.10", "6.1", "6.12", "7.2"
# Requests, bios, slow IOs, the service.
CHOSEN = "test_traffic and (immediate or zram) or test_bad_sector or test_serving and test_counts"
TIMEOUT_S = 900
READS, WRITES, BLOCK = 2000, 1000, 4096
APPLETS = "cat", "dd", "grep", "insmod", "kill", "modprobe", "sh", "sleep"
# A process in the background ignores SIGINT where a shell has no job control.
COMMANDS = f"""\
set -e
insmod ./blklat.ko
modprobe null_blk nr_devices=1 gb=1 irqmode=2 completion_nsec=20000
for engine in bpf kmod; do
	blklat live nullb0 --engine $engine --stage device,total --format json --bins --interval 0.5 >$engine.json 2>$engine.stderr &
	eval $engine=$!
done
until grep -q nullb0 bpf.json && grep -q nullb0 kmod.json; do kill -0 $bpf $kmod; sleep 0.1; done
dd if=/dev/nullb0 of=/dev/null iflag=direct bs={BLOCK} count={READS} status=none
dd if=/dev/zero of=/dev/nullb0 oflag=direct bs={BLOCK} count={WRITES} status=none
sleep 2
kill $bpf $kmod
wait $bpf
wait $kmod
"""


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """The program in the archive."""
    folder = tmp_path_factory.mktemp("archive")
    subprocess.run(["tar", "-xf", ARCHIVE, "-C", folder, "--strip-components=1"], check=True)
    return folder / "sbin/blklat"


@pytest.fixture(scope="module")
def root(static, tmp_path_factory):
    """A root without libraries and without names of users."""
    folder = tmp_path_factory.mktemp("root")
    for name in ("proc", "sys", "dev", "bin", "sbin", "lib"):
        (folder / name).mkdir()
    os.link(static, folder / "sbin/blklat")
    (folder / "bin/busybox").write_bytes(pathlib.Path(program(TOOLS, "busybox")[0]).read_bytes())
    (folder / "bin/busybox").chmod(0o755)
    for name in APPLETS:
        (folder / "bin" / name).symlink_to("busybox")
    return folder


class Seen(Blklat):
    """What blklat had printed when it ended."""

    def __init__(self, folder, engine):  # pylint: disable=super-init-not-called
        assert (folder / f"{engine}.stderr").read_text() == ""
        self.lines = [json.loads(line) for line in (folder / f"{engine}.json").read_text().splitlines()]


@pytest.mark.parametrize("name", SERIES)
def test_nothing_else(name, root, tmp_path):
    """Both engines count each of a known number of IOs."""
    kernel = KERNELS[name]
    fetch([kernel])
    (tmp_path / "blklat.ko").write_bytes(matrix.build_kmod(kernel).read_bytes())
    result = Machine(kernel, root=root).run([COMMANDS], TIMEOUT_S, out=tmp_path)
    assert (result.status, result.output, result.alarms()) == (0, "", []), result.tail()
    for engine in "bpf", "kmod":
        seen = Seen(tmp_path, engine)
        for stage in "device", "total":
            a = assert_all_counted(seen, "nullb0", stage)
            assert (a["started"], a["lost"]) == (READS + WRITES, 0)
            assert seen.ops("nullb0", stage) == {"read": READS, "write": WRITES}
            assert seen.total("bytes", None, "nullb0", stage) == (READS + WRITES) * BLOCK
        assert seen.accounting("nullb0", "device")["kernel_ios"] == READS + WRITES


@pytest.mark.parametrize("name", SERIES)
def test_engines(name, static):
    done = subprocess.run([ROOT / "tests/vm/vm.py", "test", name, "-k", CHOSEN, "--program", static, "--timeout", str(TIMEOUT_S)],
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout

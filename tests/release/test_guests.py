# SPDX-License-Identifier: GPL-2.0-only
"""
The static programs in guests, on a stock kernel of each series and on one of arm64, with large pages: the tests of both
engines, and a root with nothing else but busybox.
"""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("host", "vm")]

import matrix  # noqa: E402
from kernels import KERNELS, fetch  # noqa: E402
from load import Blklat, assert_all_counted  # noqa: E402
from machine import Machine  # noqa: E402

ARCHIVE = pathlib.Path(os.environ["RELEASE_ARCHIVE"])
ARCHIVES = {"amd64": ARCHIVE, "arm64": ARCHIVE.with_name(ARCHIVE.name.replace("x86_64", "aarch64"))}
NAMES = "5.10", "6.1", "6.12", "7.2", "6.12-arm64-16k"
# Requests, bios, slow IOs, the service.
CHOSEN = "test_traffic and (immediate or zram) or test_bad_sector or test_serving and test_counts"
TIMEOUT_S = 900
# busybox reads directly only in multiples of a page.
READS, WRITES, BLOCK = 2000, 1000, 65536
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
def static():
    """Gives the program in the archive for an architecture. It is in the build folder, which every guest sees."""
    with tempfile.TemporaryDirectory(dir=matrix.BUILD) as folder:
        @functools.cache
        def unpack(arch):
            place = pathlib.Path(folder, arch.name)
            place.mkdir()
            subprocess.run(["tar", "-xf", ARCHIVES[arch.name], "-C", place, "--strip-components=1"], check=True)
            return place / "sbin/blklat"
        yield unpack


def bare_root(folder, static, arch):
    """A root without libraries and without names of users."""
    for name in ("proc", "sys", "dev", "bin", "sbin", "lib"):
        (folder / name).mkdir(parents=True)
    shutil.copy(static(arch), folder / "sbin/blklat")
    shutil.copy(arch.busybox, folder / "bin/busybox")
    for name in APPLETS:
        (folder / "bin" / name).symlink_to("busybox")
    return folder


class Seen(Blklat):
    """What blklat had printed when it ended."""

    def __init__(self, folder, engine):  # pylint: disable=super-init-not-called
        assert (folder / f"{engine}.stderr").read_text() == ""
        self.lines = [json.loads(line) for line in (folder / f"{engine}.json").read_text().splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_else(name, static, tmp_path):
    """Both engines count each of a known number of IOs."""
    kernel = KERNELS[name]
    fetch([kernel])
    root = bare_root(tmp_path / "root", static, kernel.arch)
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


@pytest.mark.parametrize("name", NAMES)
def test_engines(name, static):
    program = static(KERNELS[name].arch)
    done = subprocess.run([ROOT / "tests/vm/vm.py", "test", name, "-k", CHOSEN, "--program", program, "--timeout", str(TIMEOUT_S)],
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout

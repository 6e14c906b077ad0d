# SPDX-License-Identifier: GPL-2.0-only
"""
Debian 13: the sources built and packaged by its compilers and with its libraries, and Debian 12's package installed there.
What its clang makes for the kernel is loaded here and by a stock kernel of each series, and has to count every IO.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import debian13
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / folder) for folder in ("host", "vm")]

from devices import MIB, loop  # noqa: E402
from kernels import KERNELS, fetch  # noqa: E402
from load import BLKLAT, Missing, exact, missing  # noqa: E402
from machine import Machine  # noqa: E402
from recorder import replayed  # noqa: E402
from script import SCRIPTS, recorded as recording_of  # noqa: E402

DEBS = pathlib.Path(os.environ.get("DEBS", ROOT / "build/deb"))
READS, BLOCK = 2000, 4096
# Each has programs of its own in the kernel.
CAPTURES = ("--stage=device", "--stage=device,queue,total", "--by=size", "--by=beside", "--by=cgroup", "--slow=1us", "--idle-gap=10ms",
            "--stage=total --by=depth --slow=p99", "--stage=total --by=cgroup")
SERIES = "5.10", "6.1", "6.12", "7.2"

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root"),
              pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="no mmdebstrap: make deps-test installs it")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the sources in blklat/, built there. A warning of a compiler is an error."""
    out = tmp_path_factory.mktemp("debian13")
    debian13.make("release-source", f"O={out / 'archive'}")
    [archive] = (out / "archive/release").glob("*.tar.xz")
    (out / "blklat").mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", out / "blklat", "--strip-components=1"], check=True)
    r = debian13.enter(out, "make", "-s", "-j2", "-C", "blklat", "CI=1")
    assert (r.returncode, r.stderr) == (0, "")
    return out


def captured(folder, options="", program="blklat/build/blklat", first="true"):
    """Records READS reads of a loop device there, after a first command; returns recorded() of that."""
    with loop(8 * MIB) as device:
        node, number = device.path, os.stat(device.path).st_rdev
        script = (f"{first}; mknod {node} b {os.major(number)} {os.minor(number)}; rm -f run.blklat; "
                  f"{program} record --dev {device.name} --quiet --interval 0.2 {options} -o run.blklat -- "
                  f"dd if={node} of=/dev/null iflag=direct bs={BLOCK} count={READS} status=none")
        r = debian13.enter(folder, "sh", "-ec", script)
    assert (r.returncode, r.stderr) == (0, "")
    return recorded(folder / "run.blklat")


def recorded(file):
    """The IOs of a recording: {stage: IOs}. Nothing may be missing."""
    lines = [line for line in replayed(file) if "part" not in line]
    stages = {line["stage"] for line in lines}
    for stage in stages:
        a = [line for line in lines if line["stage"] == stage][-1]["accounting"]
        if missing(a):
            raise Missing(a)
    return {stage: sum(o["ios"] for line in lines if line["stage"] == stage for o in line["ops"]) for stage in stages}


def assert_all(found):
    """Without a scheduler, nothing waits in its queue."""
    assert {n for stage, n in found.items() if stage != "queue"} == {READS}


@pytest.mark.parametrize("options", CAPTURES)
@exact
def test_its_programs_count(built, options):
    """This kernel takes what its clang made of each program, and every IO is counted."""
    assert_all(captured(built, options))


@pytest.mark.parametrize("name", SERIES)
def test_on_each_kernel(name, built, tmp_path):
    """With the libraries of that root, on this machine's files."""
    kernel = KERNELS[name]
    fetch([kernel])
    libraries = debian13.root() / "usr/lib/x86_64-linux-gnu"
    program = f"{libraries}/ld-linux-x86-64.so.2 --library-path {libraries} {shutil.copy(built / 'blklat/build/blklat', tmp_path)}"
    script = "set -e; modprobe null_blk nr_devices=1\n" + "".join(
        f"{program} record --dev nullb0 --quiet --interval 0.2 {options} -o /tmp/run.blklat -- "
        f"dd if=/dev/nullb0 of=/dev/null iflag=direct bs={BLOCK} count={READS} status=none\n"
        f"mv /tmp/run.blklat $VM_OUT/{i}.blklat\n" for i, options in enumerate(CAPTURES))
    result = Machine(kernel).run([script], timeout=600, out=tmp_path)
    assert (result.status, result.output, list(result.alarms())) == (0, "", [])
    for i, _ in enumerate(CAPTURES):
        assert_all(recorded(tmp_path / f"{i}.blklat"))


def test_its_figures_are_the_same(built):
    assert SCRIPTS
    for script in SCRIPTS:
        file = shutil.copy(recording_of(script), built)
        argv = ["live", "--replay", file.name, "--format", "json", "--bins"]
        theirs = debian13.enter(built, "blklat/build/blklat", *argv)
        ours = subprocess.run([BLKLAT, *argv], capture_output=True, text=True, cwd=built)
        assert (theirs.returncode, theirs.stdout, theirs.stderr) == (ours.returncode, ours.stdout, ours.stderr)


@exact
def test_the_package_of_debian_12(tmp_path):
    """Its dependencies are met by what Debian 13 has under other names."""
    packages = list(DEBS.glob("blklat_*_amd64.deb"))
    assert len(packages) == 1, "make deb builds it"
    shutil.copy(packages[0], tmp_path)
    assert captured(tmp_path, program="blklat", first=f"dpkg -i {packages[0].name} >installed.log") == {"device": READS}


@exact
def test_its_own_package(built):
    r = debian13.enter(built, "make", "-s", "-C", "blklat", "deb")
    assert (r.returncode, r.stderr) == (0, ""), r.stdout
    [package] = built.glob("blklat/build/deb/blklat_*_amd64.deb")
    assert captured(built, program="blklat", first=f"dpkg -i {package.relative_to(built)} >installed.log") == {"device": READS}

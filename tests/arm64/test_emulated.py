# SPDX-License-Identifier: GPL-2.0-only
"""What 'make ARCH=arm64' builds, run by QEMU's emulation of a process: the static program and the unit tests."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from script import SCRIPTS, recorded

ROOT = pathlib.Path(__file__).resolve().parents[2]
# This machine's own program, which has to print the same.
BLKLAT = pathlib.Path(os.environ.get("BLKLAT", ROOT / "build/blklat")).resolve()
BUILD = BLKLAT.parent / "arm64"
SYSROOT = os.environ.get("SYSROOT") or str(pathlib.Path.home() / ".cache/blklat/sysroot-arm64")
QEMU = ["qemu-aarch64-static", "-L", SYSROOT]
MIXED = recorded(ROOT / "tests/cli/replay/mixed.txt")
STATIC = [*QEMU[:1], str(BUILD / "static/blklat")]
UNIT_TESTS = sorted(path.stem for path in (ROOT / "tests/unit").glob("test_*.c"))
# QEMU makes vfork() a fork(), so a parent is not told that exec() failed (linux-user/syscall.c, do_fork()).
NOT_EMULATED = {"test_script_without_interpreter", "test_interpreter_that_is_missing", "test_it_can_not_begin"}

pytestmark = pytest.mark.skipif(not shutil.which(QEMU[0]), reason=f"no {QEMU[0]}: make deps-arm64 installs it")


def output(*argv):
    r = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=600, cwd=ROOT)
    return r.returncode, r.stdout, r.stderr


def test_the_program():
    told = subprocess.run(["readelf", "-Whdl", STATIC[-1]], capture_output=True, text=True, check=True).stdout
    assert "AArch64" in told and "PIE" in told and "NEEDED" not in told and "INTERP" not in told
    assert output(*STATIC, "--version") == output(BLKLAT, "--version")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_replays(script, form):
    argv = ["--replay", recorded(script), "--format", form]
    assert output(*STATIC, *argv) == output(BLKLAT, *argv)


def test_a_recording_is_read_by_either(tmp_path):
    """Bins, times and sums have the same byte order and size."""
    file = tmp_path / "run.blklat"
    assert output(*STATIC, "record", "--replay", MIXED, "-o", file)[0] == 0
    there, here = (output(*program, "report", file, "--format", "json") for program in (STATIC, [BLKLAT]))
    assert there == here and there[0] == 0 and '"schema":1' in there[1]


def test_the_pages(tmp_path):
    """Both programs contain the same complete page."""
    for program in STATIC, [BLKLAT]:
        page = tmp_path / f"{len(program)}.html"
        assert output(*program, "report", MIXED, "-o", page)[0] == 0
    assert (tmp_path / "2.html").read_bytes() == (tmp_path / "1.html").read_bytes()


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True).stdout.strip()


def test_the_debian_package(tmp_path):
    """It has the same files and dependencies as this machine's own package, and its program runs with those."""
    (there,), (here,) = ((folder / "deb").glob("blklat_*.deb") for folder in (BUILD, BUILD.parent))
    assert (field(there, "Architecture"), field(there, "Version")) == ("arm64", field(here, "Version"))
    needed, wanted = (set(re.findall(r"([^\s,]+)(?: \([^)]*\))?(?:,|$)", field(package, "Depends"))) for package in (there, here))
    assert needed == wanted and {"libbpf1", "libc6"} <= needed
    subprocess.run(["dpkg-deb", "-x", there, tmp_path], check=True)
    listed = [sorted(line.split()[-1] for line in subprocess.run(["dpkg-deb", "-c", package], capture_output=True, text=True,
                                                                 check=True).stdout.splitlines()) for package in (there, here)]
    assert listed[0] == listed[1]
    assert output(*QEMU, tmp_path / "usr/sbin/blklat", "--version") == output(BLKLAT, "--version")


def test_labels_are_not_looked_up_in_a_table():
    """The linker would drop an offset into a section there, so that a page would begin elsewhere (userspace/report/html.c)."""
    told = subprocess.run(["aarch64-linux-gnu-objdump", "-r", BUILD / "libblklat.a"], capture_output=True, text=True, check=True).stdout
    assert "R_AARCH64_CALL26" in told and not re.search(r"R_AARCH64_\w*GOT\w* +\.\w+", told)


@pytest.mark.parametrize("name", UNIT_TESTS)
def test_unit(name):
    r = subprocess.run([*QEMU, BUILD / "tests/unit" / name], capture_output=True, text=True, timeout=1200, cwd=ROOT,
                       env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "STDOUT"})
    failed = set(re.findall(r"^\[  FAILED  \] (?!\d+ test)(\w+)", r.stdout + r.stderr, re.M))
    assert failed <= NOT_EMULATED and (not r.returncode or failed), r.stdout + r.stderr
    assert re.search(r"^\[  PASSED  \] [1-9]", r.stdout + r.stderr, re.M)

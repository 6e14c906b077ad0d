# SPDX-License-Identifier: GPL-2.0-only
"""The RPM packages: their contents, their dependencies, and their life in a root with only a shell."""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

from architectures import TOOLS, fetch_tools  # noqa: E402
from cache import CACHE, program  # noqa: E402

PACKAGES = [ROOT / path for path in os.environ.get("RPMS", "").split()]
MAIN, MODULE = "blklat", "blklat-dkms"
DOC, LICENSES, SOURCE = "/usr/share/doc/blklat/", "/usr/share/licenses/blklat/", "/usr/src/blklat-"
# path -> file of the tree that is copied
FILES = {
    "/etc/blklat/blklat.conf": "packaging/blklat.conf",
    "/usr/lib/systemd/system/blklat.service": "packaging/blklat.service",
    "/usr/lib/systemd/system/blklat-record@.service": "packaging/blklat-record@.service",
    "/usr/sbin/blklat": None,
    "/usr/share/blklat/blklat.py": "packaging/python/blklat.py",
    "/usr/share/bash-completion/completions/blklat": "packaging/completion/blklat.bash",
    "/usr/share/fish/vendor_completions.d/blklat.fish": "packaging/completion/blklat.fish",
    "/usr/share/zsh/site-functions/_blklat": "packaging/completion/_blklat",
} | {f"/usr/share/man/man8/{page.name}.gz": None for page in ROOT.glob("docs/*.8")}
DOCUMENTS = {"back-off.conf", "examples/sweep.fio", "fleet.md", "grafana/blklat.json", "otlp.md", "prometheus.md", "prometheus/blklat.rules.test.yml",
             "prometheus/blklat.rules.yml", "recording.md", "runbooks.md", "serve.md"}
# Stands for programs that the scripts call: notes its name and arguments.
NOTED = '#!/bin/sh\necho "$(basename "$0") $*" >>/noted\n'

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="rpm enters the root by chroot")


def package(name):
    found = [path for path in PACKAGES if re.fullmatch(rf"{name}-[\d.]+-\d+\.\w+\.rpm", path.name) and path.exists()]
    if not found:
        pytest.skip(f"no {name} package: make rpm-files builds it, and RPMS names it")
    return found[0]


def rpm(*argv, status=0):
    r = subprocess.run(["rpm", *map(str, argv)], capture_output=True, text=True, timeout=60)
    assert r.returncode == status, r.stdout + r.stderr
    return r.stdout


def query(name, form):
    return rpm("-qp", "--queryformat", form, package(name))


def files(name):
    """{path: (mode, owner)}, without directories."""
    rows = [line.split("\t") for line in query(name, r"[%{FILENAMES}\t%{FILEMODES:perms}\t%{FILEUSERNAME}:%{FILEGROUPNAME}\n]").splitlines()]
    return {path: (mode, owner) for path, mode, owner in rows if not mode.startswith("d")}


def version():
    return re.search(r"^VERSION\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]


def test_names():
    for name, arch in ((MAIN, os.uname().machine), (MODULE, "noarch")):
        assert query(name, "%{NAME} %{VERSION} %{ARCH} %{OS}") == f"{name} {version()} {arch} linux"
        assert package(name).name == f"{name}-{version()}-1.{arch}.rpm"


def test_contents():
    found = files(MAIN)
    rest = {path for path in found if path.startswith((DOC, LICENSES))}
    assert set(found) - rest == set(FILES)
    assert {path.removeprefix(DOC) for path in rest if path.startswith(DOC)} == DOCUMENTS
    assert {LICENSES + name for name in ("LICENSE", "LICENSES/GPL-2.0-only.txt", "third-party/glibc", "third-party/uplot", "third-party/VERSIONS")} <= rest
    assert {owner for _, owner in found.values()} == {"root:root"}
    assert found.pop("/usr/sbin/blklat")[0] == "-rwxr-xr-x"
    assert {mode for mode, _ in found.values()} == {"-rw-r--r--"}
    assert rpm("-qpc", package(MAIN)).split() == ["/etc/blklat/blklat.conf"]


def test_contents_of_the_module(tmp_path):
    """The same files as by make install-dkms."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    subprocess.run(["make", "-s", "-C", ROOT, "install-dkms", f"DESTDIR={tmp_path}"], check=True, capture_output=True, env=env)
    installed = {f"/{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    assert set(files(MODULE)) == installed and f"{SOURCE}{version()}/dkms.conf" in installed


def test_needs():
    """The program is linked statically."""
    def needs(name):
        return {line for line in rpm("-qp", "--requires", package(name)).splitlines() if not line.startswith("rpmlib(")}
    assert needs(MAIN) - {"config(blklat) = " + version() + "-1"} == {"/bin/sh"}
    assert needs(MODULE) == {"/bin/sh", "dkms"}


def test_rpmlint():
    """Errors are what is so on purpose; signatures are 'make repo's."""
    if not shutil.which("rpmlint"):
        pytest.skip("rpmlint is not installed")
    said = subprocess.run(["rpmlint", package(MAIN), package(MODULE)], capture_output=True, text=True, timeout=300).stdout
    assert set(re.findall(r": E: (\S+)", said)) == {"statically-linked-binary", "non-executable-script", "no-signature", "no-packager-tag", "no-changelogname-tag"}


def test_nothing_of_the_build_shows():
    """Neither when nor where it was built: the same bytes each time."""
    for name in (MAIN, MODULE):
        assert query(name, "%{BUILDHOST}") == "localhost"
        when = set(query(name, r"%{BUILDTIME}\n[%{FILEMTIMES}\n]").split())
        assert len(when) == 1
        everything = subprocess.run(["rpm", "-qp", "--xml", package(name)], capture_output=True, check=True).stdout
        assert str(ROOT).encode() not in everything


@pytest.fixture
def root(tmp_path):
    """A root for rpm, with a shell and programs that note how they are called."""
    CACHE.mkdir(parents=True, exist_ok=True)
    fetch_tools(False)
    (tmp_path / "bin").mkdir()
    shutil.copy(program(TOOLS, "busybox")[0], tmp_path / "bin/busybox")
    for name in ("sh", "basename"):
        (tmp_path / "bin" / name).symlink_to("busybox")
    (tmp_path / "dev").mkdir()
    os.mknod(tmp_path / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    for name in ("systemctl", "dkms"):
        (tmp_path / "bin" / name).write_text(NOTED)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def within(root, *argv, status=0):
    """Runs rpm in the root; returns what it prints."""
    return rpm("--root", root, "--dbpath", "/var/lib/rpm", *argv, status=status)


def noted(root):
    """What was called since the last time."""
    path = root / "noted"
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return text.splitlines()


def left(root):
    return {f"/{path.relative_to(root)}" for path in root.rglob("*") if path.is_file() and not path.is_relative_to(root / "var/lib/rpm")
            and path.parent != root / "bin"}


@needs_root
def test_life(root):
    """Installed, verified, replaced, removed: the files at each step, and what systemd is asked to do."""
    # No package provides the shell here.
    within(root, "-i", "--nodeps", package(MAIN))
    # Whether a new service starts by itself is the distribution's policy (its presets).
    assert noted(root) == ["systemctl --no-reload preset blklat.service"]
    assert left(root) == set(files(MAIN))
    for path, source in FILES.items():
        assert not source or (root / path[1:]).read_bytes() == (ROOT / source).read_bytes()
    assert within(root, "-V", "--nodeps", MAIN) == ""
    said = subprocess.run(["chroot", root, "/usr/sbin/blklat", "--version"], capture_output=True, text=True)
    assert said.stdout == f"blklat {version()}\n"

    (root / "etc/blklat/blklat.conf").write_text("dev sda\n")
    assert re.fullmatch(r"S\.5\S+\s+c /etc/blklat/blklat\.conf\n", within(root, "-V", "--nodeps", MAIN, status=1))
    within(root, "-U", "--nodeps", "--replacepkgs", package(MAIN))
    assert noted(root) == ["systemctl daemon-reload", "systemctl try-restart blklat.service"]
    assert (root / "etc/blklat/blklat.conf").read_text() == "dev sda\n"

    within(root, "-e", MAIN)
    assert noted(root) == ["systemctl --no-reload disable --now blklat.service", "systemctl daemon-reload"]
    # RPM always leaves files that an administrator has changed.
    assert left(root) == {"/etc/blklat/blklat.conf.rpmsave"}


@needs_root
def test_life_of_the_module(root):
    """DKMS is called when the module comes and goes. Replaced by the same version, it is built again and stays."""
    words = f"-m blklat -v {version()} -q"
    built = [f"dkms add {words}", f"dkms build {words}", f"dkms install {words} --force"]
    gone = f"dkms remove {words} --all"
    within(root, "-i", "--nodeps", package(MODULE))
    assert noted(root) == built
    within(root, "-U", "--nodeps", "--replacepkgs", package(MODULE))
    assert noted(root) == [gone, *built]
    assert left(root) == set(files(MODULE))
    within(root, "-e", MODULE)
    assert noted(root) == [gone]
    assert left(root) == set()


@needs_root
def test_without_systemd(root):
    """As in a container: no script fails."""
    (root / "bin/systemctl").unlink()
    (root / "bin/dkms").unlink()
    for name in (MAIN, MODULE):
        within(root, "-i", "--nodeps", package(name))
        within(root, "-e", name)
    assert left(root) == set()

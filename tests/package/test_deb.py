# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages: what is in them, what lintian says, and their life on a Debian 12."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/vm"))

import chroot  # noqa: E402

BLKLAT = os.environ.get("BLKLAT", "build/blklat")
DEBS = pathlib.Path(os.environ.get("DEBS", ROOT / "build/deb"))
DOC = "usr/share/doc/blklat"
PROGRAM = {
    "etc/blklat/blklat.conf", "lib/systemd/system/blklat.service", "lib/systemd/system/blklat-record@.service", "usr/sbin/blklat",
    "usr/share/blklat/blklat.py", "usr/share/bash-completion/completions/blklat", "usr/share/zsh/vendor-completions/_blklat",
    "usr/share/fish/vendor_completions.d/blklat.fish",
    *(f"usr/share/man/man8/{page.name}.gz" for page in ROOT.glob("docs/*.8")),
}
# Settings that only systemd 254 or later knows; packaged if the build finds such a systemd.
BACK_OFF = "lib/systemd/system/blklat.service.d/back-off.conf"
# The module's Kbuild file, and what it builds.
MODULE = {"Kbuild", "dkms.conf", "include/blklat/abi.h", "include/blklat/bins.h", "include/blklat/bins_table.h",
          "include/blklat/gen_bins.py", "include/blklat/parts.h", "include/blklat/slow.h"}


def deb(name):
    found = sorted(DEBS.glob(f"{name}_*.deb"))
    if not found:
        pytest.skip(f"no {name} package in {DEBS}: make deb builds it")
    assert len(found) == 1
    return found[0]


def field(name, which):
    return subprocess.run(["dpkg-deb", "-f", deb(name), which], capture_output=True, text=True, check=True).stdout.strip()


def contents(name):
    """{path: (mode, owner)} of a package's files."""
    r = subprocess.run(["dpkg-deb", "-c", deb(name)], capture_output=True, text=True, check=True)
    rows = [line.split(None, 5) for line in r.stdout.splitlines()]
    return {row[5].removeprefix("./"): (row[0], row[1]) for row in rows if not row[0].startswith("d")}


def version():
    said = subprocess.run([BLKLAT, "--version"], capture_output=True, text=True, check=True).stdout
    return said.removeprefix("blklat ").strip()


def test_version():
    assert re.search(r"^VERSION\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1] == version()
    assert field("blklat", "Version") == field("blklat-dkms", "Version") == version()


def test_contents():
    files = contents("blklat")
    docs = {name for name in files if name.startswith(DOC)}
    assert set(files) - docs - {BACK_OFF} == PROGRAM
    assert f"{DOC}/copyright" in docs and f"{DOC}/examples/prometheus/blklat.rules.yml" in docs
    assert {f"{DOC}/examples/sweep.fio", f"{DOC}/runbooks.md"} <= docs
    assert {owner for _, owner in files.values()} == {"root/root"}
    assert {mode for name, (mode, _) in files.items() if name != "usr/sbin/blklat"} == {"-rw-r--r--"}
    assert files["usr/sbin/blklat"][0] == "-rwxr-xr-x"


def test_contents_of_the_module():
    below = f"usr/src/blklat-{version()}/"
    sources = {p.name for p in (ROOT / "kmod").glob("*.[ch]") if not re.search(r"kunit\.c$|^kunit_", p.name)}
    found = {name.removeprefix(below) for name in contents("blklat-dkms") if name.startswith(below)}
    assert found == MODULE | {f"kmod/{name}" for name in sources}


def test_needs():
    """The libraries that the program is linked with, and those that it loads; for the module's package, dkms itself."""
    told = subprocess.run(["objdump", "-p", BLKLAT], capture_output=True, text=True, check=True).stdout
    linked = set(re.findall(r"NEEDED\s+lib([\w-]+)\.so", told))
    libraries = {name.decode() for name in re.findall(rb"\0lib([\w-]+)\.so\.\d+(?=\0)", pathlib.Path(BLKLAT).read_bytes())}
    assert libraries - linked == {"curl-gnutls", "gnutls", "microhttpd"}  # which each start would have to load
    libraries -= {"c", "m", "pthread"}
    needs = field("blklat", "Depends")
    for library in libraries:
        name = {"z": "zlib1g", "curl-gnutls": "libcurl3", "elf": "libelf1", "sqlite3": "libsqlite3-0", "yaml-0": "libyaml-0-2"}.get(library, f"lib{library}")
        assert re.search(rf"(^|, ){re.escape(name)}", needs), library
    assert re.search(r"(^|, )dkms\b", field("blklat-dkms", "Depends"))


def test_lintian():
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    changes = list(DEBS.glob("*.changes"))
    assert changes
    r = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--no-cfg", *changes], capture_output=True, text=True,
                       timeout=300)
    assert r.returncode == 0, r.stdout


def test_the_tree_is_not_touched():
    """The build works in a copy, which is gone afterwards."""
    assert not (ROOT / "debian").exists()
    assert not [p for p in DEBS.iterdir() if p.is_dir()]


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """The output files of lifecycle.sh: {name: text}."""
    if os.geteuid() != 0:
        pytest.skip("a chroot takes root")
    debs = [deb("blklat"), deb("blklat-dkms")]
    root = chroot.fetch(debs)
    out = tmp_path_factory.mktemp("life")
    for path in [*debs, ROOT / "tests/package/lifecycle.sh"]:
        shutil.copy(path, out)
    r = chroot.enter(root, out, "/bin/bash", "/out/lifecycle.sh")
    left = {p.name: p.read_text(errors="replace") for p in out.iterdir() if p.suffix != ".deb"}
    logs = "".join(f"--- {name}\n{text}" for name, text in left.items() if name.endswith((".log", "tried.err")))
    assert r.returncode == 0, r.stdout + r.stderr + logs
    return left


def merged(path):
    """The path where /lib is a link."""
    return re.sub("^/lib(?=/|$)", "/usr/lib", path)


def paths(text):
    return {merged(line.split()[0]) for line in text.splitlines()}


def test_installs_and_runs(life):
    added = paths(life["installed"]) - paths(life["before"])
    assert {merged(f"/{name}") for name in PROGRAM} <= added
    # Besides the package's files, installing makes directories of its own, and nothing that enables the service.
    owned = paths(life["files"])
    assert {p for p in added - owned if "deb-systemd-helper" not in p} == set()
    lines = life["tried"].splitlines()
    assert lines[0] == f"blklat {version()}"
    assert lines[1] in ("check 0", "check 1") and life["check.out"] and not life["check.err"]
    assert lines[2] == "/usr/share/man/man8/blklat-top.8.gz"
    assert lines[3] == "disabled"
    assert lines[4] == "complete -F _blklat blklat"


def test_check_says_the_same_as_here(life):
    """The chroot shares this machine's kernel."""
    here = subprocess.run([BLKLAT, "check"], capture_output=True, text=True, timeout=60)
    assert f"check {here.returncode}" in life["tried"].splitlines()


def test_removes_cleanly(life):
    """The file that an administrator changed stays until the purge; then everything is as it was before."""
    left = paths(life["removed"]) - paths(life["before"])
    assert {p for p in left if "deb-systemd-helper" not in p} == {"/etc/blklat", "/etc/blklat/blklat.conf"}
    assert life["purged"] == life["before"]


def test_dkms_builds_for_the_kernel_of_debian_12(life):
    kernels = [k for k in life["kernels"].split() if re.match(r"6\.1\.", k)]
    assert kernels, life["kernels"]
    for kernel in kernels:
        assert re.search(rf"^blklat/{re.escape(version())}, {re.escape(kernel)}, \w+: installed$", life["dkms.status"], re.M), \
            life["dkms.status"] + life["dkms-install.log"]
        assert f"{kernel} " in life["dkms.module"]
    assert "blklat" not in life["dkms.status.removed"]
    assert "blklat" not in "\n".join(paths(life["dkms.purged"]) - paths(life["before"]))

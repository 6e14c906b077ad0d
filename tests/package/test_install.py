# SPDX-License-Identifier: GPL-2.0-only
"""make install puts every file in its place, make uninstall removes exactly those."""
import os
import pathlib
import shutil
import stat
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BLKLAT", ROOT / "build/blklat")).resolve().parent
# The name that make was given, since another name of the same folder is a change of options.
O = os.environ.get("O") or os.path.relpath(BUILD, ROOT)
# Paths below PREFIX: the mode, and the file of the tree that is copied.
FILES = {
    "sbin/blklat": (0o755, None),
    "share/blklat/blklat.py": (0o644, "packaging/python/blklat.py"),
    "share/bash-completion/completions/blklat": (0o644, "packaging/completion/blklat.bash"),
    "share/fish/vendor_completions.d/blklat.fish": (0o644, "packaging/completion/blklat.fish"),
    "share/zsh/site-functions/_blklat": (0o644, "packaging/completion/_blklat"),
    "lib/systemd/system/blklat.service": (0o644, None),
    "lib/systemd/system/blklat-record@.service": (0o644, None),
} | {f"share/man/man8/{page.name}": (0o644, f"docs/{page.name}") for page in ROOT.glob("docs/*.8")}
CONFIG = "etc/blklat/blklat.conf"


def make(target, where, *more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"O": O}
    r = subprocess.run(["make", "-s", "-C", str(ROOT), target, f"DESTDIR={where}", *more], capture_output=True, text=True,
                       env=env, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stderr


def test_a_change_of_options_rebuilds(tmp_path):
    """The same options do not."""
    built = tmp_path / "userspace/util/units.o"

    def build(*options):
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"O": str(tmp_path)}
        subprocess.run(["make", "-s", "-C", str(ROOT), str(built), *options], check=True, capture_output=True, env=env, timeout=300)
        return built.stat().st_mtime_ns
    first = build("CFLAGS=-O1")
    assert build("CFLAGS=-O1") == first
    assert build("CFLAGS=-O2") > first


def files(where):
    return {str(p.relative_to(where)) for p in where.rglob("*") if not p.is_dir()}


@pytest.mark.parametrize("prefix", ["/usr/local", "/usr", "/opt/blklat"])
def test_everything_and_nothing_else(tmp_path, prefix):
    make("install", tmp_path, f"PREFIX={prefix}", "SYSTEMD_VERSION=252")
    below = prefix.lstrip("/")
    assert files(tmp_path) == {f"{below}/{name}" for name in FILES} | {CONFIG}
    for name, (mode, source) in FILES.items():
        path = tmp_path / below / name
        assert stat.S_IMODE(path.stat().st_mode) == mode, name
        assert not source or path.read_bytes() == (ROOT / source).read_bytes()
    for name in "blklat.service", "blklat-record@.service":
        unit = (tmp_path / below / "lib/systemd/system" / name).read_text()
        assert f"\nExecStart={prefix}/sbin/blklat serve " in unit
        assert unit == (ROOT / "packaging" / name).read_text().replace("/usr/sbin/", f"{prefix}/sbin/")
    installed = subprocess.run([tmp_path / below / "sbin/blklat", "--version"], capture_output=True, text=True)
    assert installed.returncode == 0
    make("uninstall", tmp_path, f"PREFIX={prefix}")
    assert files(tmp_path) == set()


@pytest.mark.parametrize("version,there", [("252", False), ("253", False), ("254", True), ("257", True), ("", False)])
def test_systemd_backs_off_where_it_can(tmp_path, version, there):
    """An older systemd warns of settings that it doesn't know; without a systemd, nothing is installed."""
    drop_in = tmp_path / "usr/local/lib/systemd/system/blklat.service.d/back-off.conf"
    make("install", tmp_path, f"SYSTEMD_VERSION={version}")
    assert drop_in.exists() == there
    assert not there or drop_in.read_bytes() == (ROOT / "packaging/back-off.conf").read_bytes()
    make("uninstall", tmp_path, f"SYSTEMD_VERSION={version}")
    assert files(tmp_path) == set()


def test_others_files_stay(tmp_path):
    other = tmp_path / "usr/local/share/bash-completion/completions/other"
    other.parent.mkdir(parents=True)
    other.touch()
    make("install", tmp_path)
    make("uninstall", tmp_path)
    assert files(tmp_path) == {str(other.relative_to(tmp_path))}


def test_a_changed_configuration_stays(tmp_path):
    make("install", tmp_path)
    (tmp_path / CONFIG).write_text("dev = sda\n")
    make("install", tmp_path)
    assert (tmp_path / CONFIG).read_text() == "dev = sda\n"
    assert "was changed and stays" in make("uninstall", tmp_path)
    assert files(tmp_path) == {CONFIG}


def test_module_sources(tmp_path):
    make("install-dkms", tmp_path)
    assert any(name.endswith("/kmod/main.c") for name in files(tmp_path))
    make("uninstall-dkms", tmp_path)
    assert files(tmp_path) == set()


def test_nothing_is_written_into_the_tree(tmp_path):
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")

    def status():
        return subprocess.run(["git", "-C", str(ROOT), "status", "--porcelain", "--ignored"], capture_output=True, text=True,
                              check=True).stdout
    before = status()
    make("install", tmp_path)
    make("uninstall", tmp_path)
    assert status() == before

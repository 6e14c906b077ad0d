# SPDX-License-Identifier: GPL-2.0-only
"""The directory of 'make repo': apt and dnf install from it, after they have checked its signatures."""
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
from architectures import TOOLS, fetch_tools  # noqa: E402
from cache import CACHE, program  # noqa: E402

DEBS = pathlib.Path(os.environ.get("DEBS", "none"))
VERSION = re.search(r"^VERSION\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
KEY = "packages@example.org"
# Stands for the shell's package.
SHELL = "Name: sh\nVersion: 1\nRelease: 1\nSummary: -\nLicense: -\nBuildArch: noarch\nProvides: /bin/sh\n%description\n%files\n"

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a chroot takes root"),
              pytest.mark.skipif(not all(map(shutil.which, ("apt-ftparchive", "createrepo_c", "dnf", "gpg"))), reason="make deps-test installs what is missing")]


def made(folder, url):
    """Has make build it, for this URL."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"GNUPGHOME": str(folder / "keys")}
    (folder / "keys").mkdir(mode=0o700)
    try:
        subprocess.run(["gpg", "--batch", "-q", "--passphrase", "", "--quick-gen-key", KEY], env=env, check=True, capture_output=True)
        subprocess.run(["make", "-s", "-C", ROOT, "repo-files", f"KEY={KEY}", f"URL={url}", f"REPO={folder / 'repo'}"], env=env, check=True,
                       capture_output=True, timeout=600)
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=env, check=True)
    return folder / "repo"


def apt(repo):
    """Installs from it in the chroot, without another source."""
    debs = [*DEBS.glob("blklat_*.deb"), *DEBS.glob("blklat-dkms_*.deb")]
    return chroot.enter(chroot.fetch(debs), repo.parent, "sh", "-ec", "rm -rf /etc/apt/sources.list*; install -D -t /etc/apt/sources.list.d "
                        "/out/repo/deb/blklat.sources; apt-get -q --error-on=any update; apt-get -qy install blklat; blklat --version")


def dnf(repo):
    """Installs from it in a root that has a shell."""
    root, top = repo.parent / "root", repo.parent / "shell"
    (root / "bin").mkdir(parents=True)
    fetch_tools(False)
    shutil.copy(program(TOOLS, "busybox")[0], root / "bin/sh")
    top.mkdir()
    (top / "sh.spec").write_text(SHELL)
    subprocess.run(["rpmbuild", "-bb", "--quiet", f"-D_topdir {top}", top / "sh.spec"], check=True, capture_output=True)
    said = subprocess.run(["dnf", "-y", f"--installroot={root}", "--releasever=1", f"--setopt=reposdir={repo / 'rpm'}", f"--setopt=logdir={top}",
                           "install", *top.glob("RPMS/*/*.rpm"), "blklat"], capture_output=True, text=True, timeout=300, env=os.environ | {"HOME": str(top)})
    for keys in root.glob("var/cache/dnf/*/pubring"):
        subprocess.run(["gpgconf", "--homedir", keys, "--kill", "all"], check=True)
    if said.returncode:
        return said
    return subprocess.run(["chroot", root, "/usr/sbin/blklat", "--version"], capture_output=True, text=True)


@pytest.mark.parametrize("install,url,signed,word,refused", [
    (apt, "file:///out/repo", "deb/InRelease", "blklat", "not signed|invalid"),
    (dnf, "file://{repo}", "rpm/repodata/repomd.xml", "primary", "GPG")], ids=["apt", "dnf"])
def test_install(tmp_path, install, url, signed, word, refused):
    CACHE.mkdir(parents=True, exist_ok=True)
    repo = made(tmp_path, url.format(repo=tmp_path / "repo"))
    packages = [*DEBS.glob("*.deb"), *map(pathlib.Path, os.environ["RPMS"].split())]
    assert {path.name for path in packages} == {path.name for path in repo.rglob("*") if path.suffix in (".deb", ".rpm")}
    r = install(repo)
    assert (r.returncode, r.stdout.splitlines()[-1]) == (0, f"blklat {VERSION}"), r.stdout + r.stderr
    for name in ("root", "shell"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
    # A list that was changed after it was signed is refused.
    (repo / signed).write_text((repo / signed).read_text().replace(word, word.upper(), 1))
    r = install(repo)
    assert r.returncode and re.search(refused, r.stdout + r.stderr), r.stdout + r.stderr

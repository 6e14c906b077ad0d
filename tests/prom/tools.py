# SPDX-License-Identifier: GPL-2.0-only
"""Prometheus and promtool. 'make deps' does not install them, since the package starts a server: missing
ones are unpacked into a cache.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

CACHE = pathlib.Path(os.environ.get("BLKLAT_PROM_CACHE") or pathlib.Path.home() / ".cache/blklat") / "prometheus"


@functools.cache
def find(name):
    """Path of 'prometheus' or 'promtool'."""
    there = shutil.which(name) or shutil.which(name, path=CACHE / "usr/bin")
    return there or str(fetch() / "usr/bin" / name)


def fetch():
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as scratch:
        scratch = pathlib.Path(scratch)
        subprocess.run(["apt-get", "-q", "download", "prometheus"], cwd=scratch, check=True, timeout=300)
        for deb in scratch.glob("prometheus_*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, scratch / "unpacked"], check=True, timeout=300)
        shutil.rmtree(CACHE, ignore_errors=True)
        (scratch / "unpacked").rename(CACHE)
    return CACHE

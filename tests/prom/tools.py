# SPDX-License-Identifier: GPL-2.0-only
"""Prometheus, promtool and VictoriaMetrics. 'make deps' does not install them, since the packages start servers: missing
ones are unpacked into a cache.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

CACHE = pathlib.Path(os.environ.get("BLKLAT_PROM_CACHE") or pathlib.Path.home() / ".cache/blklat") 
PACKAGES = {"victoria-metrics": "victoria-metrics"}  # the others are in that of prometheus


@functools.cache
def find(name):
    """Path of a program."""
    package = PACKAGES.get(name, "prometheus")
    there = shutil.which(name) or shutil.which(name, path=CACHE / package / "usr/bin")
    return there or str(fetch(package) / "usr/bin" / name)


def fetch(package):
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        scratch = pathlib.Path(scratch)
        subprocess.run(["apt-get", "-q", "download", package], cwd=scratch, check=True, timeout=300)
        for deb in scratch.glob(f"{package}_*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, scratch / "unpacked"], check=True, timeout=300)
        shutil.rmtree(CACHE / package, ignore_errors=True)
        (scratch / "unpacked").rename(CACHE / package)
    return CACHE / package

# SPDX-License-Identifier: GPL-2.0-only
"""Runs blklat."""
import json
import re
import subprocess

from asked import BLKLAT
from script import TESTS

ROOT = TESTS.parent
ENV = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def blklat(*args, status=0):
    """Runs it and returns what it printed."""
    r = subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, env=ENV, timeout=120)
    assert r.returncode == status, r.stderr
    if not status:
        assert r.stderr == ""
    return r.stdout if status in (0, 3) else r.stderr


def compared(*args, status=0):
    return json.loads(blklat("compare", "--format", "json", *args, status=status))


def sentences(*paths, grade=None):
    """Those of the text, each in one line; @grade is what they begin with."""
    text = blklat("report", "--format", "text", *paths)
    assert all(len(line) <= 80 or " " not in line for line in text.splitlines())     # a long path stays whole, to be copied
    found = re.findall(r"^(!!|\*|ok) +(.*(?:\n   .*)*)", text, re.M)
    return [told.replace("\n   ", " ") for lead, told in found if grade in (None, lead)]

# SPDX-License-Identifier: GPL-2.0-only
"""Where a report goes: a whole file or none, and the page has the data of the JSON."""
import json
import os
import resource
import stat
import subprocess

import pytest

import synthetic
from recordings import BLKLAT, ENV, blklat


@pytest.fixture
def file(tmp_path):
    return synthetic.steady(seconds=20).write(tmp_path / "run.blklat")


def run(*args, **kw):
    return subprocess.run([BLKLAT, *map(str, args)], stderr=subprocess.PIPE, text=True, env=ENV, timeout=60, **kw)


def document_in(page):
    start = page.index('id="report"')
    start = page.index(">", start) + 1
    return json.loads(page[start:page.index("</script>", start)])


def test_the_page_holds_the_document(file, report, tmp_path):
    blklat("report", file, "-o", tmp_path / "page.html")
    assert document_in((tmp_path / "page.html").read_text()) == report(file)
    page = blklat("report", file)
    assert document_in(page) == report(file)
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n") and "@STYLE@" not in page and "@SCRIPT@" not in page
    assert "default-src 'none'" in page and "Leon Sorokin" in page  # uPlot's license asks for its author's name


def test_names_cannot_leave_their_place(tmp_path, report):
    name = '"></script><!--<script>alert(1)</script>@REPORT@'
    script = synthetic.steady(seconds=5)
    quoted = '"' + name.replace('"', '\\"') + '"'
    script.lines = [line.replace("device sda", f"device {quoted}").replace("watch sda", f"watch {quoted}")
                    for line in script.lines]
    file = script.write(tmp_path / "run.blklat")
    page = blklat("report", file)
    assert name not in page and document_in(page) == report(file)
    assert page.count('id="report">') == 1 and "<" not in page.split('id="report">')[1].split("</script>")[0]
    assert report(file)["runs"][0]["watches"][0]["device"] == name


def test_a_file_is_replaced_and_has_the_usual_rights(file, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("old")
    done = run("report", file, "-o", out, preexec_fn=lambda: os.umask(0o027))
    assert done.returncode == 0 and done.stderr == ""
    assert out.stat().st_mode & 0o777 == 0o640
    assert out.read_text().startswith("<!")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "run.blklat"]


def test_without_room_the_old_file_stays(file, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("old")
    done = run("report", file, "-o", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and f"could not write {out}: File too large" in done.stderr
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "run.blklat"]


def test_a_damaged_recording_leaves_the_old_file(file, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("old")
    bad = tmp_path / "bad.blklat"
    bad.write_bytes(file.read_bytes()[:3000])
    assert "bad.blklat" in blklat("report", file, bad, "-o", out, status=1)
    assert out.read_text() == "old"


def test_a_device_is_written_as_it_is(file):
    assert run("report", file, "-o", "/dev/null").returncode == 0
    done = run("report", file, "-o", "/dev/full")
    assert done.returncode == 1 and "No space left" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="a block device: only root makes one")
def test_no_disk_is_overwritten(file, tmp_path):
    """Somebody made a link to a device where the report should go. The device has no driver, in case it is written to."""
    disk, link = tmp_path / "disk", tmp_path / "report.html"
    os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(4095, 1))
    link.symlink_to(disk)
    before = sorted(tmp_path.iterdir())
    for name in (disk, link):
        done = run("report", file, "-o", name)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"{name}: it is a block device" in done.stderr
    assert sorted(tmp_path.iterdir()) == before and link.is_symlink()

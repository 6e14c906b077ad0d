# SPDX-License-Identifier: GPL-2.0-only
"""The active window, and the one that --from and --to ask for: runs whose load is known, second by second."""
import pytest

import synthetic
from phases import mark
from recordings import blklat, compared

MARKS = ((10, "ten"), (20.25, "twenty and a bit"), (30, "twice"), (40, "twice"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """400 IOPS for 59.7 s that begin 1.3 s into the run, 2 s before it ends; twice as many from 30 s on."""
    s = synthetic.Script()
    for second, ios in enumerate([0, 280] + [400] * 28 + [800] * 30 + [240, 0, 0]):
        s.io("write", 1e6 if second < 30 else 2e6, ios)
        s.tick()
    return mark(s.write(tmp_path_factory.mktemp("window") / "run.blklat"), *MARKS)


def run_of(report, *args):
    run = report(*args)["runs"][0]
    return run, run["watches"][0]["ops"][0]


@pytest.mark.parametrize("args, first, end", [
    (("--from", "10", "--to", "20"), 10, 20),
    (("--from", "0.5m"), 30, 63),
    (("--to", "2.5"), 0, 2),
    (("--from", "9.6", "--to", "20.4"), 10, 20),        # intervals whose middle lies in the window
    (("--from", "07:30", "--to", "07:36"), 0, 60),
    (("--from", "2026-11-21T09:35:10+02:00", "--to", "2026-11-21T06:35:20.0-01:00"), 10, 20),
    (("--from", "ten", "--to", "twenty and a bit"), 10, 20),
])
def test_only_what_lies_in_the_window_is_in_the_report(report, file, args, first, end):
    run, op = run_of(report, file, *args)
    assert run["start_s"] == pytest.approx(range(first, end), abs=1e-6)
    assert run["active"]["asked"] is True
    assert op["total"]["ios"] == sum(op["ios"]) == sum(n for _, _, n in op["bins"])
    assert len(op["ios"]) == end - first
    assert run["active"]["to_s"] == (end if "--to" in args else 60.3)


def test_all_figures_are_of_the_window(report, file):
    run, op = run_of(report, file, "--from", "ten", "--to", "20.3")
    total = op["total"]
    assert (total["ios"], total["iops"], total["iops_deviation"], total["queue_depth"]) == (4000, 400, 0, 0.4)
    assert total["latency_ns"]["max"] == 1e6
    assert [mark["text"] for mark in run["marks"]] == ["ten", "twenty and a bit"]
    assert sum(sum(column[1::2]) for column in op["heat"]["columns"]) == 4000
    assert all(f["from_s"] >= 10 and f["to_s"] <= 20 for f in run["findings"])
    assert not any(f["kind"] == "level_change" for f in run["findings"])
    assert any(f["kind"] == "level_change" for f in report(file)["runs"][0]["findings"])


def test_losses_are_of_the_window(report, tmp_path):
    """7 are lost before it, 3 in it, 5 after it; 4 are in flight as it begins, 6 as it ends."""
    s = synthetic.Script()
    for second, (lost, in_flight) in enumerate([(7, 2), (0, 4), (3, 1), (0, 6), (5, 0)]):
        s.io("read", 1e6, 100 + second)
        s.in_flight(in_flight, 5e5)
        if lost:
            s.lines.append(f"account no_start {lost}")
        s.tick()
    file = s.write(tmp_path / "run.blklat")

    def accounted(*args):
        run = report(file, *args)["runs"][0]
        a = run["watches"][0]["accounting"]
        return [a[k] for k in ("started", "completed", "in_flight", "lost")], [f["values"]["lost"] for f in run["findings"] if f["kind"] == "losses"]

    assert accounted() == ([510 + 15, 510, 0, 15], [15])
    # Ended in the window, in flight at its end, and lost: 102 + 103 + 6 + 3.
    assert accounted("--from", "2", "--to", "4") == ([214, 205, 6, 3], [3])
    assert accounted("--from", "3", "--to", "4") == ([109, 103, 6, 0], [])
    blklat("compare", file, "--from", "3", "--to", "4", "--fail-if", "total.lost > 0")
    blklat("compare", file, "--from", "2", "--to", "4", "--fail-if", "total.lost > 2", status=3)


def test_compare_takes_the_window_of_each(file, tmp_path):
    s = synthetic.Script()
    for second in range(40):
        s.io("write", 1e6, 100 + second)
        s.tick()
    other = s.write(tmp_path / "other.blklat")
    document = compared(file, other, "--from", "10", "--to", "20")
    base, beside = document["groups"][0]["runs"]
    assert (base["iops"], beside["iops"], beside["ios"]) == (400, 114.5, 1145)
    assert [run["active"]["from_s"] for run in document["runs"]] == [10, 10]
    assert "rates over 10.0 s to 20.0 s, as asked\n" in blklat("compare", file, other, "--from", "10", "--to", "20")
    blklat("compare", file, other, "--to", "20", "--fail-if", "write.iops > 100", status=3)
    assert blklat("compare", file, other, "--from", "ten", status=2).endswith(f"and {other} has no marks\n")


@pytest.mark.parametrize("args, sentence", [
    (("--from", "eleven"), "--from 'eleven': neither seconds nor a time like 14:03:20, and {} has no mark of that name (its first is 'ten')"),
    (("--to", "twice"), "--to 'twice': {} has 2 marks of that name: give the time in seconds instead"),
    (("--from", "20", "--to", "ten"), "--from '20' is not before --to 'ten': in {} they are at 20.0 s and 10.0 s"),
    (("--from", "100"), "{}: no interval lies between 100.0 s and its end, as --from and --to ask: the run ends at 63.0 s"),
    (("--from", "10.6", "--to", "11.4"), "{}: no interval lies between 10.6 s and 11.4 s, as --from and --to ask: the run ends at 63.0 s"),
    (("--from", "25:00"), "--from '25:00': neither seconds"),
    (("--from", ""), "--from '': neither seconds"),
])
def test_windows_that_can_not_be(file, args, sentence):
    for command in ("report", "compare"):
        files = (file,) if command == "report" else (file, file)
        said = blklat(command, *files, "--format", "json", *args, status=2)
        assert said.startswith(f"blklat {command}: " + sentence.format(file)) and said.count("\n") == 1

# SPDX-License-Identifier: GPL-2.0-only
"""Repeats compared: their figures, and gates that noise does not trip."""
import statistics

import pytest

import synthetic
from recordings import blklat, compared


def repeats(folder, name, medians_ns):
    return [synthetic.steady(seconds=5, iops=5000, p50_ns=ns, seed=i).write(folder / f"{name}{i}.blklat")
            for i, ns in enumerate(medians_ns, 1)]


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """Sides of equal noise; the last is 30 % slower than the first, the second is not."""
    folder = tmp_path_factory.mktemp("repeats")
    return (repeats(folder, "a", (90e3, 95e3, 100e3)), repeats(folder, "same", (99e3, 91e3, 94e3)),
            repeats(folder, "slow", (117e3, 123.5e3, 130e3)))


def sides_compared(base, other, *args, status=0):
    return compared(*args, "--baseline", *base, "--", *other, status=status)


def test_figures(sides):
    base, _, slow = sides
    document = sides_compared(base, slow)
    assert document["repeats"] == {"base": 3, "other": 3, "method": "Welch's t on logarithms", "confidence": 0.95}
    [group] = document["groups"]
    assert len(group["runs"]) == 6
    for key, got in group["repeats"].items():
        values = [run["latency_ns"].get(key, run.get(key)) for run in group["runs"]]
        for side, of in (("base", values[:3]), ("other", values[3:])):
            assert got[side] == {"n": 3, "median": pytest.approx(statistics.median(of), abs=0.1),
                                 "min": pytest.approx(min(of), abs=0.1), "max": pytest.approx(max(of), abs=0.1)}
        assert got["ratio"] == pytest.approx(statistics.median(values[3:]) / statistics.median(values[:3]), rel=1e-4)
    p50 = group["repeats"]["p50"]
    assert 1.1 < p50["ratio_low"] < 1.3 < p50["ratio_high"] < 1.5 and p50["p"] < 0.05


def test_gates(sides):
    base, same, slow = sides
    assert sides_compared(base, slow, "--fail-if", "read.p50 > +10% beyond noise", status=3)["failed"]
    assert not sides_compared(base, same, "--fail-if", "read.p50 > +0% beyond noise", "--fail-if",
                        "read.p50 < -0% beyond noise")["failed"]
    # The medians differ by 1 %, which fails unless the condition allows for noise.
    assert sides_compared(base, same, "--fail-if", "read.p50 < -0.5%", status=3)["failed"]
    [verdict] = sides_compared(base, slow, "--fail-if", "total.p50 > +50% beyond noise")["fail_if"]
    assert not verdict["holds"] and verdict["repeats"]["ratio_low"] > 1
    assert verdict["text"].endswith(": beyond noise") and "medians of 3 and 3" in verdict["text"]
    [verdict] = sides_compared(base, slow, "--fail-if", "read.p50 > 120us", status=3)["fail_if"]
    assert verdict["base"] is None and verdict["value"] == pytest.approx(123.5e3, rel=0.02)
    assert "no such IO" in blklat("compare", "--fail-if", "write.p50 > 1us", "--baseline", *base, "--", *same, status=1)


def constant(folder, name, us):
    """Identical repeats: all IOs are in one bin."""
    script = synthetic.repeated(5, ("read", us * 1000, 1000))
    return [script.write(folder / f"{name}-{i}") for i in range(2)]


def test_one_bin_is_no_change(tmp_path):
    """60 us and 60.5 us are in adjacent bins (the worked row of bins.h), with a bound at 60.377 us; 62 us is two bins further."""
    base, next_bin, far = (constant(tmp_path, f"u{us}", us) for us in (60, 60.5, 62))
    gate = "--fail-if", "read.p99 > +0% beyond noise"
    document = sides_compared(base, next_bin, *gate)
    [verdict] = document["fail_if"]
    assert verdict["value"] > verdict["base"] and verdict["text"].endswith(": within noise")
    p99 = document["groups"][0]["repeats"]["p99"]
    assert p99["ratio"] > 1 > p99["ratio_low"] and p99["p"] == 1
    assert sides_compared(base, far, *gate, status=3)["failed"]
    # The mean is exact.
    assert sides_compared(base, next_bin, "--fail-if", "read.mean > +0% beyond noise", status=3)["failed"]


def test_text_fits_80_columns_and_says_the_method(sides):
    base, _, slow = sides
    lines = blklat("compare", "--fail-if", "read.p50 > +10% beyond noise", "--baseline", *base, "--", *slow,
                   status=3).splitlines()
    assert max(map(len, lines[6:])) <= 80
    rows = [line[:8].strip() for line in lines]
    for name in ("base", "other", "change", "from", "to", "p"):
        assert name in rows
    assert any("Welch" in line for line in lines) and any(line.startswith("FAIL") for line in lines)


def test_markdown(sides):
    base, _, slow = sides
    text = blklat("compare", "-f", "markdown", "--baseline", *base, "--", *slow)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in tables}) == 1 and len(tables) == 2 + 6 + 10
    assert "Welch" in text


@pytest.mark.parametrize("args", [
    (), ("a",), ("a", "b"), ("a", "--", "b"), ("a", "b", "--", "c"), ("a", "b", "--"), ("--", "a", "b"),
])
def test_too_few(args):
    text = blklat("compare", "--baseline", *args, status=2)
    assert text.count("\n") == 1 and "needs 2 repeats of each side" in text


def test_options_stand_before_the_dashes():
    text = blklat("compare", "--baseline", "a", "b", "--", "c", "d", "--fail-if", "read.p99 > 1ms", status=2)
    assert text == "blklat compare: --fail-if comes after '--', where only recordings are expected: put options before it\n"


def test_noise_needs_repeats(sides):
    text = blklat("compare", sides[0][0], sides[1][0], "--fail-if", "read.p50 > +1% beyond noise", status=2)
    assert text.count("\n") == 1 and "--baseline" in text


def test_two_dashes_without_baseline_are_as_before(sides):
    base, _, slow = sides
    assert len(compared(base[0], "--", slow[0])["runs"]) == 2

# SPDX-License-Identifier: GPL-2.0-only
"""How far apart the histograms of two engines that watched the same IOs may be, and why."""
from engines import histogram

# Between the two engines' clock reads at one event, for an IO as fast as most.
JITTER_NS = 25000
MOST = 0.1  # their quantile
# Share of the IOs whose clock reads may be further apart, since the CPU was taken away; a few always may.
HELD_UP, FEW = 0.1, 5


def bins(engine, op, device=None, stage=None):
    """A run's bins in ascending order: [((lower, upper), ios), ...]."""
    return sorted(histogram(engine, op, device, stage).items())


def bin_at(bins, rank):
    """Bounds of the bin that has the IO of a rank, counted from 1."""
    for bounds, n in bins:
        rank -= n
        if rank <= 0:
            return bounds
    raise AssertionError("no IO of that rank")


def apart(first, second):
    """
    The least jitter in ns that explains the difference of two histograms, if HELD_UP of the IOs may be anywhere and
    slower ones jitter in proportion; and the quantile, of 0.01 to 0.99, that needs so much.
    """
    n = sum(count for _, count in first)
    slack = max(HELD_UP * n, FEW)
    usual = bin_at(first, MOST * n)[1]
    worst = []

    def compare(longer, shorter, q):
        worst.append(((longer[0] - shorter[1]) / max(shorter[1] / usual, 1), q))

    for q in (i / 100 for i in range(1, 100)):
        here = bin_at(second, q * n)
        # Beyond the ends there is nothing to compare with.
        if q * n - slack > 0:
            compare(bin_at(first, q * n - slack), here, q)
        if q * n + slack <= n:
            compare(here, bin_at(first, q * n + slack), q)
    # A raid1 may send a member so few reads that all of them may be anywhere.
    return max(worst, default=(0, None))


def assert_histograms_agree(engines, device=None, stage=None):
    """
    Each quantile of one engine, give or take HELD_UP of the IOs, is that of the other, give or take
    JITTER_NS and the width of their bins.

    An IO has one latency, but each engine reads the clock for itself. At the start and at the end they do so
    one after the other, in the order in which they attached. So the second engine sees an IO longer by
    what the first does after its clock read at the end (all of its counting, since it reads the clock first
    of all), and shorter by what the first does after its clock read at the start (hardly anything, since
    there it reads the clock last). In emulation the latencies of the second, kmod, are longer by 1 to 4 us
    at stage device, for all IOs alike, and by less than 1 us at the other stages, where the work at the start
    takes as long. A request of many bios is further apart where stage total is watched too: the first engine
    ends all of them before the second has its turn.

    Besides, the CPU may be taken away between the two clock reads, by an interrupt or by the host: for as
    long as a time slice, and on a machine with four times as much work as CPUs, for more than one IO in
    twenty on the fastest devices. The next IOs find the caches cold and take several times as long, and so
    does the work of the engines in them. Hence the limits: a share of the IOs instead of a limit for each,
    a jitter in proportion to what IOs take above the usual, and no bound for means, which a few such IOs
    moved by up to a fifth. Instead, assert_sums_are_bins() ties each engine's mean to its histogram. A clock
    that is 5 % or 30 us off is still found.
    """
    for op in engines.bpf.ops(device, stage):
        first, second = (bins(b, op, device, stage) for b in engines)
        ns, q = apart(first, second)
        assert ns <= JITTER_NS, f"{op}s of stage {stage}: {ns:.0f} ns apart at quantile {q}"


def unsettled(intervals):
    """
    By how much the sum of a run's latencies may be too large. The mean of an interval is at least its least latency; what
    its sum lacks for that is taken from the next interval's (frame.c), and after the last there is none.
    """
    last = intervals[-1]
    least = last["latency_ns"]["min"]
    return least * last["ios"] if last["latency_ns"]["mean"] <= least else 0


def assert_sums_are_bins(engines, device=None, stage=None):
    """
    The exact sum of each engine's latencies is possible with its bins. This holds for the whole run only: an IO that
    ends while the counters are read may have its bin in one interval and its latency in the sum of the one before.
    """
    for b in engines:
        for op in b.ops(device, stage):
            intervals = [o for line in b.of(device, stage) for o in line["ops"] if o["op"] == op]
            total = sum(o["latency_ns"]["mean"] * o["ios"] for o in intervals)
            low, high = (sum(bounds[i] * n for bounds, n in bins(b, op, device, stage)) for i in (0, 1))
            assert low * (1 - 1e-9) <= total <= high * (1 + 1e-9) + unsettled(intervals), \
                f"{op}s of {stage}: {low} <= {total} <= {high}, {intervals[-1]}"

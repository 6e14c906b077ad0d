# SPDX-License-Identifier: GPL-2.0-only
"""How far the histograms of two engines that watched the same IOs may be apart, and why."""
from engines import histogram

# Between the clock reads of the two engines at one event of an IO as fast as most.
JITTER_NS = 25000
MOST = 0.1  # the quantile of those
# Share of the IOs with clock reads further apart, since the CPU was taken away; so many may always be.
HELD_UP, FEW = 0.1, 5


def bins(engine, op, device=None, stage=None):
    """A run's bins in ascending order: [((lower, upper), ios), ...]."""
    return sorted(histogram(engine, op, device, stage).items())


def bin_at(bins, rank):
    """Bounds of the bin with the IO of a rank, counted from 1."""
    for bounds, n in bins:
        rank -= n
        if rank <= 0:
            return bounds
    raise AssertionError("no IO of that rank")


def apart(first, second):
    """
    The least jitter in ns by which one histogram can be the other's, if HELD_UP of the IOs may be anywhere and
    slower ones jitter in proportion; and at which quantile, of 0.01 to 0.99, it takes so much.
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
    One engine's IOs are the other's: each quantile of one, give or take HELD_UP of the IOs, is that of the
    other, give or take JITTER_NS and what their bins leave open.

    An IO has one latency, but each engine reads the clock for itself, at the start as at the end one
    after the other, in the order in which they attached. So the engine that is the second at each
    event sees an IO longer by what the first does after its own reading at the end (all of its
    counting, since it reads the clock first of all), and shorter by what the first does after
    its reading at the start (hardly anything, since there it comes last). Emulated, that makes the
    latencies of the second, kmod, longer by 1 to 4 us at stage device, all IOs alike, and by less than 1 us
    at the others, where what is done at the start takes as long. A request of many bios, where stage total
    is watched too, is further apart: the first engine ends all of them before the second has its turn.

    What remains is the CPU being taken away between the two readings, by an interrupt or by the host
    from its emulator: for as long as a time slice, and on a machine with four times as much to do as it has
    CPUs for more than one IO in twenty of the fastest devices. The next IOs find the caches cold and take several
    times as long, as does what the engines do in them. Hence a share of IOs, not a limit for each, and a jitter in
    proportion to what IOs take above the usual; and no bound for means, which a few such IOs moved by up to a
    fifth: assert_sums_are_bins() ties each engine's mean to its histogram instead. A clock that is 5 % or 30 us
    off is found all the same.
    """
    for op in engines.bpf.ops(device, stage):
        first, second = (bins(b, op, device, stage) for b in engines)
        ns, q = apart(first, second)
        assert ns <= JITTER_NS, f"{op}s of stage {stage}: {ns:.0f} ns apart at quantile {q}"


def assert_sums_are_bins(engines, device=None, stage=None):
    """
    The exact sum of each engine's latencies is one that its bins can have. Over the run: an IO that ends while
    the counters are read may have its bin in one interval and its latency in the sum of the one before.
    """
    for b in engines:
        for op in b.ops(device, stage):
            total = sum(o["latency_ns"]["mean"] * o["ios"]
                        for line in b.of(device, stage) for o in line["ops"] if o["op"] == op)
            low, high = (sum(bounds[i] * n for bounds, n in bins(b, op, device, stage)) for i in (0, 1))
            assert low * (1 - 1e-9) <= total <= high * (1 + 1e-9), f"{op}s of {stage}: {low} <= {total} <= {high}"

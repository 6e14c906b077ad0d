# SPDX-License-Identifier: GPL-2.0-only
"""
An independent third witness: bcc traces every single IO, and this file ranks them. On one kernel only,
since bcc compiles anew for each, with the kernel's headers.
"""
import math
import os

import pytest
from engines import both, histogram, quantile
from guest import KERNEL, SINGLE, null_blk
from jitter import HELD_UP, JITTER_NS, MOST
from load import BIN, fio, wait_until
from slow import slow_of

IOS = 2000
SLOW = "--slow", "1us", "--slow-max", "10000"
# At both events its program comes before the engines'. It reads the clock last of all, so what it does is in nobody's latencies.
PROGRAM = b"""
#include <linux/blk-mq.h>

struct end { u64 ns, sector; u32 pid, bytes; };
BPF_HASH(senders, u64, u32);
BPF_HASH(starts, u64, u64);
BPF_ARRAY(ends, struct end, 4096);
BPF_ARRAY(n_ends, int, 1);

/* As biosnoop has it, but where that looks for who sent a request this kernel has no probe: who queued the bio at its sector did. */
RAW_TRACEPOINT_PROBE(block_bio_queue)
{
	struct bio *bio = (void *)ctx->args[0];
	u64 sector = bio->bi_iter.bi_sector;
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	senders.update(&sector, &pid);
	return 0;
}

RAW_TRACEPOINT_PROBE(block_rq_issue)
{
	u64 rq = ctx->args[0], zero = 0, *start;

	starts.update(&rq, &zero);
	start = starts.lookup(&rq);
	if (start)
		*start = bpf_ktime_get_ns();
	return 0;
}

/* One IO at a time: no two programs take the same place. */
RAW_TRACEPOINT_PROBE(block_rq_complete)
{
	u64 number = ctx->args[0], sector, began, *start = starts.lookup(&number);
	struct request *rq = (void *)ctx->args[0];
	int zero = 0, n, *n_all = n_ends.lookup(&zero);
	struct end *end;
	u32 *pid;

	if (!start || !n_all)
		return 0;
	n = (*n_all)++;
	end = ends.lookup(&n);
	if (!end)
		return 0;
	sector = rq->__sector;
	pid = senders.lookup(&sector);
	end->sector = sector;
	end->pid = pid ? *pid : 0;
	end->bytes = rq->__data_len;
	began = *start;
	starts.delete(&number);
	end->ns = bpf_ktime_get_ns() - began;
	return 0;
}
"""


class Trace:
    """Every IO of all devices from the moment it is made: its latency in ns, its process and its place."""

    def __init__(self):
        # Imported here, so that only the kernel with this test needs it.
        from bcc import BPF
        self.bpf = BPF(text=PROGRAM)

    def finish(self, n):
        wait_until(lambda: self.bpf[b"n_ends"][0].value >= n, f"{n} IOs")
        ends = [self.bpf[b"ends"][i] for i in range(self.bpf[b"n_ends"][0].value)]
        self.bpf.cleanup()
        self.ns = sorted(end.ns for end in ends)
        self.ios = sorted((end.pid, end.sector, end.bytes) for end in ends)

    def range(self, q, slack):
        """The latencies of the ranks around a quantile's, as fio ranks."""
        ranks = (math.ceil((q - slack) * len(self.ns)), math.ceil(min(q + slack, 1) * len(self.ns)))
        return [self.ns[rank - 1] for rank in ranks]


@pytest.mark.before_release
@pytest.mark.skipif(KERNEL != (6, 1) or os.uname().machine != "x86_64",
                    reason="bcc compiles for each kernel anew: on 6.1 for x86-64 alone")
def test_against_bcc():
    with null_blk(irqmode=2, completion_nsec=500000) as (device,):
        trace = Trace()
        with both(device, interval=300, bpf_args=SLOW, kmod_args=SLOW) as e:
            f = fio(device, number_ios=IOS, thread=1, **SINGLE)
        trace.finish(IOS)
    e.agree(device)
    assert len(trace.ns) == f.ios("read") == IOS
    # As biosnoop would show them: the same IOs, none missing, by process, sector and size.
    for b in e:
        assert sorted((io["pid"], io["sector"], io["bytes"]) for io in slow_of(b, device)) == trace.ios
        (line,) = b.lines
        (op,) = line["ops"]
        assert op["op"] == "read" and op["ios"] == IOS
        for name, q in ("p50", 0.5), ("p90", 0.9), ("p99", 0.99):
            low, high = trace.range(q, HELD_UP)
            assert low / BIN ** 2 - JITTER_NS <= op["latency_ns"][name] <= high * BIN ** 2 + JITTER_NS, name
        # Where hardly any IO is held up, its neighbours need no look.
        exact = trace.range(MOST, 0)[0]
        assert abs(quantile(histogram(b, "read"), MOST) - exact) <= exact * (BIN ** 2 - 1) + JITTER_NS
        print(line["engine"], {k: (op["latency_ns"][k], trace.range(q, 0)[0]) for k, q in (("p50", .5), ("p90", .9))})

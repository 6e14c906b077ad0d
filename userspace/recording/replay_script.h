/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text script that the replay engine plays. One statement a line, words separated by blanks,
 * "double quotes" around blanks (\" and \\ inside), comments from a word that begins with '#'.
 * The first line is
 *
 *   blklat-replay 1
 *
 * Then what is true for the whole run, before anything happens:
 *
 *   engine NAME                  that captured; default "replay"
 *   scale 0..6                   finest resolution; default 6. A coarser one can be asked for
 *   cpus N                       slack of the accounting; default 1
 *   memory BYTES                 that the counters took; default: what the series of abi.h take
 *   idle-gap TIME                least pause before an IO that makes it one of after-idle; default: none is
 *                                looked for. Above 0, written as LATENCY below
 *   by size|flags|depth|beside|cgroup
 *                                each watch is divided so, and each 'io' and 'part' counted in the part that it says; by size, in
 *                                that of its BYTES, if it says none
 *   slow-max MOST                slow IOs are told by themselves, of a watch and interval MOST at most
 *   start TIME                   as 2026-11-21T07:35:00.000Z; default 1970-01-01T00:00:00Z
 *   device NAME [kind=TEXT] [model=TEXT] [mapper=TEXT] [scheduler=TEXT] [size=BYTES]
 *               [queues=N] [tags=N]
 *   watch NAME STAGE             of a device above; STAGE is device, queue or total. At least one
 *
 * Then what happens. It belongs to the watch that 'on' chose last, at first to the first one:
 *
 *   on NAME STAGE
 *   io OP LATENCY BYTES [xCOUNT] [errors=N] [in=PART] [after-idle]
 *                                COUNT IOs (1) complete, each of this latency and size; N of them
 *                                fail. OP is read, write, flush, discard or other. after-idle: each
 *                                was issued after a pause
 *   part OP BYTES [errors=N] [in=PART]
 *                                a part of an IO that has yet to end completes, N times with an error; the 'io'
 *                                that ends it has the rest of the bytes and errors
 *   slow OP LATENCY BYTES [KEY=VALUE] ... [in=PART] [xCOUNT]
 *                                COUNT IOs (1) are told by themselves, which 'io' counts; MOST of them are kept. KEY is one of
 *                                ago (before the tick, TIME), sector, error (a blk_status_t), queue, device (LATENCY), hw-queue, cpu
 *                                (that it was sent on), pid with comm, thread (a kernel thread's pid), cgroup
 *   in-flight N [oldest=AGE [waited=TIME]]
 *                                as seen at each tick from now on; TIME is the sum of the ages
 *   account CELL N               N more in a cell of abi.h: requeued, no_start, overwritten,
 *                                tag_range, table_full, before or unissued
 *   starts +N|-N                 the start events seen are N more or less than follow from the rest
 *   after [starts=N] [in-flight=N]
 *                                seen after the bins were read, at the next tick only: N start
 *                                events more, and how many in flight
 *   kernel-ios +N|-N|unknown     the kernel counts N IOs more or less than complete here
 *   skipped N                    N more program runs that the kernel skipped and none made up for, all watches
 *   gone                         the device is gone at the next tick, and all of its watches with it
 *   tick SECONDS [at=TIME]       the interval ends, SECONDS after the one before; at= sets the wall
 *                                clock, which else moves as far. The last statement of a script
 *
 * LATENCY, AGE and TIME are a number and ns, us, ms or s, whole in ns. The start events of an interval
 * follow from it: one for each IO that completed, that was requeued or overwritten, and for each
 * that is in flight and was not before. Where more have left than completed, the difference is lost
 * without a reason, as it would be with a live engine.
 */
#ifndef RECORDING_REPLAY_SCRIPT_H
#define RECORDING_REPLAY_SCRIPT_H

#include "blklat/parts.h"
#include "core/slow.h"
#include "core/snapshot.h"
#include "util/problem.h"

#define REPLAY_DEVICES_MAX 64
#define REPLAY_WATCHES_MAX 128

enum replay_kind {
	REPLAY_IO,
	REPLAY_PART,
	REPLAY_SLOW,
	REPLAY_IN_FLIGHT,
	REPLAY_ACCOUNT,
	REPLAY_STARTS,
	REPLAY_AFTER,
	REPLAY_KERNEL,
	REPLAY_KERNEL_UNKNOWN,
	REPLAY_SKIPPED,
	REPLAY_GONE,
	REPLAY_TICK,
};

/* One statement of the second part; a field that a kind does not name is 0. */
struct replay_event {
	enum replay_kind kind;
	u32 watch;
	u32 what;		/* IO, part: op. account: cell. after: 1 when in_flight is given */
	bool after_idle;	/* IO */
	u32 part;		/* IO, part: number of the watch's part; 0: it has none */
	struct slow_io *slow;	/* slow: what is told, but for its watch and part; its end is how long before the tick */
	u64 n;			/* IO, slow, account, skipped, in-flight, after: how many */
	u64 ns;			/* IO: latency. in-flight: age. tick: length */
	u64 waited_ns;		/* in-flight */
	u64 bytes;		/* IO: of one. part */
	u64 errors;		/* IO, part */
	u64 in_flight;		/* after */
	s64 more;		/* starts, kernel-ios: difference. tick: wall clock at the end */
};

struct replay_script {
	char engine[32];
	u32 scale;
	u32 cpus;
	u64 memory_bytes;	/* 0: not given */
	u64 idle_gap_ns;	/* 0: not looked for */
	u64 slow_most;		/* 0: slow IOs are not told */
	enum blklat_by by;
	u32 n_cgroups;
	const struct part *cgroups[BLKLAT_CGROUPS_MAX];	/* by cgroup: the parts after the fixed ones */
	s64 start_ns;		/* CLOCK_REALTIME */
	u32 n_devices;
	struct device *devices;	/* REPLAY_DEVICES_MAX of them, so that they never move */
	u32 n_watches;		/* wholes */
	struct watch watches[REPLAY_WATCHES_MAX];
	u32 n_events;
	struct replay_event *events;	/* the last one is a tick */
};

/*
 * Reads @file whole. No sum over a script that was accepted exceeds 2^62. Returns 0, or -EINVAL
 * (sentence with file and line), -ENOMEM, or the errno of opening or reading the file.
 */
int replay_script_read(struct replay_script *s, const char *file, struct problem *p);
void replay_script_free(struct replay_script *s);

#endif

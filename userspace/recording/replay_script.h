/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text script that the replay engine plays. It has one statement a line. Words are separated by
 * blanks; "double quotes" protect blanks (\" and \\ work inside). A word that begins with '#' starts a
 * comment. The first line is
 *
 *   blklat-replay 1
 *
 * Then come the facts about the whole run:
 *
 *   engine NAME                  the engine that captured; default "replay"
 *   scale 0..6                   finest resolution; default 6. A replay can use a coarser one
 *   cpus N                       slack of the accounting; default 1
 *   memory BYTES                 memory that the counters took; default: that of the series of abi.h
 *   idle-gap TIME                an IO that comes after a pause of at least TIME counts as after-idle;
 *                                default: pauses are not looked for. Above 0, written as LATENCY below
 *   by size|flags|depth|beside|cgroup
 *                                divides each watch. Each 'io' and 'part' counts in the part that it
 *                                names; by size, if it names none, in that of its BYTES
 *   slow-max MOST                slow IOs are reported, at most MOST of a watch and interval
 *   start TIME                   as 2026-11-21T07:35:00.000Z; default 1970-01-01T00:00:00Z
 *   device NAME [kind=TEXT] [model=TEXT] [mapper=TEXT] [scheduler=TEXT] [size=BYTES]
 *               [queues=N] [tags=N]
 *   watch NAME STAGE             of a device above; STAGE is device, queue or total. At least one
 *
 * Then comes what happens. It belongs to the watch that 'on' chose last, and before any 'on' to the
 * first one:
 *
 *   on NAME STAGE
 *   io OP LATENCY BYTES [xCOUNT] [errors=N] [in=PART] [after-idle]
 *                                COUNT IOs (1) complete, each of this latency and size; N of them
 *                                fail. OP is read, write, flush, discard or other. after-idle: each
 *                                was issued after a pause
 *   part OP BYTES [errors=N] [in=PART]
 *                                a part of an unfinished IO completes, with N errors; the 'io' that
 *                                ends it has the rest of the bytes and errors
 *   slow OP LATENCY BYTES [KEY=VALUE] ... [in=PART] [xCOUNT]
 *                                COUNT slow IOs (1) are reported; an 'io' has to count them as well. At most
 *                                MOST are kept. KEY is one of ago (TIME before the tick), sector, error
 *                                (a blk_status_t), queue, device (LATENCY), depth (from 1), beside (as PART
 *                                by beside), flags (as PART by flags), hw-queue, cpu (that sent it), pid with
 *                                comm, thread (a kernel thread's pid), cgroup
 *   in-flight N [oldest=AGE [waited=TIME]]
 *                                as seen at each tick from now on; TIME is the sum of the ages
 *   account CELL N               N more in a cell of abi.h: requeued, no_start, overwritten,
 *                                tag_range, table_full, before or unissued
 *   starts +N|-N                 N start events more or less were seen than follow from the rest
 *   after [starts=N] [in-flight=N]
 *                                what was seen after the bins were read, at the next tick only: N more
 *                                start events, and how many IOs in flight
 *   kernel-ios +N|-N|unknown     the kernel counts N IOs more or less than complete here
 *   skipped N                    the kernel skipped N more program runs, which were not made up for; all
 *                                watches together
 *   gone                         the device is gone at the next tick, with all of its watches
 *   tick SECONDS [at=TIME]       the interval ends, SECONDS after the previous one; at= sets the wall
 *                                clock, which otherwise advances as far. A script has to end with a tick
 *
 * LATENCY, AGE and TIME are a number and ns, us, ms or s, and have to be whole in ns. The start events
 * of an interval follow from the rest: one for each IO that completed, or was requeued or overwritten,
 * and one for each that is in flight and was not before. If more IOs have left than completed, the
 * difference is lost without a reason, as it would be with a live engine.
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

/* One statement of the second part; fields that do not belong to its kind are 0. */
struct replay_event {
	enum replay_kind kind;
	u32 watch;
	u32 what;		/* IO, part: op. account: cell. after: 1 if in_flight is given */
	bool after_idle;	/* IO */
	u32 part;		/* IO, part: number of the watch's part; 0: it has none */
	struct slow_io *slow;	/* slow: the IO, without watch and part; its end is the time before the tick */
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
	u64 slow_most;		/* 0: slow IOs are not reported */
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
 * Reads all of @file. No sum over a script that was accepted exceeds 2^62. Returns 0, or -EINVAL
 * (sentence with file and line), -ENOMEM, or the errno of opening or reading the file.
 */
int replay_script_read(struct replay_script *s, const char *file, struct problem *p);
void replay_script_free(struct replay_script *s);

#endif

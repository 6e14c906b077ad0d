/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * What a capture engine counts and where, and how the kernel module hands it out.
 *
 * An engine watches pairs of (device, stage), called watches, numbered from 0. For each it keeps
 * flat arrays of u64 that userspace maps read-mostly; it only ever adds to them. Userspace
 * reads them each interval and subtracts what it read before. Nothing is reset under the engine's
 * feet, so nothing is lost between a read and a clear.
 *
 * A watch may be divided into parts (enum blklat_by). The parts are watches too: they follow the watch that they
 * divide, and each has its own series. An IO is counted in those of its part, so the whole is the sum of its own
 * series and those of its parts. Slots and accounts belong to the whole.
 *
 *   series    [watch][op] + spare    one struct blklat_series, see below: sum, bytes, errors,
 *                                    extremes and the latency bins of bins.h
 *   own       [cpu][watch]           struct blklat_own: which of the spare series the CPU has for itself
 *   accounts  [cpu][whole]           BLKLAT_ACCOUNTS cells: starts and ends that did not make a counted IO, and why
 *   idle      [watch][op]            only if pauses are looked for; one struct blklat_idle_series: the IOs
 *                                    after a pause, which are counted in series as well
 *   slots     [device's slots / 32]  one slot for each tag that a request of the device can carry, at both of its
 *                                    stages: start time, number of starts, number of ends
 *
 * If slow IOs are reported (slow.h), there are also
 *
 *   slow_from    [watch][op]         the latency from which an IO is slow, in ns, written by userspace; all ones: no IO
 *                                    is
 *   slow_untold  [watch]             number of slow or failed IOs that were not reported because the ring was full
 *   slow_ring                        the IOs that were reported
 *
 * The first two are used only for whole watches, not for parts.
 *
 * The series of a watch and op is shared: any CPU counts there, atomically. Userspace gives the CPUs that count most
 * often a spare series each, in which that CPU alone counts, plainly, and takes it back when it is not used
 * (engine/own.h). So what was counted is the sum of the shared series and of those that CPUs have. BPF programs that
 * may interrupt each other count in the shared ones (bpf/series.bpf.h), and have a row of accounts more, which all
 * CPUs share. A CPU writes its own accounts, and a tag belongs to one request at a time, so no other write needs to
 * be atomic, except in idle, because IOs after a pause are rare. The number of IOs has no cell: it is the sum of the
 * bins, so the two can't disagree.
 *
 * Order of the writes, for concurrent readers. At a start: the time, then the number of starts. At an end: the report
 * of a slow IO, the extremes, the number of ends, the slot freed, and the bin last. So a reader that sees an IO in
 * the bins also sees its extremes and its report. A reader that takes starts, time and ends, in this order, never
 * sees more starts than the ends and the IOs in flight explain, unless an end was missed. At stage queue, starts are
 * in the accounts, as those of bios are, and ends show only in the slot.
 *
 * The kernel module's protocol, version BLKLAT_ABI_VERSION. Each open /dev/blklat is one session:
 *
 *   open(O_RDWR)               EACCES without write access; only root may open the node
 *   ioctl(BLKLAT_IOC_VERSION)  which version the module speaks; every version has this one
 *   ioctl(BLKLAT_IOC_SETUP)    says what to watch; ends are seen from here on
 *   mmap(header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, offset 0), once: EBUSY for a second,
 *                              EACCES with PROT_EXEC; it can't grow, and no child inherits it
 *   ioctl(BLKLAT_IOC_START)    starts, and their ends, are counted from here on; once, EBUSY for a
 *                              second. If it fails, the session sees nothing more and has to be closed. Returns 1 if
 *                              stage total includes the wait for limits of cgroups, else 0
 *   ...                        userspace reads the mapping; nothing is asked of the kernel
 *   ioctl(BLKLAT_IOC_BIOS)     reads the bios in flight at stage total, which are not in the mapping
 *   ioctl(BLKLAT_IOC_CGROUPS)  reads which cgroup or process has which part, which is not in the mapping either
 *   ioctl(BLKLAT_IOC_LEAVE)    releases parts whose cgroup or process has ended
 *   ioctl(BLKLAT_IOC_WAIT)     waits until no event that began before the call is still being counted; EINVAL before
 *                              BLKLAT_IOC_SETUP
 *   ioctl(BLKLAT_IOC_ADD)      watches another device and stage
 *   ioctl(BLKLAT_IOC_REMOVE)   stops watching one
 *   ioctl(BLKLAT_IOC_MOVE)     gives a device other slots. EINVAL before BLKLAT_IOC_START, as the two above
 *   close, or the process ends: everything is undone
 *
 * SETUP and START are separate so that userspace can read the kernel's own statistics in between. Of every IO that
 * these count from then on, the session either sees the start, or counts the end in BLKLAT_BEFORE.
 *
 * The mapping begins with a struct blklat_header that says where the arrays are. Userspace writes only the epoch, the
 * extremes' cells of the next interval, own, a series that it takes back and the shared one that takes its counts,
 * slow_from, and how far it has read the ring. The kernel trusts none of this: it never takes an address or a size
 * from the mapping, and checks the numbers in own.
 */
#ifndef BLKLAT_ABI_H
#define BLKLAT_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The sections of an IO's life; the letters are blktrace's. */
enum blklat_stage {
	BLKLAT_STAGE_DEVICE,	/* D2C: block_rq_issue to block_rq_complete */
	BLKLAT_STAGE_QUEUE,	/* I2D: block_rq_insert to block_rq_issue */
	/* Q2C: block_bio_queue, or earlier, where a cgroup's limit may hold the bio back, to block_bio_complete */
	BLKLAT_STAGE_TOTAL,
	/*
	 * Q2G: from the same moment to block_getrq, or to the merge into another request. Only beside stage total,
	 * whose number of the same device is the one before it: see struct blklat_watch.
	 */
	BLKLAT_STAGE_WAIT,
	BLKLAT_STAGES,
};

/* Whether the IOs of a stage are bios, which have no tags and so no slots. The others are requests. */
#define BLKLAT_OF_BIOS(stage) ((stage) == BLKLAT_STAGE_TOTAL || (stage) == BLKLAT_STAGE_WAIT)

enum blklat_op {
	BLKLAT_OP_READ,
	BLKLAT_OP_WRITE,	/* zone append, too */
	BLKLAT_OP_FLUSH,
	BLKLAT_OP_DISCARD,
	BLKLAT_OP_OTHER,	/* write zeroes, zone commands, secure erase, passthrough */
	BLKLAT_OPS,
};

/* Cells of an accounts row. */
enum blklat_account {
	BLKLAT_REQUEUED,	/* starts taken back: the request will be started again, or a bio that must not
				   wait would have had to wait (BLK_STS_AGAIN) */
	BLKLAT_NO_START,	/* completed, but its start was never seen: lost */
	BLKLAT_OVERWRITTEN,	/* started, and started again before its end was seen: lost; at stage device
				   the slots show it instead */
	BLKLAT_TAG_RANGE,	/* started with a tag beyond the slots: lost */
	BLKLAT_TABLE_FULL,	/* a bio that found no room in the table of bios: lost */
	BLKLAT_BEFORE,		/* completed, started before the capture began: ignored, not lost */
	BLKLAT_UNISSUED,	/* ended without ever reaching the device (an error): ignored, not lost */
	BLKLAT_EMPTY_FLUSH,	/* requests without data that asked for a flush: the flush is the IO,
				   but the kernel's statistics count a write as well */
	BLKLAT_STARTED,		/* started; at stage device the slots count it instead */
	BLKLAT_BUSY,		/* see below */
	BLKLAT_ACCOUNTS,
};

/*
 * For how long at least one IO was in flight, if IOs in flight are counted (parts.h): a cell of the last row alone, to
 * which all CPUs add. An IO that begins while there is none adds -(its start time + BLKLAT_PERIOD); the one that leaves
 * none behind adds its end + BLKLAT_PERIOD. So at any time t the cell is the time so far less n * (t + BLKLAT_PERIOD),
 * where n periods have not ended; that time is smaller than half of BLKLAT_PERIOD, so it is the remainder nearest to 0.
 * n is 0 or 1, but for edges that follow each other on two CPUs: either may be added first.
 */
#define BLKLAT_PERIOD (1ULL << 58)

/* What the IOs of a watch are divided by. */
enum blklat_by {
	BLKLAT_BY_NOTHING,
	/* All of these are determined where the stage begins; the parts are in parts.h. */
	BLKLAT_BY_SIZE,		/* bytes */
	BLKLAT_BY_FLAGS,	/* the purpose of the IO, by its flags */
	BLKLAT_BY_DEPTH,	/* how many IOs are in flight there, this one included */
	BLKLAT_BY_BESIDE,	/* the strongest kind among the other IOs in flight there */
	BLKLAT_BY_CGROUP,	/* the cgroup that is charged for the IO */
	BLKLAT_BY_PROCESS,	/* the process that begins the stage */
	BLKLAT_BY_PRIORITY,	/* the class and level of its bio's priority */
	BLKLAT_BY_OPERATION,	/* what the kernel calls its op */
	BLKLAT_BYS,
};

/*
 * Modules of this version and recordings store these numbers, so add a new stage, op, account or by at
 * the end.
 */
_Static_assert(BLKLAT_STAGE_WAIT == 3 && BLKLAT_OP_OTHER == 4 && BLKLAT_BUSY == 9 && BLKLAT_BY_OPERATION == 8,
	       "numbers stay");

/*
 * 32 start-time slots. The number of a request's slot is, within its device,
 *   hardware queue * distance + (internal_tag >= 0 ? internal_tag : tag)
 * distance is stride; with shared tags it is 0. The scheduler's tag comes first because a requeue gives the driver
 * tag back before its tracepoint. The two share their slots: while there is a scheduler, every request has one of its
 * tags (blk_mq_rq_ctx_init(); a flush takes that of its first request, blk_kick_flush()), and schedulers change while
 * no request is in flight.
 *
 * A start often happens on another CPU than the end. So starts and ends are counted in separate cache lines (pairs of
 * lines, as processors fetch two at a time). A start only writes to the lines of the times, so it never waits for
 * those. If the end of an earlier IO in the slot was missed, the counts show it. They wrap: differences modulo 2^32
 * count.
 *
 * A request waits at stage queue or is in the driver, never both, so the two stages share its slot: a bit of the time
 * tells them apart. The counts are those of stage device.
 */
#define BLKLAT_SLOTS 32
struct blklat_slots {
	__u64 ns[BLKLAT_SLOTS];		/* CLOCK_MONOTONIC, or one of the two below; perhaps with the bits below */
	__u32 started[BLKLAT_SLOTS];
	__u32 ended[BLKLAT_SLOTS];	/* completed or requeued */
};
_Static_assert(sizeof(struct blklat_slots) == 4 * 128, "whole pairs of cache lines");

/* nothing was seen here since the capture began; or a request left the queue, and stage device does not begin */
#define BLKLAT_SLOT_UNUSED 0
#define BLKLAT_SLOT_FREE 1	/* the last IO that started here has ended */
/* A bit of a time: issued after a pause. The clock never reaches it. */
#define BLKLAT_SLOT_AFTER_IDLE (1ULL << 63)
/*
 * A bit of a time, and of the two values above: one of the tracepoint's BPF programs has handled the
 * latest event here, so the programs after it have nothing to do (bpf/counters.bpf.h). Readers ignore
 * the bit; the kernel module never sets it.
 */
#define BLKLAT_SLOT_SEEN (1ULL << 62)
#define BLKLAT_SLOT_QUEUED (1ULL << 61)	/* a bit of a time: it is that of stage queue */
/*
 * In a watch with parts, these bits of a time hold the number of the IO's part, from 1. So the part at
 * the IO's end is the part at its start, even if its size has changed since. If IOs in flight are
 * counted by kind, the upper four bits hold the IO's kind (parts.h), for the same reason; otherwise
 * they belong to the part. Readers ignore the kind.
 *
 * The clock's own bits in this place are left out. So a time means the moment nearest to the reader's
 * clock that has the remaining bits: an age is right up to 2^52 ns, 52 days.
 */
#define BLKLAT_SLOT_PART_SHIFT 53
#define BLKLAT_SLOT_KIND_SHIFT 57
#define BLKLAT_PARTS_MAX 255
#define BLKLAT_SLOT_SEEN_FREE 2
#define BLKLAT_SLOT_VACANT 3	/* only values above it are times */

/* First cells of a series; the bins follow, BLKLAT_CELLS(scale) of them. */
struct blklat_series {
	__u64 sum_ns;
	__u64 bytes;
	__u64 errors;
	__u64 octaves;		/* bit o: bins of octave o are in use, see blklat_octave() */
	/* Two cells each, one for even and one for odd intervals, so that each interval has its own extremes: */
	__u64 max_ns[2];
	__u64 not_min_ns[2];	/* ~min, so that 0 means "no IO" here as well */
	__u64 bins[];
};
_Static_assert(sizeof(struct blklat_series) == 64, "the bins begin at a cache line");

/*
 * The series that a CPU has of one watch. A series may be given to another CPU after BLKLAT_IOC_WAIT (of BPF
 * programs: a grace period of RCU).
 */
struct blklat_own {
	__u32 series[BLKLAT_OPS];	/* the number of a spare series; 0: none, so the CPU counts in the shared one */
	/* how often it has counted in the shared one; set to 0 by userspace, so not exact */
	__u32 shared[BLKLAT_OPS];
};
_Static_assert(sizeof(struct blklat_own) == 40, "no padding");

/* Bytes of a series at a scale, rounded up to a cache line so that CPUs never share one. */
#define BLKLAT_SERIES_BYTES(cells) ((sizeof(struct blklat_series) + (cells) * 8 + 63) / 64 * 64)

/* The IOs of one watch and op that followed a pause: sum of their latencies, and bins at BLKLAT_IDLE_SCALE(). */
struct blklat_idle_series {
	__u64 sum_ns;
	__u64 bins[];
};

#define BLKLAT_IDLE_SERIES_BYTES(cells) (sizeof(struct blklat_idle_series) + (cells) * 8)

/* The scale of an idle series beside series at @scale: it holds few IOs, so coarse bins are enough. */
#define BLKLAT_IDLE_SCALE(scale) ((scale) < 3 ? (scale) : 3)

/* --- the kernel module's session ------------------------------------------------------------ */

#define BLKLAT_ABI_VERSION 20
#define BLKLAT_MAGIC 0x74616c6b6c62ULL	/* "blklat" */
#define BLKLAT_MAX_WATCHES 65536
#define BLKLAT_MAX_BIOS (16 << 20)
#define BLKLAT_MAX_SLOW_PLACES (1 << 20)
#define BLKLAT_MAX_NOTES (4 * BLKLAT_MAX_BIOS)
#define BLKLAT_MAX_SPARE (1 << 24)
#define BLKLAT_MAX_SLOTS (1 << 26)

/* The beginning of the mapping. Offsets and sizes are in bytes. */
struct blklat_header {
	__u64 magic;
	__u32 version;
	__u32 cpus;		/* rows of own and accounts: one for each possible CPU number */
	__u32 watches;		/* parts and room included */
	__u32 scale;
	__u32 series_bytes;	/* from one series to the next */
	__u32 epoch;		/* number of the interval, set by userspace; its parity selects the extremes */
	__u32 series;		/* their number: watches * BLKLAT_OPS, and the spare ones */
	__u32 pad;
	__u64 series_offset;
	__u64 own_offset;
	__u64 accounts_offset;
	__u64 slots_offset;
	__u64 idle_offset;	/* 0: pauses are not looked for */
	__u64 slow_from_offset;	/* 0: slow IOs are not reported; then the next two are 0 as well */
	__u64 slow_untold_offset;
	__u64 slow_ring_offset;	/* struct blklat_slow_ring, with the number of places that was asked for */
	__u64 bytes;		/* of the whole mapping */
};
_Static_assert(sizeof(struct blklat_header) == 112, "no padding");

/*
 * One device and stage to watch, a whole: with parts, the whole with number n is watch n * (1 + parts) of the region.
 * Its slots are those of the session's from first_slot on: queues * stride; stride with shared tags. Userspace makes
 * sure that no other device has them, and that they are all 0. A watch of stage wait comes after that of stage total
 * of the same device, and has the next number.
 */
struct blklat_watch {
	__s32 fd;		/* an open block device; may be closed afterwards */
	__u32 stage;		/* enum blklat_stage */
	/* See struct blklat_slots: all 0 at stages total and wait, and equal at the other stages of a device. */
	__u32 queues;
	__u32 stride;		/* slots of a hardware queue: a multiple of BLKLAT_SLOTS */
	__u32 first_slot;	/* a multiple of BLKLAT_SLOTS */
	__u32 number;		/* of the whole */
	/* 1: no two of its requests have the same tag, so all its queues have the same slots; else 0 */
	__u32 shared_tags;
};
_Static_assert(sizeof(struct blklat_watch) == 28, "no padding");

/*
 * What to watch. If it fails, nothing has been done:
 *   EPROTO      another version
 *   EINVAL      an invalid scale, stage, geometry, idle gap, by, number of places or of a watch, reserved field or
 *               number
 *   E2BIG       more than BLKLAT_MAX_WATCHES, parts and room included, BLKLAT_MAX_BIOS, BLKLAT_MAX_SLOW_PLACES,
 *               BLKLAT_MAX_NOTES, BLKLAT_MAX_SPARE or BLKLAT_MAX_SLOTS, or a geometry larger than any device's
 *   EBADF       an fd that is not open
 *   ENOTBLK     an fd that is not a block device
 *   ENODEV      a device that went away
 *   EEXIST      a device and stage, or a number, given twice
 *   EOPNOTSUPP  a stage at which this device or kernel can't be watched
 *   ENOMEM      the region would take more than half of the available memory
 *   EBUSY       this file has its session already
 */
struct blklat_setup {
	__u32 version;		/* BLKLAT_ABI_VERSION */
	__u32 watches;		/* 1 to BLKLAT_MAX_WATCHES */
	__u64 watch;		/* address of as many struct blklat_watch, numbered from 0 in their order */
	__u32 scale;		/* 0 to 6 */
	__u32 max_bios;		/* room for bios in flight; only used where stage total is watched */
	__u64 bytes;		/* returned: of the mapping */
	/*
	 * The shortest pause of a device that makes the next IO one of the idle series; 0: pauses are
	 * not looked for. Below 2^63.
	 */
	__u64 idle_gap_ns;
	__u32 by;		/* enum blklat_by: what each watch is divided by */
	/* by cgroup or process: how many of them get a part of their own, 1 to BLKLAT_CGROUPS_MAX; else 0 */
	__u32 cgroups;
	__u32 slow_places;	/* of the ring of slow IOs, a power of two >= 2; 0: none, then the next two are 0 */
	__u32 notes;		/* places for notes on the senders of bios, a power of two >= 2; 0: no notes */
	__u32 owners;		/* 1: notes include the process and the cgroup; else 0 */
	__u32 spare;		/* series that CPUs may have for themselves */
	__u32 room;		/* for watches that BLKLAT_IOC_ADD may add */
	__u32 slots;		/* for all watches, a multiple of BLKLAT_SLOTS */
};
_Static_assert(sizeof(struct blklat_setup) == 72, "no padding");

/*
 * BLKLAT_IOC_ADD takes a struct blklat_watch with a number below setup.watches + setup.room that no watch has.
 * Userspace makes sure that the counts and accounts of this number, and of its parts, are those from which it
 * subtracts. A device that was removed, and is still watched, is another one, even if the new one is at its address.
 * If it fails, nothing has been done. Errors are those of SETUP for a watch, and
 *   ENOSPC      only a session that was set up for such a watch can have it: at that stage; of anything but requests of
 *               whole devices; or of md at stage total
 *
 * BLKLAT_IOC_REMOVE takes a number, and frees it. The device may have been removed. When it returns, nothing is being
 * counted there, except that bios in flight (BLKLAT_IOC_BIOS) still end there: before that, the number should not be
 * used again. Slots stay as they are. EINVAL if no watch has that number.
 */

/*
 * BLKLAT_IOC_MOVE gives a device other slots, at stages device and queue. Requests that start meanwhile are counted
 * in BLKLAT_TAG_RANGE. Requests in flight are not seen to end; those that end when it is done are counted in
 * BLKLAT_BEFORE. When it returns, the slots that the device had are no longer used. EINVAL or E2BIG for an invalid
 * geometry, as in SETUP; EINVAL for a number that no watch has, at stage total, or if the session is divided by what
 * is in flight.
 */
struct blklat_move {
	__u32 number;		/* of its watch at stage device, or at stage queue */
	__u32 queues;
	__u32 stride;
	__u32 first_slot;
	__u32 shared_tags;
};
_Static_assert(sizeof(struct blklat_move) == 20, "no padding");

struct blklat_bio_count {
	__u64 in_flight;
	__u64 earliest_ns;	/* CLOCK_MONOTONIC at the start of the oldest; all ones when there is none */
	__u64 starts_ns;	/* sum of all start times modulo 2^64: in_flight * now less this is their total wait */
};

/* The bios in flight of each watch. EINVAL unless @watches is the session's, or before BLKLAT_IOC_SETUP. */
struct blklat_bios {
	__u64 counts;		/* address of as many struct blklat_bio_count, written */
	__u32 watches;		/* as in the header */
	__u32 reserved;		/* 0 */
};
_Static_assert(sizeof(struct blklat_bio_count) == 24 && sizeof(struct blklat_bios) == 16, "no padding");

/*
 * A cgroup that has a part, number BLKLAT_CGROUP_FIRST + its index. Cgroups are numbered as they
 * appear: by the BPF programs of one process, or by the module, which keeps the numbers as long as any
 * of its sessions divides by cgroup. So a number means the same cgroup in all sessions, until all of
 * them have released it: see enum blklat_step.
 *
 * By process, the same holds of processes, which have numbers of their own.
 */
struct blklat_cgroup {
	/* its cgroup_id(), which is the inode number of its directory; or see blklat_process_id(); 0: none yet */
	__u64 id;
	/* name of that directory, truncated, or of the process; needed if it is gone when userspace looks */
	char name[56];
};

/* EINVAL if the session is not divided by cgroup or process, @n is not setup.cgroups, or before BLKLAT_IOC_SETUP. */
struct blklat_cgroups {
	__u64 cgroups;		/* address of @n struct blklat_cgroup, written */
	__u32 n;
	__u32 reserved;		/* 0 */
};
_Static_assert(sizeof(struct blklat_cgroup) == 64 && sizeof(struct blklat_cgroups) == 16, "no padding");

/*
 * How a number becomes free after its owner has ended and nothing more is counted for it. Every session
 * (of BPF programs: the only capture of the process) reports when it has seen the condition of a step, in
 * a read that began after the previous step was taken. The last report takes the step. When a session
 * is told that a step was taken, nothing that began before the step is still running.
 *
 *   held -> left      the owner has ended, and has nothing in flight. From here on its id is not found: IOs that it
 *                     still begins get another number, or count as the rest.
 *   left -> drained   nothing is in flight. As no IO begins, this stays so. Everything that has ended is in the bins
 *                     when a session is told of this step.
 *   drained -> free   nothing was counted since the previous read, so everything has been read. The next owner may
 *                     get the number; its counts begin where these end.
 */
enum blklat_step {
	BLKLAT_STEP_HELD,
	BLKLAT_STEP_LEFT,
	BLKLAT_STEP_DRAINED,
	BLKLAT_STEP_FREE,	/* has no owner, or another one */
};

struct blklat_leaving {
	__u64 id;		/* the owner's */
	__u32 number;
	__u32 step;		/* the step that the session knows, and agrees to leave; returned: the step now */
};

/*
 * Releases numbers. A number that is not at the given step is left alone. EINVAL if the session is not
 * divided by cgroup or process, for an invalid number or step, if @n is 0 or more than setup.cgroups, or before
 * BLKLAT_IOC_SETUP.
 */
struct blklat_leave {
	__u64 leaving;		/* address of @n struct blklat_leaving, written */
	__u32 n;
	__u32 reserved;		/* 0 */
};
_Static_assert(sizeof(struct blklat_leaving) == 16 && sizeof(struct blklat_leave) == 16, "no padding");

#define BLKLAT_IOCTL 0xb5
#define BLKLAT_IOC_VERSION _IOR(BLKLAT_IOCTL, 0, __u32)
#define BLKLAT_IOC_SETUP _IOWR(BLKLAT_IOCTL, 1, struct blklat_setup)
#define BLKLAT_IOC_START _IO(BLKLAT_IOCTL, 2)
#define BLKLAT_IOC_BIOS _IOW(BLKLAT_IOCTL, 3, struct blklat_bios)
#define BLKLAT_IOC_CGROUPS _IOW(BLKLAT_IOCTL, 4, struct blklat_cgroups)
#define BLKLAT_IOC_LEAVE _IOW(BLKLAT_IOCTL, 5, struct blklat_leave)
#define BLKLAT_IOC_WAIT _IO(BLKLAT_IOCTL, 6)
#define BLKLAT_IOC_ADD _IOW(BLKLAT_IOCTL, 7, struct blklat_watch)
#define BLKLAT_IOC_REMOVE _IO(BLKLAT_IOCTL, 8)	/* the number is the argument itself */
#define BLKLAT_IOC_MOVE _IOW(BLKLAT_IOCTL, 9, struct blklat_move)

#endif

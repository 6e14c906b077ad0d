/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * What a capture engine counts and where, and how the kernel module hands it out.
 *
 * An engine watches pairs of (device, stage), called watches, numbered from 0. For each it keeps
 * flat arrays of u64 that userspace maps read-mostly; it only ever adds to them. Userspace
 * reads them each interval and subtracts what it read before. Nothing is reset under the engine's
 * feet, so nothing is lost between a read and a clear.
 *
 * A watch may be divided into parts (enum blklat_by), which then are watches that follow it, each with rows of its own.
 * Its IOs are counted in the rows of their part, and the whole is the sum of its own rows and those of its parts. Slots
 * belong to the whole, and so do the accounts of requests; bios are accounted in the rows of their part.
 *
 *   series    [cpu][watch][op]       one struct blklat_series, see below: sum, bytes, errors,
 *                                    extremes and the latency bins of bins.h
 *   accounts  [cpu][watch]           BLKLAT_ACCOUNTS cells: what did not end as a counted IO, and why
 *   idle      [watch][op]            where pauses are looked for, one struct blklat_idle_series: the IOs
 *                                    after one, which are in series as well
 *   slots     [watch's slots / 16]   one slot for each tag that a request of the device can carry:
 *                                    start time, number of starts, number of ends
 *
 * Where slow IOs are wanted (slow.h), there are also
 *
 *   slow_from    [watch][op]         the latency from which an IO is slow, in ns, written by userspace; all ones: none is
 *   slow_untold  [watch]             number of slow or failed IOs that found the ring full
 *   slow_ring                        the others
 *
 * The first two are used only for wholes.
 *
 * Each CPU writes its own rows of series and accounts, and a tag belongs to one request at a time,
 * so no write needs to be atomic. There are two exceptions, written by all CPUs: idle, which is rare, and one more row
 * that is shared by BPF programs that may run on top of each other (bpf/counters.bpf.h). There is no cell for the number
 * of IOs: it is the sum of the bins, so the two can't disagree.
 *
 * Order of the writes, for concurrent readers. At a start: the time, then the number of starts. At an end: what is told of
 * a slow IO, the extremes, the number of ends, the slot freed, and the bin last. So a reader that finds an IO in the bins
 * finds its extremes, and what is told of it, too. A reader of starts, time and ends, in this order, never sees more starts
 * than the ends and IOs in flight explain, unless an end was missed.
 *
 * The kernel module's protocol, version BLKLAT_ABI_VERSION. Each open /dev/blklat is one session:
 *
 *   open(O_RDWR)               EACCES without write access; the node is root's alone
 *   ioctl(BLKLAT_IOC_VERSION)  which version the module speaks; every version has this one
 *   ioctl(BLKLAT_IOC_SETUP)    says what to watch; ends are seen from here on
 *   mmap(header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, offset 0), once: EBUSY for a second,
 *                              EACCES with PROT_EXEC; it can't grow, and no child inherits it
 *   ioctl(BLKLAT_IOC_START)    starts, and their ends, are counted from here on; once, EBUSY for a
 *                              second. If it fails nothing is seen any more: close. Returns 1 if
 *                              stage total includes the wait for limits of cgroups, else 0
 *   ...                        userspace reads the mapping; nothing is asked of the kernel
 *   ioctl(BLKLAT_IOC_BIOS)     bios in flight at stage total, which are not in the mapping
 *   ioctl(BLKLAT_IOC_CGROUPS)  which cgroup has which part, also not in the mapping
 *   ioctl(BLKLAT_IOC_LEAVE)    lets go of parts whose cgroup has ended
 *   close, or the process ends: everything is undone
 *
 * SETUP and START are separate so that userspace can read the kernel's statistics in between: of every IO that these count
 * from then on, the session has either seen the start, or counts it in BLKLAT_BEFORE.
 *
 * The mapping begins with a struct blklat_header that says where the arrays are. Userspace writes only the epoch, the
 * extremes' cells of the next interval, slow_from, and how much it has taken from the ring. Whatever it writes, the kernel
 * takes no address, index or size from there.
 */
#ifndef BLKLAT_ABI_H
#define BLKLAT_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The sections of an IO's life; the letters are blktrace's. */
enum blklat_stage {
	BLKLAT_STAGE_DEVICE,	/* D2C: block_rq_issue to block_rq_complete */
	BLKLAT_STAGE_QUEUE,	/* I2D: block_rq_insert to block_rq_issue */
	/* Q2C: block_bio_queue, or the earlier point where a limit of its cgroup may hold it back, to block_bio_complete */
	BLKLAT_STAGE_TOTAL,
	BLKLAT_STAGES,
};

enum blklat_op {
	BLKLAT_OP_READ,
	BLKLAT_OP_WRITE,
	BLKLAT_OP_FLUSH,
	BLKLAT_OP_DISCARD,
	BLKLAT_OP_OTHER,	/* write zeroes, zone commands, secure erase, passthrough */
	BLKLAT_OPS,
};

/* Cells of an accounts row. */
enum blklat_account {
	BLKLAT_REQUEUED,	/* starts taken back: the request will be started again; or a bio that must not
				   wait would have had to (BLK_STS_AGAIN) */
	BLKLAT_NO_START,	/* completed, but its start was never seen: lost */
	BLKLAT_OVERWRITTEN,	/* started, and started again before its end was seen: lost; bios only,
				   requests show it in their slots */
	BLKLAT_TAG_RANGE,	/* started with a tag beyond the slots: lost */
	BLKLAT_TABLE_FULL,	/* a bio that found no room in the table of bios: lost */
	BLKLAT_BEFORE,		/* completed, started before the capture began: ignored, not lost */
	BLKLAT_UNISSUED,	/* ended without ever reaching the device (an error): ignored, not lost */
	BLKLAT_EMPTY_FLUSH,	/* requests without data that asked for a flush: the flush is the IO,
				   but the kernel's statistics count a write as well */
	BLKLAT_STARTED,		/* bios started; requests are counted in their slots instead */
	BLKLAT_ACCOUNTS,
};

/* How the IOs of a watch are divided. */
enum blklat_by {
	BLKLAT_BY_NOTHING,
	/* Each is determined at the stage's start; parts.h has the parts. */
	BLKLAT_BY_SIZE,		/* bytes */
	BLKLAT_BY_FLAGS,	/* the purpose of the IO, by its flags */
	BLKLAT_BY_DEPTH,	/* how many IOs are in flight there, this one included */
	BLKLAT_BY_BESIDE,	/* the strongest of the other IOs in flight there */
	BLKLAT_BY_CGROUP,	/* the cgroup that is charged for the IO */
	BLKLAT_BYS,
};

/* Modules of this version, and recordings, have these numbers. A new stage, op, account or by comes last. */
_Static_assert(BLKLAT_STAGE_TOTAL == 2 && BLKLAT_OP_OTHER == 4 && BLKLAT_STARTED == 8 && BLKLAT_BY_CGROUP == 5, "numbers stay");

/*
 * Sixteen start-time slots. The number of a request's slot is, within its watch,
 *   hardware queue * stride + (internal_tag >= 0 ? tags + internal_tag : tag)
 * The scheduler's tag comes first because a requeue gives the driver tag back before its tracepoint.
 *
 * A start often happens on another CPU than the end. So starts and ends have counts in separate cache lines (pairs of
 * lines, as processors fetch two at a time). A start only writes the lines of the times and never waits for them. If an
 * earlier start in the slot was not ended, the counts show it.
 */
#define BLKLAT_SLOTS 16
struct blklat_slots {
	__u64 ns[BLKLAT_SLOTS];		/* CLOCK_MONOTONIC, or one of the two below; perhaps with the bits below */
	__u64 started[BLKLAT_SLOTS];
	__u64 ended[BLKLAT_SLOTS];	/* completed or requeued */
};

/*
 * One of the sixteen, as seen from its start time: its counts follow at a fixed distance. Other slots lie in between.
 */
struct blklat_slot {
	__u64 ns;
	__u64 others_1[BLKLAT_SLOTS - 1];
	__u64 started;
	__u64 others_2[BLKLAT_SLOTS - 1];
	__u64 ended;
};
#define BLKLAT_SLOT_IN(slots, i) ((struct blklat_slot *)&(slots)->ns[i])
_Static_assert(__builtin_offsetof(struct blklat_slot, started) == __builtin_offsetof(struct blklat_slots, started) &&
	       __builtin_offsetof(struct blklat_slot, ended) == __builtin_offsetof(struct blklat_slots, ended),
	       "a slot's counts are as far from its time as the arrays are from each other");
_Static_assert(sizeof(struct blklat_slots) == 3 * 128, "each array has a pair of cache lines");

#define BLKLAT_SLOT_UNUSED 0	/* nothing was seen here since the capture began */
#define BLKLAT_SLOT_FREE 1	/* the last one started here has ended */
/* A bit of a time: issued after a pause. The clock never reaches it. */
#define BLKLAT_SLOT_AFTER_IDLE (1ULL << 63)
/*
 * Bits of a time, and of the two values above: one of a tracepoint's BPF programs saw the last event here, so those behind
 * it need not act (bpf/counters.bpf.h). Readers ignore them, and the kernel module never sets them.
 */
#define BLKLAT_SLOT_SEEN (1ULL << 62)
/*
 * In a watch with parts, these bits of a time hold the number of the IO's part, from 1, so that it is the same at the IO's
 * end, whatever became of its bytes. Except by cgroup, the upper four hold the IO's kind (parts.h), for the same reason,
 * where IOs in flight are counted by kind; readers ignore them. The clock's bits in this place are left out. So a time
 * stands for the moment nearest to the reader's that has the other bits: an age is right up to 2^53 ns, 104 days.
 */
#define BLKLAT_SLOT_PART_SHIFT 54
#define BLKLAT_SLOT_KIND_SHIFT 58
#define BLKLAT_PARTS_MAX 255
#define BLKLAT_SLOT_SEEN_FREE 2
#define BLKLAT_SLOT_VACANT 3	/* only values above it are times */

/* First cells of a series; the bins follow, BLKLAT_CELLS(scale) of them. */
struct blklat_series {
	__u64 sum_ns;
	__u64 bytes;
	__u64 errors;
	__u64 octaves;		/* bit o: bins of octave o are in use, see blklat_octave_of_cell() */
	/* One pair for each parity of the interval, so that each interval has its own extremes: */
	__u64 max_ns[2];
	__u64 not_min_ns[2];	/* ~min, so that 0 means "no IO" here as well */
	__u64 bins[];
};
_Static_assert(sizeof(struct blklat_series) == 64, "the bins begin at a cache line");

/* Bytes of a series at a scale, rounded up to a cache line so that CPUs never share one. */
#define BLKLAT_SERIES_BYTES(cells) ((sizeof(struct blklat_series) + (cells) * 8 + 63) / 64 * 64)

/* The IOs after a pause of one watch and op: the sum of their latencies and their bins, at BLKLAT_IDLE_SCALE(). */
struct blklat_idle_series {
	__u64 sum_ns;
	__u64 bins[];
};

#define BLKLAT_IDLE_SERIES_BYTES(cells) (sizeof(struct blklat_idle_series) + (cells) * 8)

/* The scale of an idle series beside series at @scale: few IOs are in it, so coarse bins will do. */
#define BLKLAT_IDLE_SCALE(scale) ((scale) < 3 ? (scale) : 3)

/* --- the kernel module's session ------------------------------------------------------------ */

#define BLKLAT_ABI_VERSION 8
#define BLKLAT_MAGIC 0x74616c6b6c62ULL	/* "blklat" */
#define BLKLAT_MAX_WATCHES 65536
#define BLKLAT_MAX_BIOS (16 << 20)
#define BLKLAT_MAX_SLOW_PLACES (1 << 20)
#define BLKLAT_MAX_NOTES (4 * BLKLAT_MAX_BIOS)

/* The begin of the mapping. Offsets and sizes are in bytes. */
struct blklat_header {
	__u64 magic;
	__u32 version;
	__u32 cpus;		/* rows of series and accounts: any number that a CPU can have */
	__u32 watches;		/* with those that are parts */
	__u32 scale;
	__u32 series_bytes;	/* from one series to the next */
	__u32 epoch;		/* number of the interval, userspace's to raise; its parity chooses extremes */
	__u64 series_offset;
	__u64 accounts_offset;
	__u64 slots_offset;
	__u64 idle_offset;	/* 0: pauses are not looked for */
	__u64 slow_from_offset;	/* 0: slow IOs are not told, and so the other two */
	__u64 slow_untold_offset;
	__u64 slow_ring_offset;	/* struct blklat_slow_ring, of as many places as were asked for */
	__u64 bytes;		/* of the whole mapping */
};
_Static_assert(sizeof(struct blklat_header) == 96, "no padding");

/* One device and stage to watch. With parts, watch n of these is number n * (1 + parts) of the region. */
struct blklat_watch {
	__s32 fd;		/* an open block device; may be closed after BLKLAT_IOC_SETUP */
	__u32 stage;		/* enum blklat_stage */
	/* Room for tags, as in struct blklat_slots; all 0 at stage total, the same for a device's stages. */
	__u32 queues;
	__u32 tags;
	__u32 stride;		/* a multiple of BLKLAT_SLOTS, at least tags */
	__u32 first_slot;	/* returned: where this watch's queues * stride slots begin */
	__u32 reserved[2];	/* 0 */
};
_Static_assert(sizeof(struct blklat_watch) == 32, "no padding");

/*
 * What to watch. Fails without having done anything with
 *   EPROTO      another version
 *   EINVAL      a scale, stage, geometry, idle gap, kind of part, number of places, reserved field or number that can't be
 *   E2BIG       more than BLKLAT_MAX_WATCHES with their parts, BLKLAT_MAX_BIOS, BLKLAT_MAX_SLOW_PLACES or BLKLAT_MAX_NOTES, or a
 *               geometry beyond any device's
 *   EBADF       an fd that is not open
 *   ENOTBLK     an fd that is no block device
 *   ENODEV      a device that went away
 *   EEXIST      a device and stage given twice
 *   EOPNOTSUPP  a stage that this device or kernel can't be watched at
 *   ENOMEM      the region takes more than half of the memory that is available
 *   EBUSY       this file has its session already
 */
struct blklat_setup {
	__u32 version;		/* BLKLAT_ABI_VERSION */
	__u32 watches;		/* 1 to BLKLAT_MAX_WATCHES */
	__u64 watch;		/* address of as many struct blklat_watch */
	__u32 scale;		/* 0 to 6 */
	__u32 max_bios;		/* room for bios in flight; only used where stage total is watched */
	__u64 bytes;		/* returned: of the mapping */
	/* Least pause of a device that makes the next IO one of the idle series; 0: none is looked for. Below 2^63. */
	__u64 idle_gap_ns;
	__u32 by;		/* enum blklat_by: what each watch is divided by */
	__u32 cgroups;		/* by cgroup: how many have a part of their own, 1 to BLKLAT_CGROUPS_MAX; else 0 */
	__u32 slow_places;	/* of the ring of slow IOs, a power of two from 2 on; 0: they are not told, and the next two are 0 */
	__u32 notes;		/* places for what is known of who sent a bio, a power of two from 2 on; 0: nothing is noted */
	__u32 owners;		/* 1: notes say the process and the cgroup, too; else 0 */
	__u32 reserved;		/* 0 */
};
_Static_assert(sizeof(struct blklat_setup) == 64, "no padding");

struct blklat_bio_count {
	__u64 in_flight;
	__u64 earliest_ns;	/* CLOCK_MONOTONIC at the start of the oldest; all ones when there is none */
	__u64 starts_ns;	/* at the starts of all, summed modulo 2^64: their number times now less this is what they have waited */
};

/* The bios in flight of each watch. EINVAL unless @watches is the session's, or before BLKLAT_IOC_SETUP. */
struct blklat_bios {
	__u64 counts;		/* address of as many struct blklat_bio_count, written */
	__u32 watches;		/* as in the header */
	__u32 reserved;		/* 0 */
};
_Static_assert(sizeof(struct blklat_bio_count) == 24 && sizeof(struct blklat_bios) == 16, "no padding");

/*
 * A cgroup that has a part, BLKLAT_CGROUP_FIRST + its number. They are numbered as they come, by the programs of one process, or
 * by the module for as long as any of its sessions divides by them; so each of the sessions has the same ones, until all of them
 * have let go of one: see enum blklat_step.
 */
struct blklat_cgroup {
	__u64 id;		/* as cgroup_id() has it, which is the inode's number of its directory; 0: none yet */
	char name[56];		/* that directory's, cut, for who comes when it is gone */
};

/* EINVAL where the session is not divided by cgroup, @n is not setup.cgroups, or before BLKLAT_IOC_SETUP. */
struct blklat_cgroups {
	__u64 cgroups;		/* address of @n struct blklat_cgroup, written */
	__u32 n;
	__u32 reserved;		/* 0 */
};
_Static_assert(sizeof(struct blklat_cgroup) == 64 && sizeof(struct blklat_cgroups) == 16, "no padding");

/*
 * How a number becomes free when its owner has ended and nothing more is counted for it. Every session (where programs
 * give the numbers, every capture of the process) reports for each step that it has seen the step's condition, in a read
 * that began after the previous step was taken. The last report takes the step. When that is told, nothing that began
 * before the step is still running.
 *
 *   held -> left      the owner has ended, and has nothing in flight. From here on its id is not found: IOs that it
 *                     still begins get another number, or count as the rest.
 *   left -> drained   nothing is in flight, and as no IO begins, nothing will be. All that has ended is in the bins
 *                     when this is told.
 *   drained -> free   nothing was counted since the previous read, so everything has been read. The next owner may
 *                     have the number; its counts begin where these end.
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
	__u32 step;		/* that the session takes it to be at, and lets go of; returned: at which it is now */
};

/*
 * Lets go of numbers. What is not at the step that was said is left alone. EINVAL where the session is not divided by
 * cgroup, for a number or step that can't be, an @n of 0 or more than setup.cgroups, or before BLKLAT_IOC_SETUP.
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

#endif

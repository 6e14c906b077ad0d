// SPDX-License-Identifier: GPL-2.0-only
/* The kernel module's engine: a session of /dev/blklat, as include/blklat/abi.h describes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blklat/parts.h"
#include "engine/geometry.h"
#include "engine/gone.h"
#include "engine/halts.h"
#include "engine/kernel_capture.h"
#include "engine/room.h"
#include "engine/slow.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/sysfs.h"

/* Sets the fields of @setup for @cfg, with which @k was initialized. */
static void kmod_slow_size(const struct kernel_capture *k, const struct capture_config *cfg, struct blklat_setup *setup)
{
	const struct slow_room room = slow_room(cfg);

	if (!cfg->slow.wanted)
		return;
	setup->slow_places = room.places;
	setup->notes = slow_wants_notes(k) ? room.notes : 0;
	setup->owners = !cfg->slow.no_owners;
}

/* Finds the ring and the limits in the mapping, which begins with @h. */
static void kmod_slow_map(struct kmod_slow *slow, struct kernel_capture *k, const struct capture_config *cfg,
			  struct blklat_header *h)
{
	char *at = (char *)h;

	if (!cfg->slow.wanted)
		return;
	k->slow_from = (void *)(at + h->slow_from_offset);
	k->slow_untold = (void *)(at + h->slow_untold_offset);
	slow->ring = (void *)(at + h->slow_ring_offset);
	slow->places = slow_room(cfg).places;
}

/* The next report if it is complete, else NULL. */
static const struct blklat_slow *told(const struct kmod_slow *slow)
{
	const struct blklat_slow_place *p = &slow->ring->place[slow->next % slow->places];

	return __atomic_load_n(&p->next, __ATOMIC_ACQUIRE) == slow->next + 1 ? &p->io : NULL;
}

int kmod_slow_read(struct kmod_slow *slow, struct kernel_capture *k, const struct snapshot *s)
{
	const struct blklat_slow *io;
	int err = 0;

	slow_begin(k, s);
	/*
	 * IOs in the bins have been reported by now. So after as many reports as the ring holds, the rest are of
	 * IOs that ended since.
	 */
	for (u32 n = 0; n < slow->places && !err && (io = told(slow)); n++) {
		err = slow_take(k, io);
		slow->next++;
		/* From here on its place may be reused. */
		__atomic_store_n(&slow->ring->taken, slow->next, __ATOMIC_RELEASE);
	}
	return err;
}

#define DEVICE "/dev/blklat"

struct kmod_capture {
	struct kernel_capture kernel;
	int fd;				/* the session; -1: not open */
	struct blklat_header *header;	/* the beginning of the mapping; NULL: not mapped */
	u64 bytes;			/* of the mapping */
	struct blklat_bio_count *counts;
	struct kmod_slow slow;
};

/* --- probe --------------------------------------------------------------------------------- */

/* By module.sig_enforce=1, or by lockdown, which Secure Boot may bring along. */
static bool takes_only_signed_modules(void)
{
	char enforced[8], lockdown[32];

	return (!sysfs_text(AT_FDCWD, "/sys/module/module/parameters/sig_enforce", enforced, sizeof(enforced)) && enforced[0] == 'Y') ||
	       (!sysfs_choice(AT_FDCWD, "/sys/kernel/security/lockdown", lockdown, sizeof(lockdown)) && strcmp(lockdown, "none"));
}

static int open_problem(int err, struct problem *p)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		if (takes_only_signed_modules())
			return problem_set(p, -ENOENT, "the kernel module is not loaded, and this kernel takes only modules that are "
					   "signed by a key that it trusts: sign it ('make kmod-sign'), then run 'modprobe blklat'");
		return problem_set(p, -ENOENT, "the kernel module is not loaded: run 'modprobe blklat', or 'insmod "
				   "blklat.ko' where 'make kmod' built it");
	case -EACCES:
	case -EPERM:
		return problem_set(p, -EPERM, "not permitted to open " DEVICE ": run it as root");
	default:
		return problem_set(p, err, "could not open " DEVICE ": %s", strerror(-err));
	}
}

/* A file of this name that is not the module's device answers with ENOTTY. */
static int check_version(int fd, struct problem *p)
{
	u32 version;

	if (ioctl(fd, BLKLAT_IOC_VERSION, &version))
		return problem_set(p, -errno, DEVICE " is not the device of blklat's kernel module: %s",
				   strerror(errno));
	if (version == BLKLAT_ABI_VERSION)
		return 0;
	return problem_set(p, -EPROTO, "the kernel module speaks version %u of the protocol and this blklat version "
			   "%u: build and load the module of the same release", version, BLKLAT_ABI_VERSION);
}

/* Returns an open session, or a negative errno and a sentence. */
static int open_session(struct problem *p)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return open_problem(-errno, p);
	err = check_version(fd, p);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int kmod_probe(struct problem *p)
{
	int fd = open_session(p);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* --- setup --------------------------------------------------------------------------------- */

/* The device is open only until the module knows which one it is. */
static int open_device(const struct device *d, struct problem *p)
{
	char path[sizeof("/dev/") + DEVICE_NAME_MAX];
	int fd;

	if (d->hidden)
		return problem_set(p, -EOPNOTSUPP, "%s is a hidden path without a device node, by which the kernel module "
				   "finds devices: use --engine bpf", d->name);
	snprintf(path, sizeof(path), "/dev/%s", d->name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return problem_set(p, errno == ENOENT || errno == ENXIO ? -ENODEV : -errno, "could not open %s: %s", path,
				   strerror(errno));
	return fd;
}

static void close_devices(const struct blklat_watch *watch, u32 n)
{
	for (u32 i = 0; i < n; i++)
		close(watch[i].fd);
}

/* The module is given only wholes, and makes the parts itself. */
static u32 n_wholes(const struct kmod_capture *k)
{
	return k->kernel.capture.n_watches / (1 + k->kernel.parts);
}

static u32 number_of(const struct kernel_capture *kernel, u32 whole)
{
	return whole / (1 + kernel->parts);
}

/*
 * What the module is told of watch @i, a whole. Its fd is negative if that could not be opened; then with a sentence.
 */
static struct blklat_watch describe(const struct kmod_capture *k, u32 i, struct problem *p)
{
	const struct watch *w = &k->kernel.capture.watches[i];
	const struct slots *s = &k->kernel.slots[i];
	struct blklat_watch ret = { .fd = open_device(w->device, p), .stage = w->stage, .number = number_of(&k->kernel, i) };

	if (BLKLAT_OF_BIOS(w->stage))
		return ret;
	ret.queues = s->queues;
	ret.stride = s->stride;
	ret.shared_tags = s->shared_tags;
	ret.first_slot = k->kernel.region.ranges[i].first;
	return ret;
}

/* Returns how many were opened: all, or fewer with a sentence. */
static u32 describe_watches(const struct kmod_capture *k, struct blklat_watch *watch, struct problem *p)
{
	for (u32 i = 0; i < n_wholes(k); i++) {
		watch[i] = describe(k, i * (1 + k->kernel.parts), p);
		if (watch[i].fd < 0)
			return i;
	}
	return n_wholes(k);
}

static int unsupported(const struct capture *c, struct problem *p)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].stage == BLKLAT_STAGE_TOTAL && device_is_partition(c->watches[i].device))
			return problem_set(p, -EOPNOTSUPP, "stage total of the partition '%s' needs Linux 5.12 or later: "
					   "watch its disk", c->watches[i].device->name);
	return problem_set(p, -EOPNOTSUPP, "this kernel lacks a tracepoint that these stages need: choose another "
			   "--stage");
}

static int setup_problem(const struct capture *c, int err, struct problem *p)
{
	switch (err) {
	case -EOPNOTSUPP:
		return unsupported(c, p);
	case -ENODEV:
		return problem_set(p, err, "a device went away while it was being added to the capture");
	case -E2BIG:
		return problem_set(p, err, "too many devices and stages, or too many queues, for the kernel module: "
				   "watch fewer");
	case -ENOMEM:
		return kernel_capture_no_memory(c, p);
	default:
		return problem_set(p, err, "the kernel module refused the capture: %s", strerror(-err));
	}
}

static int setup_session(struct kmod_capture *k, struct blklat_watch *watch, const struct capture_config *cfg,
			 struct problem *p)
{
	const struct capture *c = &k->kernel.capture;
	struct blklat_setup setup = {
		.version = BLKLAT_ABI_VERSION,
		.watches = n_wholes(k),
		.watch = (uintptr_t)watch,
		.scale = c->scale,
		.max_bios = cfg->max_bios,
		.idle_gap_ns = k->kernel.idle_gap_ns,
		.by = k->kernel.by,
		.cgroups = k->kernel.cgroups,
		.spare = k->kernel.spare,
		.room = c->room / (1 + k->kernel.parts) - n_wholes(k),
		.slots = k->kernel.region.n_slots,
	};

	kmod_slow_size(&k->kernel, cfg, &setup);
	if (ioctl(k->fd, BLKLAT_IOC_SETUP, &setup))
		return setup_problem(c, -errno, p);
	k->bytes = setup.bytes;
	return 0;
}

static int watch_devices(struct kmod_capture *k, const struct capture_config *cfg, struct problem *p)
{
	u32 n = n_wholes(k), opened;
	struct blklat_watch *watch CLEANUP(cleanup_free) = calloc(n, sizeof(*watch));
	int err;

	if (!watch)
		return problem_set(p, -ENOMEM, "out of memory");
	opened = describe_watches(k, watch, p);
	err = opened < n ? watch[opened].fd : setup_session(k, watch, cfg, p);
	close_devices(watch, opened);
	return err;
}

static void wait_for_module(void *k)
{
	ioctl(((struct kmod_capture *)k)->fd, BLKLAT_IOC_WAIT);
}

static int map_region(struct kmod_capture *k, const struct capture_config *cfg, struct problem *p)
{
	void *at = mmap(NULL, k->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
	struct region *r = &k->kernel.region;
	struct blklat_header *h = at;

	if (at == MAP_FAILED)
		return problem_set(p, -errno, "could not map the counters: %s", strerror(errno));
	k->header = h;
	if (h->magic != BLKLAT_MAGIC || h->version != BLKLAT_ABI_VERSION || h->bytes != k->bytes ||
	    h->watches != k->kernel.capture.room)
		return problem_set(p, -EPROTO, "the kernel module's counters have a layout that this blklat does not "
				   "know: build and load the module of the same release");
	k->kernel.capture.cpus = h->cpus;
	r->cpus = r->rows = h->cpus;
	r->series_bytes = h->series_bytes;
	r->series = (char *)at + h->series_offset;
	r->own = (void *)((char *)at + h->own_offset);
	r->accounts = (void *)((char *)at + h->accounts_offset);
	r->slots = (void *)((char *)at + h->slots_offset);
	r->idle = h->idle_offset ? (char *)at + h->idle_offset : NULL;
	r->epoch = &h->epoch;
	k->kernel.wait = wait_for_module;
	kmod_slow_map(&k->slow, &k->kernel, cfg, h);
	return region_init(r, h->series - h->watches * BLKLAT_OPS) ? problem_set(p, -ENOMEM, "out of memory") : 0;
}

/* --- reading ------------------------------------------------------------------------------- */

static int count_bios(struct kernel_capture *kernel)
{
	struct kmod_capture *k = (struct kmod_capture *)kernel;
	struct blklat_bios bios = { .counts = (uintptr_t)k->counts, .watches = kernel->capture.room };

	if (!capture_has_stage(&kernel->capture, BLKLAT_STAGE_TOTAL))
		return 0;
	if (ioctl(k->fd, BLKLAT_IOC_BIOS, &bios))
		return -errno;
	for (u32 i = 0; i < bios.watches; i++) {
		kernel->bios[i].in_flight = k->counts[i].in_flight;
		kernel->bios[i].earliest_ns = k->counts[i].earliest_ns;
		kernel->bios[i].starts_ns = k->counts[i].starts_ns;
	}
	return 0;
}

static int let_go(struct kernel_capture *kernel, struct blklat_leaving *leaving, u32 n)
{
	struct kmod_capture *k = (struct kmod_capture *)kernel;
	struct blklat_leave leave = { .leaving = (uintptr_t)leaving, .n = n };

	return ioctl(k->fd, BLKLAT_IOC_LEAVE, &leave) ? -errno : 0;
}

static int list_cgroups(struct kernel_capture *kernel, struct blklat_cgroup *list)
{
	struct blklat_cgroups cgroups = { .cgroups = (uintptr_t)list, .n = kernel->cgroups };

	return ioctl(((struct kmod_capture *)kernel)->fd, BLKLAT_IOC_CGROUPS, &cgroups) ? -errno : 0;
}

static int read_slow(struct kernel_capture *kernel, const struct snapshot *s)
{
	return kmod_slow_read(&((struct kmod_capture *)kernel)->slow, kernel, s);
}

/* The module itself drops a disk that is removed. */
static void kmod_look(struct capture *c)
{
	struct kmod_capture *k = (struct kmod_capture *)c;

	/* Which series are unused is known only after a read. */
	owns_settle(&k->kernel.region, now_ns(), NULL, NULL);
	if (gone_find(&k->kernel))
		gone_freeze(&k->kernel);
}

/* --- watches come, go and move ------------------------------------------------------------- */

static void remove_watch(struct kernel_capture *kernel, u32 whole)
{
	ioctl(((struct kmod_capture *)kernel)->fd, BLKLAT_IOC_REMOVE, number_of(kernel, whole));
}

static int add_watch(struct kmod_capture *k, u32 whole, struct problem *p)
{
	struct blklat_watch watch = describe(k, whole, p);
	int err;

	if (watch.fd < 0)
		return watch.fd;
	err = ioctl(k->fd, BLKLAT_IOC_ADD, &watch) ? -errno : 0;
	close(watch.fd);
	if (err == -ENOSPC)
		return problem_set(p, err, "%s needs tracepoints that were not hooked for the devices before it",
				   k->kernel.capture.watches[whole].device->name);
	return err ? setup_problem(&k->kernel.capture, err, p) : 0;
}

static int add_watches(struct kernel_capture *kernel, u32 at, u32 n, struct problem *p)
{
	u32 i, added = at;
	int err = 0;

	for (i = at; i < at + n && !err; i = next_whole(kernel, i)) {
		added = i;
		err = add_watch((struct kmod_capture *)kernel, i, p);
	}
	for (i = at; err && i < added; i = next_whole(kernel, i))
		remove_watch(kernel, i);
	return err;
}

static int move_watches(struct kernel_capture *kernel, u32 at, u32 n, const struct slots *s, u32 first)
{
	struct blklat_move move = { .queues = s->queues, .stride = s->stride, .first_slot = first, .shared_tags = s->shared_tags };

	for (u32 i = at; i < at + n; i = next_whole(kernel, i))
		if (!BLKLAT_OF_BIOS(kernel->capture.watches[i].stage))
			move.number = number_of(kernel, i);
	return ioctl(((struct kmod_capture *)kernel)->fd, BLKLAT_IOC_MOVE, &move) ? -ENOSPC : 0;
}

/* --- open and close ------------------------------------------------------------------------ */

static void kmod_close(struct capture *c)
{
	struct kmod_capture *k = (struct kmod_capture *)c;

	if (!k)
		return;
	if (k->header)
		munmap(k->header, k->bytes);
	if (k->fd >= 0)
		close(k->fd);
	kernel_capture_uninit(&k->kernel);
	free(k->counts);
	free(k);
}

static const struct live_ops live = { .look = kmod_look, .glance = halts_glance, .set_slow = kernel_capture_set_slow, .add = room_add };
static const struct kernel_hooks hooks = {
	.count_bios = count_bios, .add = add_watches, .remove = remove_watch, .move = move_watches, .read_slow = read_slow,
	.list_cgroups = list_cgroups, .let_go = let_go,
};

static int start(struct kmod_capture *k, const struct capture_config *cfg, struct problem *p)
{
	const struct capture is = { .ops = &capture_kmod, .live = &live, .cpus = sysfs_cpus("") };
	int err = kernel_capture_init(&k->kernel, &is, cfg, is.cpus, p), started;

	if (err)
		return err;
	k->counts = calloc(k->kernel.capture.room, sizeof(*k->counts));
	if (!k->counts)
		return problem_set(p, -ENOMEM, "out of memory");
	k->fd = open_session(p);
	if (k->fd < 0)
		return k->fd;
	err = watch_devices(k, cfg, p);
	if (!err)
		err = map_region(k, cfg, p);
	if (err)
		return err;
	kernel_capture_note_statistics(&k->kernel, 0, k->kernel.capture.n_watches);
	started = ioctl(k->fd, BLKLAT_IOC_START);
	k->kernel.capture.sees_held = started > 0;
	return started < 0 ? setup_problem(&k->kernel.capture, -errno, p) : 0;
}

static int kmod_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	struct kmod_capture *k;
	int err;

	k = calloc(1, sizeof(*k));
	if (!k)
		return problem_set(p, -ENOMEM, "out of memory");
	k->fd = -1;
	k->kernel.hooks = &hooks;
	err = start(k, cfg, p);
	if (err) {
		kmod_close(&k->kernel.capture);
		return err;
	}
	*ret = &k->kernel.capture;
	return 0;
}

const struct capture_ops capture_kmod = {
	.name = "kmod",
	.about = "the kernel module blklat.ko",
	.probe = kmod_probe,
	.node = DEVICE,
	.sees_pauses = true,
	.open = kmod_open,
	.read = kernel_capture_read,
	.close = kmod_close,
};

// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "core/capture.h"

const struct capture_engine *const capture_engines[] = { &engine_bpf, &engine_kmod, NULL };

/* Returns 0 if devices were left out, so that opening may succeed now; or @err, which has another reason. */
static int leave_out_gone(struct capture_config *cfg, int err, struct problem *p)
{
	struct watch *watches = cfg->watches;
	bool gone = false;
	u32 kept = 0;

	for (u32 i = 0; i < cfg->n_watches; i++) {
		const struct device *d = watches[i].device;

		if (!i || d != watches[i - 1].device)
			gone = device_is_gone(cfg->devices, d);
		if (gone && !watches[i].matched)
			return problem_set(p, -ENODEV, "%s went away before it could be watched", d->name);
		if (!gone)
			watches[kept++] = watches[i];
	}
	if (kept == cfg->n_watches)
		return err;
	cfg->n_watches = kept;
	return kept ? 0 : problem_set(p, -ESTALE, "all devices went away before they could be watched");
}

int capture_open_present(const struct capture_ops *engine, struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	int err;

	/* Each round that does not end leaves out a device. */
	do
		err = engine->open(cfg, ret, p);
	while (err == -ENODEV && !(err = leave_out_gone(cfg, err, p)));
	return err;
}

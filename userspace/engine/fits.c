// SPDX-License-Identifier: GPL-2.0-only
#include "core/capture.h"
#include "engine/geometry.h"

bool capture_fits(const struct capture *c, u32 i)
{
	const struct watch *w = &c->watches[i];
	struct device now = *w->device;
	struct slots s = slots_of(w->device, c->cpus);

	if (w->stage == BLKLAT_STAGE_TOTAL || !s.queues || device_read_queue(c->devices, &now))
		return true;
	return slots_fit(&s, &now);
}

// SPDX-License-Identifier: GPL-2.0-only
#include "core/sink.h"

#include "core/capture.h"

void sink_close(struct sink *s)
{
	if (s)
		s->ops->close(s);
}

struct run_info run_info_of(const struct capture *c, double interval_s)
{
	return (struct run_info){
		.engine = c->engine,
		.watches = c->watches,
		.n_watches = c->n_watches,
		.devices = c->devices,
		.origin = c->origin,
		.slow_most = c->slow ? c->slow->most : 0,
		.glanced = c->glanced,
		.cpus = c->cpus,
		.scale = c->scale,
		.memory_bytes = c->memory_bytes,
		.interval_s = c->origin ? c->origin->interval_s : interval_s,
	};
}

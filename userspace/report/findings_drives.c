// SPDX-License-Identifier: GPL-2.0-only
/* Drives that have another name in another run, since names move at reboot, and names that another drive has there. */
#include <string.h>

#include "report/comparison.h"
#include "report/findings_rules.h"

#define NAMED 8

static const char *label_of(const struct device *d)
{
	return d->serial[0] ? "serial" : "WWID";
}

static const char *id_of(const struct device *d)
{
	return d->serial[0] ? d->serial : d->wwid;
}

/* Adds what is told of a pair of devices to the finding, which is made if there is none. */
static void tell(const struct comparison *c, u32 run, const struct watch_run *pair[2], struct finding **f,
		 struct findings *to)
{
	const struct device *a = pair[0]->watch->device, *b = pair[1]->watch->device;
	bool same = device_compare(a, b) == DEVICE_SAME;
	const struct inquiry q = { .run = &c->runs[0], .watch = pair[0], .to = to };
	char base[RUN_NAME], other[RUN_NAME];

	if (!*f) {
		*f = same ? finding_add(&q, "renamed", -1) : finding_add(&q, "exchanged", -1);
		(*f)->text[0] = '\0';
		finding_value(*f, "devices", 0);
		finding_rule(*f, "by WWID, or by serial number and model where one has no WWID");
	}
	if (++(*f)->values[0].value > NAMED)
		return;
	run_name(c->runs, c->n_runs, 0, base, sizeof(base));
	run_name(c->runs, c->n_runs, run, other, sizeof(other));
	finding_say(*f, "%s", (*f)->text[0] ? "; " : "");
	if (same)
		finding_say(*f, "%s of %s is %s of %s: %s %s", a->name, base, b->name, other, label_of(a), id_of(a));
	else
		finding_say(*f, "%s of %s is another drive than %s of %s: %s %s, not %s", b->name, other, a->name, base, label_of(b),
			    id_of(b), id_of(a));
}

static void find_kind(const struct comparison *c, enum device_likeness likeness, struct findings *to)
{
	struct finding *f = NULL;

	for (u32 run = 1; run < c->n_runs; run++) {
		const struct device *before = NULL, *after;

		for (u32 w = 0; w < c->runs[0].n_watches; w += 1 + run_parts(&c->runs[0], w)) {
			const struct watch_run *pair[] = { &c->runs[0].watches[w], comparison_partner(c, run, w) };

			/* The stages of a device are next to each other. */
			if (!pair[1] || pair[0]->watch->device == before)
				continue;
			before = pair[0]->watch->device;
			after = pair[1]->watch->device;
			if (likeness == (strcmp(before->name, after->name) ? DEVICE_SAME : DEVICE_OTHER) &&
			    device_compare(before, after) == likeness)
				tell(c, run, pair, &f, to);
		}
	}
	if (f && f->values[0].value > NAMED)
		finding_say(f, "; %.0f more", f->values[0].value - NAMED);
}

void find_drives(const struct comparison *c, struct findings *to)
{
	find_kind(c, DEVICE_SAME, to);
	find_kind(c, DEVICE_OTHER, to);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Findings about what slow IOs have in common, more often than IOs in general. */
#include <errno.h>
#include <string.h>

#include "blklat/parts.h"
#include "report/findings_rules.h"
#include "report/slow_common.h"

#define IOS_LEAST 20
#define SURE 0.001
#define FACTOR 2

static bool stands_out(const struct slow_common *c)
{
	double share = (double)c->ios / c->of;

	return c->of >= IOS_LEAST && c->p >= 0 && c->p < SURE &&
	       (share >= FACTOR * c->share_of_all || 1 - share <= (1 - c->share_of_all) / FACTOR);
}

static int report(const struct inquiry *q, const struct slow_common *c)
{
	char who[FINDING_WHO], n[UNITS_TEXT], found[UNITS_TEXT], slow[UNITS_TEXT], all[UNITS_TEXT];
	const struct slow_of *of = &q->run->slow.of[q->watch - q->run->watches];
	struct finding *f = finding_add(q, "slow_common", -1);

	if (!f)
		return -ENOMEM;
	finding_value(f, "slow", c->of);
	finding_value(f, "share", (double)c->ios / c->of);
	finding_value(f, "share_of_all", c->share_of_all);
	finding_value(f, "p_value", c->p);
	finding_say(f, "%s: of %s slow IOs", finding_who(q, -1, who), units_count(n, c->of));
	if (of->found > of->n)
		finding_say(f, " (%s were found)", units_count(found, of->found));
	finding_say(f, " %s are %s%s %.128s, of all IOs %s", units_share(slow, (double)c->ios / c->of),
		    strcmp(c->by, by_names[BLKLAT_BY_BESIDE]) ? "of " : "", c->by, c->value, units_share(all, c->share_of_all));
	finding_rule(f, "%d or more slow IOs, at least %d times as frequent as among all IOs, or all others at most "
		     "half as frequent; p < %g (%s; it takes IOs for independent, which those of one burst are not)", IOS_LEAST, FACTOR, SURE, SLOW_COMMON_METHOD);
	return 0;
}

int find_slow_common(const struct inquiry *q)
{
	struct slow_common all[SLOW_COMMON_MAX];
	int err = 0, n;

	if (!q->run->slow.most)
		return 0;
	n = slow_common_of(q->run, q->watch - q->run->watches, all);
	for (int i = 0; !err && i < n; i++)
		if (stands_out(&all[i]))
			err = report(q, &all[i]);
	return n < 0 ? n : err;
}

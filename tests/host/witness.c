// SPDX-License-Identifier: GPL-2.0-only
/*
 * witness MAJOR:MINOR: measures requests of one device around and within another tool.
 *
 * Programs of a tracepoint run in the order in which they were attached. This one attaches
 *   outer issue, inner complete    and says "ready"; now the tool under test attaches its own;
 *   inner issue, outer complete    after a line on stdin, and says "attached".
 * So each IO is stamped outer, tool, inner when it is issued and inner, tool, outer when it completes:
 * the inner latency is never above the tool's, the outer never below, whatever interrupts the three.
 * At SIGTERM or SIGINT it prints both as one JSON object.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "witness.h"
#include "witness.skel.h"

static struct witness *load(int major, int minor)
{
	struct witness *w = witness__open();

	if (!w)
		return NULL;
	w->rodata->cfg_major = major;
	w->rodata->cfg_minor = minor;
	if (!witness__load(w))
		return w;
	witness__destroy(w);
	return NULL;
}

static int attach(struct bpf_program *prog, struct bpf_link **ret)
{
	*ret = bpf_program__attach(prog);
	return *ret ? 0 : -errno;
}

static struct witness_totals sum_totals(const struct witness *w, int cpus)
{
	struct witness_totals *of_cpu = calloc(cpus, sizeof(*of_cpu)), sum = { 0 };
	__u32 zero = 0;

	if (!of_cpu || bpf_map_lookup_elem(bpf_map__fd(w->maps.totals), &zero, of_cpu))
		exit(EXIT_FAILURE);
	for (int i = 0; i < cpus; i++) {
		sum.issues += of_cpu[i].issues;
		sum.completions += of_cpu[i].completions;
		sum.unmatched += of_cpu[i].unmatched;
		sum.bytes += of_cpu[i].bytes;
		if (of_cpu[i].max_ns > sum.max_ns)
			sum.max_ns = of_cpu[i].max_ns;
		if (of_cpu[i].min_ns && (!sum.min_ns || of_cpu[i].min_ns < sum.min_ns))
			sum.min_ns = of_cpu[i].min_ns;
	}
	free(of_cpu);
	return sum;
}

static unsigned long long lower_ns(__u32 bin)
{
	__u32 shift = bin < 2 * WITNESS_SUB ? 0 : bin / WITNESS_SUB - 1;

	return (unsigned long long)(bin - shift * WITNESS_SUB) << shift;
}

static void print_bins(const struct witness *w, int cpus)
{
	__u64 *of_cpu = calloc(cpus, sizeof(*of_cpu));
	const char *comma = "";

	for (__u32 bin = 0; of_cpu && bin < WITNESS_BINS; bin++) {
		unsigned long long sum = 0;

		if (bpf_map_lookup_elem(bpf_map__fd(w->maps.bins), &bin, of_cpu))
			exit(EXIT_FAILURE);
		for (int i = 0; i < cpus; i++)
			sum += of_cpu[i];
		if (!sum)
			continue;
		printf("%s[%llu,%llu,%llu]", comma, lower_ns(bin), lower_ns(bin + 1) - 1, sum);
		comma = ",";
	}
	free(of_cpu);
}

static void print(const char *name, const struct witness *w)
{
	int cpus = libbpf_num_possible_cpus();
	struct witness_totals t = sum_totals(w, cpus);

	printf("\"%s\":{\"issues\":%llu,\"completions\":%llu,\"unmatched\":%llu,\"bytes\":%llu,"
	       "\"min\":%llu,\"max\":%llu,\"bins\":[", name, t.issues, t.completions, t.unmatched, t.bytes,
	       t.min_ns, t.max_ns);
	print_bins(w, cpus);
	printf("]}");
}

static int fail(const char *what)
{
	fprintf(stderr, "witness: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static int measure(struct witness *outer, struct witness *inner)
{
	char line[16];
	sigset_t ends;
	int signal;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (attach(outer->progs.on_issue, &outer->links.on_issue) ||
	    attach(inner->progs.on_complete, &inner->links.on_complete))
		return fail("could not attach");
	puts("ready");
	if (!fgets(line, sizeof(line), stdin))
		return EXIT_FAILURE;
	if (attach(inner->progs.on_issue, &inner->links.on_issue) ||
	    attach(outer->progs.on_complete, &outer->links.on_complete))
		return fail("could not attach");
	puts("attached");
	sigwait(&ends, &signal);
	printf("{");
	print("outer", outer);
	printf(",");
	print("inner", inner);
	puts("}");
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct witness *outer, *inner;
	int major, minor, status;

	if (argc != 2 || sscanf(argv[1], "%d:%d", &major, &minor) != 2) {
		fprintf(stderr, "usage: witness MAJOR:MINOR\n");
		return 2;
	}
	setlinebuf(stdout);
	outer = load(major, minor);
	inner = load(major, minor);
	status = outer && inner ? measure(outer, inner) : fail("could not load");
	witness__destroy(outer);
	witness__destroy(inner);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-only
#include "util/lazy.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

extern struct lazy_function __start_lazy_functions[] __attribute__((weak));
extern struct lazy_function __stop_lazy_functions[] __attribute__((weak));

int lazy_load(const char *prefix, struct problem *p)
{
	for (struct lazy_function *f = __start_lazy_functions; f < __stop_lazy_functions; f++) {
		void *library;

		if (strncmp(f->name, prefix, strlen(prefix)))
			continue;
		/* Found where those of linked libraries are: what is preloaded comes first. */
		library = dlopen(f->library, RTLD_NOW | RTLD_GLOBAL);
		f->address = library ? dlsym(RTLD_DEFAULT, f->name) : NULL;
		if (!f->address)
			return problem_set(p, -ENOENT, "a library could not be loaded: %s", dlerror());
	}
	return 0;
}

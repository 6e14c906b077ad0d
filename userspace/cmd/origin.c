// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "util/utf8.h"

int origin_text(char **ret, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	text_clean(copy);
	free(*ret);
	*ret = copy;
	return 0;
}

int origin_here(struct origin *o, const char *command)
{
	struct utsname name = { 0 };
	/* Only read. */
	struct origin here = {
		.version = BLKLAT_VERSION, .command = (char *)command,
		.host = name.nodename, .kernel = name.release,
	};

	uname(&name);
	return origin_copy(o, &here);
}

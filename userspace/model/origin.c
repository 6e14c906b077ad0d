// SPDX-License-Identifier: GPL-2.0-only
#include "model/origin.h"

#include <stdlib.h>

void origin_uninit(struct origin *o)
{
	for (u32 i = 0; i < o->n_marks; i++)
		free(o->marks[i].text);
	free(o->marks);
	free(o->file);
	free(o->label);
	free(o->host);
	free(o->kernel);
	free(o->version);
	free(o->command);
	*o = (struct origin){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-only
#include "util/thread.h"

#include <pthread.h>

int thread_start_detached(void *(*work)(void *of), void *of)
{
	pthread_t thread;
	int err = -pthread_create(&thread, NULL, work, of);

	if (!err)
		pthread_detach(thread);
	return err;
}

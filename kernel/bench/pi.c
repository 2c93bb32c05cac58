/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Approximates pi by an integral, with threads that do not communicate but for one shared sum, as the program of the paper on process fairness does. It goes on, with ever
 * narrower strips, until it is ended.
 *
 *   pi THREADS
 */
#include "fail.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double sum;
static long nthreads;

static void *integrate(void *arg)
{
	long first = (long)arg;

	for (long strips = 1000000;; strips *= 2) {
		double width = 1.0 / strips, own = 0;

		for (long i = first; i < strips; i += nthreads) {
			double x = (i + 0.5) * width;

			own += 4 / (1 + x * x) * width;
		}
		pthread_mutex_lock(&lock);
		sum += own;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	nthreads = argc == 2 ? atol(argv[1]) : 0;
	if (nthreads < 1) {
		fprintf(stderr, "usage: pi THREADS\n");
		return 2;
	}
	for (long i = 0; i < nthreads; i++)
		if (pthread_create(&thread, NULL, integrate, (void *)i))
			fail("pi: cannot create a thread");
	pause();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The loops of the benchmarks: what Python is too slow for. The guest loads this as a library (tests/guest/meter.py)
 * and prepares the requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <x86intrin.h>

enum what { IOCTL, OPEN, CLOSE };

/* One system call, and what to do with its outcome. */
struct step {
	uint32_t what;
	uint32_t limit;
	uint64_t request; /* of ioctl() */
	void *data; /* of ioctl(); the path of open() */
	int32_t *fd; /* open() writes it */
	const uint32_t *from; /* what the kernel answered, to be copied into a later request; or NULL */
	uint32_t *to;
	uint32_t *count; /* a word of the request that is counted up, modulo limit, after each call; or NULL */
};

static int call(const struct step *step)
{
	int result = -1;

	switch (step->what) {
	case IOCTL:
		result = ioctl(*step->fd, step->request, step->data);
		break;
	case OPEN:
		result = *step->fd = open(step->data, O_RDWR | O_CLOEXEC);
		break;
	case CLOSE:
		result = close(*step->fd);
		break;
	}
	if (result < 0)
		return -errno;
	if (step->from)
		*step->to = *step->from;
	if (step->count)
		*step->count = (*step->count + 1) % step->limit;
	return 0;
}

/*
 * Does all steps so often. Returns by how much the time stamp counter advanced meanwhile, less two for each round of
 * spin() in another process, or the negative errno of the first call that failed.
 */
int64_t measure(const struct step *steps, uint32_t number, uint32_t rounds, const volatile uint64_t *spins)
{
	uint64_t spun = *spins, start = __rdtsc();

	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < number; i++) {
			int error = call(&steps[i]);

			if (error)
				return error;
		}
	return __rdtsc() - start - 2 * (*spins - spun);
}

/* Counts up for ever, two instructions a round. */
void spin(uint64_t *spins)
{
	asm volatile("1: incq %0\n\tjmp 1b" : "+m"(*spins));
}

/* Two instructions a round; returns by how much the time stamp counter advanced. */
uint64_t calibrate(uint64_t rounds)
{
	uint64_t start = __rdtsc();

	asm volatile("1: decq %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
	return __rdtsc() - start;
}

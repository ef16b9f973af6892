/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Building blocks of hostile programs: setting resource limits. The output with massif is compared with the output
 * without it. Amounts printed after "about:" may differ by 1%.
 */
#ifndef MASSIF_SELFTESTS_LIMITS_H
#define MASSIF_SELFTESTS_LIMITS_H

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "state.h"

UNUSED static uint64_t seen_limits(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
			sum = mix(mix(sum, limit.rlim_cur), limit.rlim_max);
	}
	return sum;
}

UNUSED static uint64_t piece_limits(unsigned int p)
{
	return seen_limits();
}

UNUSED static void set_limit(int which, rlim_t value)
{
	struct rlimit limit;

	getrlimit((__rlimit_resource_t)which, &limit);
	limit.rlim_cur = value;
	say("setrlimit %d\n", setrlimit((__rlimit_resource_t)which, &limit));
}

/* Returns how many mappings of @piece bytes can be created. Unmaps them before it returns. */
UNUSED static unsigned long room(size_t piece)
{
	static void *mapped[8192];
	unsigned long count = 0;

	while (count < 8192) {
		mapped[count] = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mapped[count] == MAP_FAILED)
			break;
		count++;
	}
	for (unsigned long i = 0; i < count; i++)
		munmap(mapped[i], piece);
	return count;
}

UNUSED static uint64_t piece_address_space(unsigned int p)
{
	set_limit(RLIMIT_AS, (rlim_t)(300 + p % 3000) << 20);
	say("about: mapped %lu\n", room(1 << 20));
	return mix(seen_limits(), churn(p, 200));
}

UNUSED static uint64_t piece_data(unsigned int p)
{
	set_limit(RLIMIT_DATA, (rlim_t)(120 + p % 400) << 20);
	say("about: mapped %lu\n", room(1 << 18));
	return mix(seen_limits(), churn(p, 200));
}

UNUSED static uint64_t piece_stack(unsigned int p)
{
	set_limit(RLIMIT_STACK, 256 << 10);
	return mix(seen_limits(), churn(p, 200));
}

/* Opens as many files as the limit allows, and allocates while no further descriptor is available. */
UNUSED static uint64_t piece_descriptors(unsigned int p)
{
	static const rlim_t limits[] = { 4, 10, 64, 500, 1000, 1024 };
	int last = -1, next;
	unsigned int count = 0;
	uint64_t sum;

	set_limit(RLIMIT_NOFILE, limits[p % 6]);
	while ((next = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
		last = next;
		count++;
	}
	sum = mix(mix(count, (uint64_t)last), (uint64_t)errno);
	sum = mix(sum, churn(p, 200));
	while (last > 2)
		close(last--);
	return mix(sum, seen_limits());
}

UNUSED static uint64_t piece_locked(unsigned int p)
{
	int flags[] = { MCL_CURRENT, MCL_FUTURE, MCL_CURRENT | MCL_FUTURE, MCL_FUTURE | MCL_ONFAULT };
	uint64_t sum = (uint64_t)mlockall(flags[p % 4]);

	sum = mix(sum, churn(p, 300));
	sum = mix(sum, (uint64_t)munlockall());
	return sum;
}

UNUSED static uint64_t piece_file_size(unsigned int p)
{
	set_limit(RLIMIT_FSIZE, 1 << 20);
	set_limit(RLIMIT_CORE, 0);
	return mix(seen_limits(), churn(p, 300));
}

/* Allocates until malloc() fails, then frees everything; does this twice. */
UNUSED static uint64_t piece_no_memory(unsigned int p)
{
	static void *blocks[4096];
	unsigned int count[2];

	set_limit(RLIMIT_AS, (rlim_t)600 << 20);
	for (unsigned int round = 0; round < 2; round++) {
		for (count[round] = 0; count[round] < 4096; count[round]++) {
			errno = 0;
			blocks[count[round]] = malloc(1 << 20);
			if (!blocks[count[round]])
				break;
		}
		for (unsigned int i = 0; i < count[round]; i++)
			free(blocks[i]);
	}
	say("about: blocks %u %u\n", count[0], count[1]);
	return churn(p, 200);
}

#endif

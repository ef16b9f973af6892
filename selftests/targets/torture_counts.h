/* SPDX-License-Identifier: GPL-2.0 */
/* What torture records for the tests, in files of $TORTURE_MAPS. */
#ifndef MASSIF_SELFTESTS_TORTURE_COUNTS_H
#define MASSIF_SELFTESTS_TORTURE_COUNTS_H

#include <stdint.h>

/*
 * PID.EXECS is /proc/self/maps at the end of an image, PID.EXECS.NUMBER at a moment, when a page is mapped at
 * TORTURE_MARK + NUMBER pages, where nothing else is ever mapped.
 */
#define TORTURE_MARK	0x40000000UL
#define TORTURE_MARKS	4096u

#define TORTURE_COUNTS	"counts"
#define TORTURE_OPS	96

struct torture_counts {
	uint64_t spaces;	/* number of address spaces created in addition to the first image's */
	uint64_t saved;		/* number of files PID.EXECS */
	uint64_t moments;
	struct {
		char name[32];
		uint64_t ran;
		uint64_t refused;	/* number of times that this kernel could not do the operation */
		int32_t error;		/* the last errno of a refused operation */
		uint32_t pad;
	} ops[TORTURE_OPS];
};

#endif

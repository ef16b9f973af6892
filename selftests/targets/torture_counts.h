/* SPDX-License-Identifier: GPL-2.0 */
/* The files in the directory $TORTURE_MAPS, which torture writes for the tests. */
#ifndef MASSIF_SELFTESTS_TORTURE_COUNTS_H
#define MASSIF_SELFTESTS_TORTURE_COUNTS_H

#include <stdint.h>

/*
 * The file PID.EXECS contains /proc/self/maps as it was at an exit or exec; PID.EXECS.NUMBER contains it as it was at
 * moment NUMBER. EXECS is the number of times that the process has called exec, including the exec that started it; it
 * is 0 in a forked child. A moment is a point at which torture saves its maps and then maps a page at TORTURE_MARK +
 * NUMBER pages, where nothing else is ever mapped.
 */
#define TORTURE_MARK	0x40000000UL
#define TORTURE_MARKS	4096u

#define TORTURE_COUNTS	"counts"
#define TORTURE_OPS	96

struct torture_counts {
	uint64_t spaces;	/* number of address spaces that were created after that of the first program */
	/* number of files named PID.EXECS; each is a copy of /proc/self/maps, saved at an exit or exec */
	uint64_t saved;
	uint64_t moments;
	struct {
		char name[32];
		uint64_t ran;
		uint64_t refused;	/* number of times that the kernel was unable to perform the operation */
		int32_t error;		/* errno of the most recent refusal */
		uint32_t pad;
	} ops[TORTURE_OPS];
};

#endif

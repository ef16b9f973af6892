/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A higher priority for the thread that reads what massif.ko records. Until a stack has been unwound and sent to the
 * module, the program copies it again each time it occurs: a delay here slows the program down.
 */
#ifndef MASSIF_CTL_PRIORITY_H
#define MASSIF_CTL_PRIORITY_H

#include <stdbool.h>

/* Zero-initialise it. */
struct mf_priority {
	bool is_raised;
	bool is_refused; /* the kernel has refused it before */
	int nice;	 /* the nice value before it was raised */
};

/*
 * Raises the priority of the calling thread, if that is permitted, which usually requires root. Threads and processes that it
 * creates inherit the priority: so call this when the program has been started.
 */
void mf_priority_raise(struct mf_priority *priority);

/* Undoes mf_priority_raise(), in the same thread. */
void mf_priority_restore(struct mf_priority *priority);

#endif

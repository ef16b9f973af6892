/* SPDX-License-Identifier: GPL-2.0 */
/* What a process's memory has of ours. */
#ifndef MASSIF_CTL_SIGHT_H
#define MASSIF_CTL_SIGHT_H

#include <sys/types.h>

enum mf_proc_maps {
	MF_SIGHT_UNKNOWN,
	MF_SIGHT_OURS,	 /* the session is mapped */
	MF_SIGHT_ARRIVING, /* another program was executed, in which the shim is, or may still be loaded */
	MF_SIGHT_OTHER,	 /* another program was executed, without the shim */
	MF_SIGHT_ENDING, /* there is no memory any more */
};

enum mf_proc_maps mf_proc_maps_of(pid_t pid);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Determines from /proc/PID/maps whether a process still has the session or the shim mapped. */
#ifndef MASSIF_CTL_SIGHT_H
#define MASSIF_CTL_SIGHT_H

#include <sys/types.h>

enum mf_proc_maps {
	MF_SIGHT_UNKNOWN,
	MF_SIGHT_OURS,	 /* the session is mapped */
	MF_SIGHT_ARRIVING, /* another program was executed; the shim is mapped, or may still be */
	MF_SIGHT_OTHER,	 /* another program was executed, without the shim */
	MF_SIGHT_ENDING, /* the process has no memory any more */
};

enum mf_proc_maps mf_proc_maps_of(pid_t pid);

#endif

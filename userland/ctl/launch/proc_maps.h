/* SPDX-License-Identifier: GPL-2.0 */
/* Determines from /proc/PID/maps whether a process still has the session or the shim mapped. */
#ifndef MASSIF_CTL_PROC_MAPS_H
#define MASSIF_CTL_PROC_MAPS_H

#include <sys/types.h>

enum mf_proc_maps {
	MF_MAPPED_UNKNOWN,
	MF_MAPPED_OURS,	 /* the session is mapped */
	MF_MAPPED_ARRIVING, /* another program was executed, and the shim is mapped or may still be loaded */
	MF_MAPPED_OTHER,	 /* another program was executed, without the shim */
	/* no mapping at all: the process or only its first thread has ended, or it is just executing another program */
	MF_MAPPED_ENDING,
};

enum mf_proc_maps mf_proc_maps_of(pid_t pid);

#endif

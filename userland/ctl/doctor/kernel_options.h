/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel options that massif.ko needs, uses or refuses, compared with the configuration of a kernel. */
#ifndef MASSIF_CTL_KERNEL_OPTIONS_H
#define MASSIF_CTL_KERNEL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor.h"

/* A kernel option, and what follows if it is not set as massif.ko would have it. */
struct mf_kernel_option {
	const char *name; /* CONFIG_... */
	bool wanted;	  /* set (y), or not */
	enum mf_health otherwise; /* MF_HEALTH_BAD: pages mode cannot work; MF_HEALTH_NOTE: it can do less */
	const char *effect; /* what follows otherwise */
};

extern const struct mf_kernel_option mf_kernel_options[];
extern const size_t mf_n_kernel_options;

/*
 * Reads the configuration of kernel @release below the directory @root ("" for the running system), and sets @finding to
 * what it lacks. With @loaded, massif.ko is already loaded, so nothing that is missing is worse than a note.
 */
void mf_kernel_options_check(const char *root, const char *release, bool loaded, struct mf_finding *finding);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* What is profiled in pages mode, by --pages. */
#ifndef MASSIF_PAGES_WHAT_H
#define MASSIF_PAGES_WHAT_H

/* What the bytes of a profile are. */
enum mf_pages_what {
	MF_PAGES_VIRTUAL,  /* all that is mapped, under who mapped it */
	MF_PAGES_RESIDENT, /* what is resident, under who touched it first */
	MF_PAGES_BOTH, /* heap is what is resident, extra the rest of what is mapped; the tree has both */
};

#endif

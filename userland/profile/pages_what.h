/* SPDX-License-Identifier: GPL-2.0 */
/* Defines what pages mode profiles (--pages). */
#ifndef MASSIF_PROFILE_PAGES_WHAT_H
#define MASSIF_PROFILE_PAGES_WHAT_H

/* What a pages-mode profile counts. */
enum mf_pages_what {
	MF_PAGES_VIRTUAL,  /* mapped bytes, charged to the stack that mapped them */
	MF_PAGES_RESIDENT, /* resident bytes, charged to the stack that first touched them */
	/*
	 * the heap column counts resident bytes, the extra column mapped bytes that are not resident; the tree includes
	 * both
	 */
	MF_PAGES_BOTH,
};

#endif

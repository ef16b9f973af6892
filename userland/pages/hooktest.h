/* SPDX-License-Identifier: GPL-2.0 */
/* Do the module's hooks fire? */
#ifndef MASSIF_PAGES_HOOKTEST_H
#define MASSIF_PAGES_HOOKTEST_H

struct mf_error;

/*
 * For a session that is set up, fd: fires those hooks that the module cannot try by itself, in a
 * child, if nobody has since they were armed. 0, or an error that names the hook which is dead.
 */
int mf_hooktest_run(int fd, struct mf_error *err);

#endif

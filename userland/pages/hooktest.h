/* SPDX-License-Identifier: GPL-2.0 */
/* Tests whether the module's hooks fire. */
#ifndef MASSIF_PAGES_HOOKTEST_H
#define MASSIF_PAGES_HOOKTEST_H

struct mf_error;

/*
 * Triggers, in a child process, the hooks that the module cannot test by itself. Does nothing if they have been tested
 * since they were armed. @fd is a session that has been set up. Returns 0, or an error that names the hook that does
 * not fire.
 */
int mf_hooktest_run(int fd, struct mf_error *err);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Gives massif-ctl a larger stack if the limit (ulimit -s) is too low. */
#ifndef MASSIF_CTL_MAIN_STACK_H
#define MASSIF_CTL_MAIN_STACK_H

/*
 * Calls @run on a stack of sufficient size: the current one, or a new one if the limit is too low. @run must return
 * normally, not through longjmp(). New threads also get enough stack. The limit itself is unchanged, since the program
 * inherits it. Returns what @run returns.
 */
int mf_main_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif

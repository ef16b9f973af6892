/* SPDX-License-Identifier: GPL-2.0 */
/* Room for massif-ctl's calls where the limit of stacks (ulimit -s) is lower than they need. */
#ifndef MASSIF_CTL_MAIN_STACK_H
#define MASSIF_CTL_MAIN_STACK_H

/*
 * Calls @run, which does not return to its caller by any other means than return, on a stack that suffices:
 * the present one, or one of its own if the limit is too low. Threads have enough, too, from then on. The
 * limit stays as it is: the program inherits it. Return: what @run returns.
 */
int mf_main_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif

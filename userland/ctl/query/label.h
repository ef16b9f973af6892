/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the names of functions and places, shortened if there is no room for all of a name. */
#ifndef MASSIF_CTL_LABEL_H
#define MASSIF_CTL_LABEL_H

#include "ctl/query/terminal.h"

/*
 * Prints @label, such as "function (file:line)", in at most @columns columns. If it is longer, leaves out what says least,
 * one after the other until the rest fits: what std::string stands for, the directories of libraries, the arguments of
 * templates, the types of parameters and, if there is a file and line, the parameters and namespaces. What is still too
 * long is cut, but the file and line, or the library of a function without a name, are kept if they fit.
 */
void mf_label_print(const struct mf_terminal *terminal, const char *label, unsigned int columns);

/* The same steps without the last one, for tests: shortens @label in place until it has at most @columns columns. */
void mf_label_shorten(char *label, unsigned int columns);

#endif

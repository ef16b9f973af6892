/* SPDX-License-Identifier: GPL-2.0 */
/* The options that Valgrind has and massif has not, each with the reason. */
#ifndef MASSIF_CTL_FOREIGN_H
#define MASSIF_CTL_FOREIGN_H

/*
 * Why @arg, an option as given, means nothing here: a sentence. NULL when no Valgrind has an option
 * of this name, or its value says no more than what is so anyway.
 */
const char *mf_valgrind_option_reason(const char *arg);

#endif

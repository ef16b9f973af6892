/* SPDX-License-Identifier: GPL-2.0 */
/* Valgrind options that massif-ctl does not support, each with the reason. */
#ifndef MASSIF_CTL_VALGRIND_OPTIONS_H
#define MASSIF_CTL_VALGRIND_OPTIONS_H

/* Returns a sentence that says why the option @arg (as given) is not supported; NULL if Valgrind has no such option. */
const char *mf_valgrind_option_reason(const char *arg);

#endif

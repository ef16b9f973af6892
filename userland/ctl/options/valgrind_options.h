/* SPDX-License-Identifier: GPL-2.0 */
/* Options of Valgrind that massif-ctl does not have, each with the reason. */
#ifndef MASSIF_CTL_VALGRIND_OPTIONS_H
#define MASSIF_CTL_VALGRIND_OPTIONS_H

/* Returns why the option @arg (as given) is not supported, as a sentence; NULL if Valgrind has no such option. */
const char *mf_valgrind_option_reason(const char *arg);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Says of which files the names could not be read, and when they are read with more rights than need be. */
#ifndef MASSIF_CTL_UNNAMED_H
#define MASSIF_CTL_UNNAMED_H

/* For struct mf_symbolizer_options. Each file is told of once. Context: any thread. */
void mf_unnamed_say(const char *path, const char *why);

/* The same; once, as a detail. @confined: MF_CONFINED_*. */
void mf_unnamed_say_loose(unsigned int confined);

/* Which of MF_CONFINED_ALL is not in @confined, in words; "" if nothing is missing. The text is static. */
const char *mf_unnamed_what_is_loose(unsigned int confined);

#endif

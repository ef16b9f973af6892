/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports files whose symbol names cannot be read, and restrictions (base/confine.h) that could not be applied to the
 * process that reads symbol names.
 */
#ifndef MASSIF_CTL_UNNAMED_H
#define MASSIF_CTL_UNNAMED_H

/*
 * Reports that the symbol names of the file @path cannot be read, once for each file. A callback for struct
 * mf_symbolizer_options. Context: any thread.
 */
void mf_unnamed_say(const char *path, const char *why);

/*
 * Reports that a process that reads symbol names runs without some of its protections. @confined (MF_CONFINED_* flags)
 * is the set of protections that it has. Reports only once per run, at level MF_MESSAGE_DETAIL.
 */
void mf_unnamed_say_loose(unsigned int confined);

/*
 * Describes the most important protection (flag of MF_CONFINED_ALL) that is not in @confined; returns "" if none is
 * missing. The text is static.
 */
const char *mf_unnamed_what_is_loose(unsigned int confined);

#endif

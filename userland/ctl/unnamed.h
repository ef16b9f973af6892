/* SPDX-License-Identifier: GPL-2.0 */
/* Says of which files the names could not be read. */
#ifndef MASSIF_CTL_UNNAMED_H
#define MASSIF_CTL_UNNAMED_H

/* For struct mf_symbolizer_options. Each file is told of once. Context: any thread. */
void mf_unnamed_say(const char *path, const char *why);

#endif

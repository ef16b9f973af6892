/* SPDX-License-Identifier: GPL-2.0 */
/* What stands before and after the graph. */
#ifndef MF_MSPRINT_SUMMARY_H
#define MF_MSPRINT_SUMMARY_H

struct mf_header;
struct mf_output;
struct mf_profile;
struct mf_text;

/* The command and the arguments of massif and of ms_print, each of which has a blank before it. */
void mf_summary_print_preamble(const struct mf_header *header, const struct mf_text *args,
			       struct mf_output *out);

/* How many snapshots there are, and which have a tree. */
void mf_summary_print_list(const struct mf_profile *profile, struct mf_output *out);

#endif

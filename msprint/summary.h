/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the report before and after the graph. */
#ifndef MASSIF_MSPRINT_SUMMARY_H
#define MASSIF_MSPRINT_SUMMARY_H

struct mf_header;
struct mf_output;
struct mf_profile;
struct mf_text;

/* Prints the program's command and the arguments of massif and of ms_print (@args; see struct mf_options). */
void mf_summary_print_preamble(const struct mf_header *header, const struct mf_text *args,
			       struct mf_output *out);

/* Prints the number of snapshots and a list of the detailed ones. */
void mf_summary_print_list(const struct mf_profile *profile, struct mf_output *out);

#endif

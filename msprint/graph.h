/* SPDX-License-Identifier: GPL-2.0 */
/* The graph of total memory over time. */
#ifndef MASSIF_MSPRINT_GRAPH_H
#define MASSIF_MSPRINT_GRAPH_H

struct mf_output;
struct mf_profile;
struct mf_text;

/*
 * Prints the graph of @profile, which must have passed mf_profile_finish(). @unit: time unit; @width, @height: numbers
 * of columns and rows.
 */
void mf_graph_print(const struct mf_profile *profile, const struct mf_text *unit,
		    unsigned int width, unsigned int height, struct mf_output *out);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The graph of total memory over time. */
#ifndef MASSIF_MSPRINT_GRAPH_H
#define MASSIF_MSPRINT_GRAPH_H

struct mf_output;
struct mf_profile;
struct mf_text;

/*
 * Prints the graph of @profile, for which mf_profile_finish() must have succeeded. @unit: time unit; @width, @height:
 * size of the graph in columns and rows.
 */
void mf_graph_print(const struct mf_profile *profile, const struct mf_text *unit,
		    unsigned int width, unsigned int height, struct mf_output *out);

#endif

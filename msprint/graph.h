/* SPDX-License-Identifier: GPL-2.0 */
/* The graph of totals over time. */
#ifndef MF_MSPRINT_GRAPH_H
#define MF_MSPRINT_GRAPH_H

struct mf_output;
struct mf_profile;
struct mf_text;

/* Draws and prints a checked profile, in that many columns and rows; unit is that of the times. */
void mf_graph_print(const struct mf_profile *profile, const struct mf_text *unit,
		    unsigned int width, unsigned int height, struct mf_output *out);

#endif

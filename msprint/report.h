/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the whole report about a massif.out file. */
#ifndef MASSIF_MSPRINT_REPORT_H
#define MASSIF_MSPRINT_REPORT_H

struct mf_failure;
struct mf_input;
struct mf_options;
struct mf_output;

/* Checks the whole input before printing anything. Returns 0, or -EINVAL with @failure set. */
int mf_report_print(const struct mf_options *options, struct mf_input *input,
		    struct mf_output *out, struct mf_failure *failure);

#endif

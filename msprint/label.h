/* SPDX-License-Identifier: GPL-2.0 */
/* Labels of the graph's axes: a number of about five characters, and a unit. */
#ifndef MASSIF_MSPRINT_LABEL_H
#define MASSIF_MSPRINT_LABEL_H

#include "number.h"
#include "text.h"

struct mf_label {
	char text[400];		/* the scaled value: at least 5 characters, padded on the left with spaces */
	const char *unit;
};

/* Scales @value, whose unit is @unit: B, i or ms. Returns 0, or -EINVAL for any other unit. */
int mf_label_make(struct mf_label *label, struct mf_number value, const struct mf_text *unit);

#endif

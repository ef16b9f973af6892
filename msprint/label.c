// SPDX-License-Identifier: GPL-2.0
// Labels of the graph's axes.

#include "label.h"

#include <errno.h>
#include <stdio.h>

/* If a value is @limit or more, it is divided by @divisor to convert it to @unit. */
struct step {
	const char *unit;
	unsigned int limit;
	unsigned int divisor;
};

static const struct scale {
	const char *base;
	struct step steps[9];	/* in ascending order of units; the list ends with an element that has no unit */
} scales[] = {
	{ "B", {
		{ "KB", 1000, 1024 }, { "MB", 1000, 1024 }, { "GB", 1000, 1024 },
		{ "TB", 1000, 1024 }, { "PB", 1000, 1024 }, { "EB", 1000, 1024 },
		{ "ZB", 1000, 1024 }, { "YB", 1000, 1024 },
	} },
	{ "i", {
		{ "ki", 1000, 1024 }, { "Mi", 1000, 1024 }, { "Gi", 1000, 1024 },
		{ "Ti", 1000, 1024 }, { "Pi", 1000, 1024 }, { "Ei", 1000, 1024 },
		{ "Zi", 1000, 1024 }, { "Yi", 1000, 1024 },
	} },
	{ "ms", {
		{ "s", 1000, 1000 }, { "h", 3600, 3600 },
	} },
};

static void format(struct mf_label *label, struct mf_number value, double scaled)
{
	size_t size = sizeof(label->text);
	int places = scaled < 10 ? 3 : scaled < 100 ? 2 : 1;

	if (mf_number_less(value, mf_number_of(1000)))
		snprintf(label->text, size, "%5d", (int)mf_number_double(value));
	else
		snprintf(label->text, size, "%5.*f", places, scaled);
}

int mf_label_make(struct mf_label *label, struct mf_number value, const struct mf_text *unit)
{
	const struct scale *scale = scales;
	const struct scale *last = scales + sizeof(scales) / sizeof(scales[0]);
	struct mf_number scaled = value;
	const struct step *step;

	while (scale < last && !mf_text_equals(unit, scale->base))
		scale++;
	if (scale == last)
		return -EINVAL;
	label->unit = scale->base;
	for (step = scale->steps; step->unit; step++) {
		if (!mf_number_at_least(scaled, mf_number_of(step->limit)))
			continue;
		label->unit = step->unit;
		scaled = mf_number_divide(scaled, mf_number_of(step->divisor));
	}
	format(label, value, mf_number_double(scaled));
	return 0;
}

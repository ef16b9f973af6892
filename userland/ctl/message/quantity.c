// SPDX-License-Identifier: GPL-2.0
// Formats sizes and times for people.

#include "quantity.h"

#include <inttypes.h>
#include <stdio.h>

/* A unit for printing a value: a value of at least @limit is divided by @divisor and printed with @unit. */
struct step {
	const char *unit;
	unsigned int limit, divisor;
};

#define STEPS_MAX 7 /* the last entry has no unit and ends the list */

/* Use the same units and limits as ms_print (msprint/label.c), so that messages show the same numbers as its graph. */
static const struct step bytes_steps[STEPS_MAX] = {
	{ "KB", 1000, 1024 }, { "MB", 1000, 1024 }, { "GB", 1000, 1024 },
	{ "TB", 1000, 1024 }, { "PB", 1000, 1024 }, { "EB", 1000, 1024 },
};

static const struct scale {
	const char *unit; /* unit for values that are too small for the first unit in @steps */
	const struct step *steps;
	const char *after;
} scales[] = {
	[MF_TIME_BYTES] = { "B", bytes_steps, " allocated and freed" },
	[MF_TIME_INSTRUCTIONS] = {
		"instructions",
		(const struct step[STEPS_MAX]){
			{ "ki instructions", 1000, 1024 }, { "Mi instructions", 1000, 1024 },
			{ "Gi instructions", 1000, 1024 }, { "Ti instructions", 1000, 1024 },
			{ "Pi instructions", 1000, 1024 }, { "Ei instructions", 1000, 1024 },
		},
		"",
	},
	[MF_TIME_MS] = {
		"ms",
		(const struct step[STEPS_MAX]){ { "s", 1000, 1000 }, { "h", 3600, 3600 } },
		"",
	},
};

static struct mf_quantity format(uint64_t value, const struct scale *scale, const char *after)
{
	const char *unit = scale->unit;
	double scaled = (double)value;
	struct mf_quantity quantity;

	for (const struct step *step = scale->steps; step->unit; step++) {
		if (scaled < step->limit)
			continue;
		unit = step->unit;
		scaled /= step->divisor;
	}
	if (unit == scale->unit)
		snprintf(quantity.text, sizeof(quantity.text), "%" PRIu64 " %s%s", value, unit,
			 after);
	else
		snprintf(quantity.text, sizeof(quantity.text), "%.*f %s%s",
			 scaled < 10 ? 3 : scaled < 100 ? 2 : 1, scaled, unit, after);
	return quantity;
}

struct mf_quantity mf_quantity_bytes(uint64_t bytes)
{
	return format(bytes, &scales[MF_TIME_BYTES], "");
}

struct mf_quantity mf_quantity_time(int64_t time, enum mf_time_unit unit)
{
	const struct scale *scale = &scales[unit <= MF_TIME_BYTES ? unit : MF_TIME_BYTES];

	return format(time > 0 ? (uint64_t)time : 0, scale, scale->after);
}

// SPDX-License-Identifier: GPL-2.0
// The colours of the page of massif-ctl report, in light, in dark and on paper: texts have enough contrast, and fills are
// told apart by people with normal sight and by those who lack one of the three kinds of cones.

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/* WCAG 2.1, success criterion 1.4.3, for texts of usual size; and 1.4.11, for what is not text. */
#define TEXT_CONTRAST	 4.5
#define GRAPHIC_CONTRAST 3.0

/* Distances in CIELAB; one can be seen from about 2.3. */
#define FILLS_APART 18
#define PARTS_APART 15

#define VARIABLES 64

struct variable {
	char name[32];
	double rgb[3]; /* linear */
	double sent[3]; /* as they are in the file, from 0 to 1 */
};

/* The colours of one theme. */
struct theme {
	struct variable list[VARIABLES];
	size_t n;
};

FIXTURE(colours)
{
	struct ctl_result result;
	char *page;
	struct theme light, dark, automatic, print;
};

static double linear(double sent)
{
	return sent <= 0.04045 ? sent / 12.92 : pow((sent + 0.055) / 1.055, 2.4);
}

static struct variable *find(struct theme *theme, const char *name, size_t length)
{
	for (size_t i = 0; i < theme->n; i++)
		if (strlen(theme->list[i].name) == length && strncmp(theme->list[i].name, name, length) == 0)
			return &theme->list[i];
	return NULL;
}

static void set(struct theme *theme, const char *name, size_t length, const char *digits)
{
	struct variable *variable = find(theme, name, length);
	unsigned long number = strtoul(digits, NULL, 16);

	/* Each digit of three stands for two. */
	if (strspn(digits, "0123456789abcdef") == 3)
		number = 0x11 * ((number & 0xf00) << 8 | (number & 0xf0) << 4 | (number & 0xf));
	if (!variable && theme->n < VARIABLES) {
		variable = &theme->list[theme->n++];
		snprintf(variable->name, sizeof(variable->name), "%.*s", (int)length, name);
	}
	for (int i = 0; variable && i < 3; i++) {
		variable->sent[i] = (double)(number >> (16 - 8 * i) & 0xff) / 255;
		variable->rgb[i] = linear(variable->sent[i]);
	}
}

/* Adds the variables of the block that begins with @head to @theme. Returns how many of them are colours. */
static int read_block(const char *page, const char *head, struct theme *theme)
{
	const char *at = strstr(page, head), *end = at ? strchr(at, '}') : NULL;
	int n = 0;

	if (!end)
		return 0;
	for (at = strstr(at, "--"); at && at < end; at = strstr(at + 2, "--")) {
		size_t length = strcspn(at + 2, ":");

		if (strncmp(at + 2 + length, ": #", 3) != 0)
			continue;
		set(theme, at + 2, length, at + 2 + length + 3);
		n++;
	}
	return n;
}

FIXTURE_SETUP(colours)
{
	ctl_write_file("out.massif", "desc: (none)\ncmd: colours\ntime_unit: B\n#-----------\nsnapshot=0\n#-----------\n"
				     "time=1\nmem_heap_B=1\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
				     "n0: 1 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", 0644);
	CTL_RUN(&self->result, "massif-ctl", "report", "-o", "out.html", "out.massif");
	self->page = ctl_read_file("out.html");
	ASSERT_NE(NULL, self->page);
	ASSERT_LT(20, read_block(self->page, "\n:root {", &self->light));
	self->dark = self->automatic = self->print = self->light;
	ASSERT_LT(20, read_block(self->page, "\n:root[data-theme=\"dark\"] {", &self->dark));
	ASSERT_LT(20, read_block(self->page, "\t:root[data-theme=\"auto\"] {", &self->automatic));
	ASSERT_LT(10, read_block(self->page, "\t:root, :root[data-theme=\"dark\"], :root[data-theme=\"auto\"] {",
				 &self->print));
}

FIXTURE_TEARDOWN(colours)
{
	free(self->page);
	ctl_result_free(&self->result);
	ctl_remove_files("out.");
}

static double luminance(const struct variable *colour)
{
	return 0.2126 * colour->rgb[0] + 0.7152 * colour->rgb[1] + 0.0722 * colour->rgb[2];
}

static double contrast(struct theme *theme, const char *one, const char *other)
{
	const struct variable *a = find(theme, one, strlen(one)), *b = find(theme, other, strlen(other));
	double x = a && b ? luminance(a) + 0.05 : 0, y = a && b ? luminance(b) + 0.05 : 1;

	return x > y ? x / y : y / x;
}

TEST_F(colours, are_the_same_if_the_system_is_dark)
{
	ASSERT_EQ(self->dark.n, self->automatic.n);
	EXPECT_EQ(0, memcmp(self->dark.list, self->automatic.list, self->dark.n * sizeof(self->dark.list[0])));
}

static const struct {
	const char *one, *other;
	double least;
} pairs[] = {
	{ "text", "sheet", TEXT_CONTRAST },	  { "text", "page", TEXT_CONTRAST },
	{ "text", "hover", TEXT_CONTRAST },	  { "text", "bar", TEXT_CONTRAST },
	{ "text", "fill-all", TEXT_CONTRAST },	  { "soft", "sheet", TEXT_CONTRAST },
	{ "soft", "page", TEXT_CONTRAST },	  { "soft", "hover", TEXT_CONTRAST },
	{ "accent", "sheet", TEXT_CONTRAST },	  { "on-accent", "accent", TEXT_CONTRAST },
	{ "warn", "warn-page", TEXT_CONTRAST },	  { "box-text", "fill-0", TEXT_CONTRAST },
	{ "box-text", "fill-1", TEXT_CONTRAST },  { "box-text", "fill-2", TEXT_CONTRAST },
	{ "box-text", "fill-3", TEXT_CONTRAST },  { "box-text", "fill-4", TEXT_CONTRAST },
	{ "box-text", "fill-5", TEXT_CONTRAST },  { "box-text", "fill-6", TEXT_CONTRAST },
	{ "box-text", "fill-7", TEXT_CONTRAST },  { "useful", "sheet", GRAPHIC_CONTRAST },
	{ "fill-found", "sheet", GRAPHIC_CONTRAST },
};

TEST_F(colours, have_contrast)
{
	struct theme *themes[] = { &self->light, &self->dark, &self->print };
	static const char *const names[] = { "light", "dark", "print" };

	for (size_t k = 0; k < 3; k++) {
		for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
			double found = contrast(themes[k], pairs[i].one, pairs[i].other);

			EXPECT_LE(pairs[i].least, found) {
				TH_LOG("%s: %s on %s: %.2f", names[k], pairs[i].one, pairs[i].other, found);
			}
		}
	}
}

/*
 * How a colour looks: to all, and to people without the cones for long, middle and short waves. The matrices are those of
 * Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency (2009), for a
 * severity of 1, to be applied to linear values.
 */
static const struct {
	const char *name;
	double matrix[3][3];
} sights[] = {
	{ "normal sight", { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } },
	{ "protanopia", { { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 },
			  { -0.003882, -0.048116, 1.051998 } } },
	{ "deuteranopia", { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 },
			    { -0.011820, 0.042940, 0.968881 } } },
	{ "tritanopia", { { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 },
			  { 0.004733, 0.691367, 0.303900 } } },
};

static double lightness(double part)
{
	return part > 216.0 / 24389 ? cbrt(part) : (24389.0 / 27 * part + 16) / 116;
}

/* Converts linear values to CIELAB, for the white point D65. */
static void to_lab(const double rgb[static 3], double lab[static 3])
{
	double x = lightness((0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2]) / 0.95047);
	double y = lightness(0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2]);
	double z = lightness((0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2]) / 1.08883);

	lab[0] = 116 * y - 16;
	lab[1] = 500 * (x - y);
	lab[2] = 200 * (y - z);
}

static void see(const double rgb[static 3], size_t sight, double lab[static 3])
{
	double seen[3];

	for (int i = 0; i < 3; i++) {
		seen[i] = 0;
		for (int k = 0; k < 3; k++)
			seen[i] += sights[sight].matrix[i][k] * rgb[k];
		seen[i] = fmin(1, fmax(0, seen[i]));
	}
	to_lab(seen, lab);
}

static double distance(const double a[static 3], const double b[static 3], size_t sight)
{
	double x[3], y[3], sum = 0;

	see(a, sight, x);
	see(b, sight, y);
	for (int i = 0; i < 3; i++)
		sum += (x[i] - y[i]) * (x[i] - y[i]);
	return sqrt(sum);
}

/* Paints @colour over the sheet with @opacity. */
static void paint(struct theme *theme, const char *colour, double opacity, double rgb[static 3])
{
	const struct variable *above = find(theme, colour, strlen(colour)), *below = find(theme, "sheet", strlen("sheet"));

	for (int i = 0; i < 3; i++)
		rgb[i] = above && below ? linear(opacity * above->sent[i] + (1 - opacity) * below->sent[i]) : 0;
}

/* Returns the least distance of two of the @n colours, to any sight. */
static double least_distance(struct theme *theme, const char *const *names, size_t n, double opacity, char pair[static 128])
{
	double least = 1e9;

	for (size_t sight = 0; sight < sizeof(sights) / sizeof(sights[0]); sight++) {
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < i; k++) {
				double one[3], other[3], apart;

				paint(theme, names[i], opacity, one);
				paint(theme, names[k], opacity, other);
				apart = distance(one, other, sight);
				if (apart >= least)
					continue;
				least = apart;
				snprintf(pair, 128, "%s and %s, %s: %.1f", names[i], names[k], sights[sight].name, apart);
			}
		}
	}
	return least;
}

TEST_F(colours, are_told_apart)
{
	static const char *const fills[] = { "fill-0", "fill-1", "fill-2", "fill-3",
					     "fill-4", "fill-5", "fill-6", "fill-7" };
	static const char *const parts[] = { "useful", "extra", "stacks" };
	/* Those of the resident set (residency.css), which are opaque. */
	static const char *const bands[] = { "fill-0", "fill-1", "fill-2", "fill-3",   "fill-4",
					     "fill-5", "fill-6", "fill-7", "stacks", "band-other" };
	struct theme *themes[] = { &self->light, &self->dark, &self->print };
	static const char *const names[] = { "light", "dark", "print" };
	const char *area = strstr(self->page, "\n.area {\n\tfill-opacity: ");
	double opacity = area ? strtod(area + strlen("\n.area {\n\tfill-opacity: "), NULL) : 0;

	ASSERT_LT(0, opacity);
	for (size_t k = 0; k < 3; k++) {
		char pair[128] = "";

		EXPECT_LE(FILLS_APART, least_distance(themes[k], fills, 8, 1, pair)) {
			TH_LOG("%s: %s", names[k], pair);
		}
		EXPECT_LE(PARTS_APART, least_distance(themes[k], parts, 3, opacity, pair)) {
			TH_LOG("%s: %s", names[k], pair);
		}
		EXPECT_LE(PARTS_APART, least_distance(themes[k], bands, 10, 1, pair)) {
			TH_LOG("%s: %s", names[k], pair);
		}
	}
	/* Each band has a colour of its own, and no other than these. */
	for (size_t i = 0; i < sizeof(bands) / sizeof(bands[0]); i++) {
		char rule[64];
		const char *at;

		snprintf(rule, sizeof(rule), "{ --band: var(--%s); }", bands[i]);
		at = strstr(self->page, rule);
		ASSERT_NE(NULL, at) {
			TH_LOG("%s", bands[i]);
		}
		EXPECT_EQ(NULL, strstr(at + 1, rule));
	}
}

/* Checks the simulations with pure colours: red and green must become hard to tell apart, blue and yellow must not. */
TEST_F(colours, simulations_are_right)
{
	static const double red[] = { 0.30, 0, 0 }, green[] = { 0.02, 0.12, 0 };
	static const double blue[] = { 0, 0, 1 }, yellow[] = { 1, 1, 0 }, white[] = { 1, 1, 1 };
	double lab[3];

	to_lab(white, lab);
	EXPECT_GT(0.1, fabs(lab[0] - 100) + fabs(lab[1]) + fabs(lab[2]));
	EXPECT_LT(60, distance(red, green, 0));
	EXPECT_GT(30, distance(red, green, 2));
	for (size_t i = 0; i < 3; i++)
		EXPECT_LT(100, distance(blue, yellow, i));
}

TEST_HARNESS_MAIN

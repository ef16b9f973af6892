// SPDX-License-Identifier: GPL-2.0
// The resident set in the page of massif-ctl report, in Chromium: bands, fillings and sites are those of the export to the
// byte, and those that the program itself has counted.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "html/data.h"
#include "recording/reader.h"
#include "selftests/lib/page_fixture.h"
#include "selftests/lib/touches_recording.h"

FIXTURE(rss)
{
	PAGE_MEMBERS;
	char *said; /* what the program printed */
	char wanted[8192];
};

FIXTURE_SETUP(rss)
{
	PAGE_SET_UP();
}

FIXTURE_TEARDOWN(rss)
{
	free(self->said);
	PAGE_TEAR_DOWN();
}

static bool record_resting(FIXTURE_DATA(rss) *self, const char *name, const char *shape, const char *rest)
{
	char option[64];

	snprintf(option, sizeof(option), "--record=%s", name);
	if (RUN("massif-ctl", "record", "-q", "--rss=yes", option, "--massif-out-file=massif.out", ctl_target("rss_shapes"),
		shape, rest))
		return false;
	free(self->said);
	self->said = strdup(self->result.out);
	return true;
}

/*
 * Makes file @name of a shape of rss_shapes. A curve needs some samples, and a choice of two that the last one is not the
 * largest. The slower the machine is, the longer that takes.
 */
static bool record(FIXTURE_DATA(rss) *self, const char *name, const char *shape)
{
	static const char *const rests[] = { "700", "1400", "2800", "5600", "11200" };
	bool is_enough = false;

	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]) && !is_enough; i++) {
		if (!record_resting(self, name, shape, rests[i]) ||
		    RUN("massif-ctl", "export", "--to=json", "-o", "enough.json", name))
			return false;
		is_enough = RUN("jq", "-e", ".residency | (.samples | length) > 3 and .peak.time_ms != .last.time_ms",
				"enough.json") == 0;
	}
	return true;
}

/* Makes out.html and out.json of a shape of rss_shapes. */
static bool report(FIXTURE_DATA(rss) *self, const char *shape)
{
	return record(self, "massif.rec", shape) && RUN("massif-ctl", "report", "-o", "out.html", "massif.rec") == 0 &&
	       RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec") == 0;
}

/* Returns what jq finds in the export, without the line break; valid until the next call. */
static const char *from_export(FIXTURE_DATA(rss) *self, const char *query)
{
	int code = RUN("jq", "-r", query, "out.json");

	snprintf(self->wanted, sizeof(self->wanted), "%s", code ? "jq failed" : self->result.out);
	self->wanted[strcspn(self->wanted, "\n")] = '\0';
	return self->wanted;
}

/* Returns the number that the program has printed after @word, as text. */
static const char *told(FIXTURE_DATA(rss) *self, const char *word)
{
	const char *at = strstr(self->said, word);

	snprintf(self->wanted, sizeof(self->wanted), "%s", at ? at + strlen(word) : "not said");
	self->wanted[strcspn(self->wanted, "\n")] = '\0';
	return self->wanted;
}

/* Compares the page, at sample @sample, with @detail of the export. */
static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(rss) *self, int sample, const char *detail)
{
	static const struct {
		const char *query, *shown;
	} numbers[] = {
		{ ".residency.%s.rss", "document.querySelector('#residency-total strong').dataset.value" },
		{ "[.residency.%s.bands | to_entries[] | select(.value > 0) | .value] + [.residency.%s.rss] | join(\",\")",
		  "[...document.querySelectorAll('#residency-bands tbody:nth-child(2) td[data-value]')].map((c) =>"
		  "	c.dataset.value).join()" },
		{ "[.residency.%s.bands | to_entries[] | select(.value > 0) | .key] | join(\",\")",
		  "[...document.querySelectorAll('#residency-bands th.band')].map((c) => c.className.split(' "
		  "')[1]).join()" },
		{ "if (.residency.%s.fillings | add) > 0 then .residency.%s.fillings | join(\",\") else \"\" end",
		  "document.querySelector('#fillings').hidden ? '' : [...document.querySelectorAll("
		  "	'#residency-fillings td[data-value]')].map((c) => c.dataset.value).join()" },
		{ "[.residency.%s.mapped, .residency.%s.untouched | select(. > 0)] | join(\",\")",
		  "[...document.querySelectorAll('.beside tr')].filter((r) => /^(Mapped in all|Live blocks, never "
		  "touched)$/"
		  "	.test(r.querySelector('th').textContent)).map((r) => r.querySelector('td').dataset.value).join()" },
		{ "[.residency.peak, .residency.last] | unique_by(.time_ms) | map(.rss) | join(\",\")",
		  "[...document.querySelectorAll('circle.mark:not(.moment)')]"
		  "	.sort((a, b) => a.dataset.sample - b.dataset.sample)"
		  "	.map((c) => c.dataset.total).join()" },
		{ ".residency.samples as $s | [$s[-1].bands | to_entries[] | select(.key as $k | any($s[]; "
		  ".bands[$k] > 0)) |"
		  "	.value] | join(\",\")",
		  "[...document.querySelectorAll('path.band')].map((p) => p.dataset.last).join()" },
	};
	char query[512], fragment[64];

	snprintf(fragment, sizeof(fragment), "#curve=rss&sample=%d", sample);
	ASSERT_LT(0, open_page(self, "out.html", fragment, 1280));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(query, sizeof(query), numbers[i].query, detail, detail);
		EXPECT_STREQ(from_export(self, query), EVAL("%s", numbers[i].shown)) {
			TH_LOG("%s", query);
		}
	}
	/* The parts that are drawn add up: the last begins where that below it ends, and the uppermost ends at the curve. */
	EXPECT_STREQ("true", EVAL("(() => { const bands = [...document.querySelectorAll('path.band')].map((p) => {"
				  "	const n = p.getAttribute('d').slice(1).replace(/Z$/, '').split('L').map((t) "
				  "=> t.split(',').map(Number));"
				  "	const half = n.length / 2; return { tops: n.slice(0, half), bottoms: "
				  "n.slice(half).reverse() }; });"
				  "const line = "
				  "document.querySelector('path.total').getAttribute('d').slice(1).split('L').map((t) =>"
				  "	t.split(',').map(Number)), near = (a, b) => Math.abs(a[0] - b[0]) + "
				  "Math.abs(a[1] - b[1]) < 0.01;"
				  "return bands.length > 4 && line.length > 3 && bands.every(({ bottoms }, i) => !i ||"
				  "	bottoms.every((b, k) => near(b, bands[i - 1].tops[k]))) &&"
				  "	bands[bands.length - 1].tops.every((t, k) => near(t, line[k])); })()"));
}

TEST_F_TIMEOUT(rss, is_that_of_the_export, 120)
{
	static const char *const shapes[] = { "fragments", "untouched", "mappings", "stacks", "arenas" };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ASSERT_TRUE(report(self, shapes[i]));
		TH_LOG("%s", shapes[i]);
		compare(_metadata, self, 0, "peak");
		EXPECT_STREQ(from_export(self, ".residency.peak.rss"),
			     EVAL("[...document.querySelectorAll('.figure')].find((f) => "
				  "f.querySelector('dt').textContent === "
				  "'Resident set').querySelector('button').dataset.value"));
		/* There is one detail if the last sample is the largest. */
		if (strcmp("1", from_export(self, "[.residency.peak, .residency.last] | unique_by(.time_ms) | length")))
			compare(_metadata, self, 1, "last");
	}
	EXPECT_EQ(1, self->browser.requests);
}

static const char *fragment_of(char text[64], int sample)
{
	snprintf(text, 64, "#show=pinned&sample=%d", sample);
	return text;
}

/* Clicks the first, then the last sample that is neither the largest nor the last one, and compares it with the export. */
TEST_F_TIMEOUT(rss, at_any_moment, 120)
{
	static const char *const clicked[] = { "#chart-first", "#chart-last" };
	char fragment[64], query[256], detail[64], at[64], rss[64];

	ASSERT_TRUE(report(self, "fragments"));
	for (size_t i = 0; i < 2; i++) {
		int sample;
		long time;

		ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
		ASSERT_STREQ("true", EVAL("(() => { const all = [...document.querySelectorAll('circle.moment')];"
					  "if (all.length < 2) return false; all[0].id = 'chart-first';"
					  "all[all.length - 1].id = 'chart-last'; return true; })()"));
		sample = atoi(EVAL("document.querySelector('%s').dataset.sample", clicked[i]));
		time = atol(EVAL("document.querySelector('%s').dataset.time", clicked[i]));
		ASSERT_TRUE(browser_click(&self->browser, clicked[i]));
		snprintf(fragment, sizeof(fragment), "sample=%d", sample);
		EXPECT_NE(NULL, strstr(EVAL("location.hash"), fragment));
		EXPECT_STREQ("true", EVAL("document.querySelector('circle.chosen').dataset.sample === '%d' && "
					  "document.querySelector('#at-peak').getAttribute('aria-pressed') === 'false' &&"
					  "document.querySelector('#at-end').getAttribute('aria-pressed') === 'false'",
					  sample));
		snprintf(query, sizeof(query), "[.residency.moments[].time_ms] | index(%ld)", time);
		snprintf(detail, sizeof(detail), "moments[%s]", from_export(self, query));
		compare(_metadata, self, sample, detail);
		/* The sites, too: those of the moments before it must not remain. */
		open_page(self, "out.html", fragment_of(fragment, sample), 1280);
		snprintf(query, sizeof(query), "[.residency.%s.sites[][3]] | add // 0", detail);
		EXPECT_STREQ(from_export(self, query),
			     EVAL("(document.querySelector('#flame g') || { dataset: { value: '0' } }).dataset.value"));
		/* At the very first, the program has no block yet. */
		EXPECT_TRUE(i == 0 || strcmp("0", self->wanted));
		/* The table has the functions that keep something. */
		snprintf(query, sizeof(query), ". as $d | .residency.%s.sites |"
					       "group_by($d.calls[$d.stacks[.[0]][0]].function) |"
					       "map(select(any(.[3] > 0)) | .[][1]) | add // 0", detail);
		EXPECT_STREQ(from_export(self, query),
			     EVAL("String([...document.querySelectorAll('#rows tbody tr')].map((r) =>"
				  "	Number(r.querySelectorAll('td')[1].dataset.value)).reduce((a, b) => a + b, 0))"));
		/* And it is the sample that massif-ctl shows. */
		snprintf(query, sizeof(query), ".residency.%s.rss", detail);
		snprintf(rss, sizeof(rss), "\nRSS %.4g", strtod(from_export(self, query), NULL) / (1 << 20));
		snprintf(at, sizeof(at), "--at=%ldms", time);
		ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", at, "massif.rec"));
		EXPECT_NE(NULL, strstr(self->result.out, rss)) TH_LOG("%s not in %s", rss, self->result.out);
	}
	/* From the first to the last by the slider: in the order of time. */
	EXPECT_STREQ("true", EVAL("(() => { const times = []; const at = document.querySelector('#at');"
				  "for (let i = 0; i <= Number(at.max); i++) { at.value = i;"
				  "	at.dispatchEvent(new Event('input'));"
				  "	times.push(Number(document.querySelector('circle.chosen').dataset.time)); }"
				  "return times.length > 3 && times.every((t, i) => !i || t > times[i - 1]); })()"));
}

/* Makes @n samples with their sites, which differ, in addition to the largest and the last. */
static void have_moments(struct __test_metadata *_metadata, struct mf_residency *residency, size_t n)
{
	struct mf_residency_detail *moments = calloc(n, sizeof(*moments));

	for (size_t i = 0; i < residency->n_moments; i++)
		mf_residency_detail_deinit(&residency->moments[i]);
	free(residency->moments);
	for (size_t i = 0; i < n; i++) {
		ASSERT_EQ(0, mf_residency_detail_copy(&moments[i], &residency->last));
		moments[i].sample.time_ms = 100000 + i;
		for (size_t k = 0; k < moments[i].n_sites; k++)
			moments[i].sites[k].live += i;
	}
	residency->moments = moments;
	residency->n_moments = n;
}

/* Makes the data with at most @size_max bytes, which is 0 for any size. Returns their size. */
static size_t make_data(struct __test_metadata *_metadata, FIXTURE_DATA(rss) *self, const struct mf_recording *recording,
			size_t size_max)
{
	const struct mf_report_options options = { .depth = 30 };
	const struct mf_html_source source = {
		.sides[MF_HTML_NEW] = { "massif.rec", recording->processes, recording->n_processes, NULL },
		.options = &options,
	};
	struct mf_error err;
	char *text;
	size_t size;
	FILE *out;

	ASSERT_EQ(0, mf_html_data_make(&source, size_max ?: SIZE_MAX / 2, &text, &size, &err)) TH_LOG("%s", err.text);
	out = fopen("out.json", "w");
	ASSERT_EQ(size, fwrite(text, 1, size, out));
	fclose(out);
	free(text);
	return size;
}

#define SHOWN_MOMENTS ".sides[0].processes[0].residency.moments | [.hidden, (.samples | length)] | join(\" \")"

/* If the page would be too large, 8 samples remain, then none; all stacks do. The page says how many are left out. */
TEST_F_TIMEOUT(rss, moments_are_left_out_and_counted, 120)
{
	struct mf_recording recording;
	struct mf_error err;
	size_t all, few, none;

	ASSERT_TRUE(report(self, "fragments"));
	ASSERT_EQ(0, RUN("sed", "-i", "s/\"moments\":{\"hidden\":0/\"moments\":{\"hidden\":3/", "out.html"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	EXPECT_STREQ("; 3 samples left out here, because the page would be too large: massif-ctl show --rss --at=TIME",
		     EVAL("document.querySelector('#samples-hidden').textContent"));

	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, &err));
	have_moments(_metadata, (struct mf_residency *)recording.processes[0]->profile.residency, 96);
	all = make_data(_metadata, self, &recording, 0);
	EXPECT_STREQ("0 96", from_export(self, SHOWN_MOMENTS));
	EXPECT_EQ(all, make_data(_metadata, self, &recording, all));
	EXPECT_STREQ("0 96", from_export(self, SHOWN_MOMENTS));
	few = make_data(_metadata, self, &recording, all - 1);
	EXPECT_STREQ("88 8", from_export(self, SHOWN_MOMENTS));
	EXPECT_GT(all, few);
	/* They are chosen at equal distances. */
	EXPECT_STREQ("100006 100018 100030 100042 100054 100066 100078 100090",
		     from_export(self, "[.sides[0].processes[0].residency.moments.samples[].time] | join(\" \")"));
	none = make_data(_metadata, self, &recording, few - 1);
	EXPECT_STREQ("96 0", from_export(self, SHOWN_MOMENTS));
	EXPECT_GT(few, none);
	EXPECT_STREQ("0", from_export(self, ".sides[0].processes[0].rest"));
	mf_recording_release(&recording);
}

/* The sums of a number of the sites by the function that has allocated, as the table has them. */
#define ROWS_OF(detail, number)										\
	". as $d | .residency." detail ".sites | map([($d.calls[$d.stacks[.[0]][0]] | .function), .[" number "]]) |"	\
	"group_by(.[0]) | map([.[0][0], (map(.[1]) | add)]) | map(select(.[1] > 0) | .[0] + \" \" + (.[1] | tostring)) |" \
	"sort | join(\"\\n\")"

#define SHOWN_ROWS(column)									\
	EVAL("[...document.querySelectorAll('#rows tbody tr')].map((r) => r.querySelector('.name').title + ' ' +"	\
	     "	r.querySelectorAll('td')[" column "].dataset.value).filter((t) => !/ 0$/.test(t)).sort().join('\\n')")

/* Sites as a table and as a graph, and the sentence about them: the program has counted the bytes itself. */
TEST_F_TIMEOUT(rss, sites_keep_pages, 120)
{
	char fragment[256];

	ASSERT_TRUE(report(self, "fragments"));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	EXPECT_STREQ("true", EVAL("document.querySelector('#residency').hidden && "
				  "!document.querySelector('#curves').hidden"));
	ASSERT_TRUE(browser_click(&self->browser, "#curve-rss"));
	ASSERT_TRUE(browser_click(&self->browser, "#at-end"));
	EXPECT_STREQ("false", EVAL("document.querySelector('#residency').hidden"));
	EXPECT_STREQ(told(self, "\nlive "), EVAL("document.querySelector('#residency-sites li').dataset.live"));
	EXPECT_STREQ(told(self, "\nfree "), EVAL("document.querySelector('#residency-sites li').dataset.kept"));
	EXPECT_STREQ("true", EVAL("/^keeprss_shapes.c:[0-9]+ holds 390.6 KB live, among [0-9.]+ KB in the same pages "
				  "that are "
				  "otherwise free.$/.test(document.querySelector('#residency-sites li').textContent)"));
	EXPECT_STREQ(from_export(self, "[.residency.last.sites[][3]] | add"),
		     EVAL("document.querySelector('#flame g').dataset.value"));
	EXPECT_STREQ(from_export(self, ".residency.last.bands[\"free-parts\"]"),
		     EVAL("document.querySelector('#flame g').dataset.value"));
	RUN("jq", "-r", ROWS_OF("last", "3"), "out.json");
	EXPECT_EQ(0, strncmp(self->result.out, SHOWN_ROWS("0"), strlen(self->result.out) - 1));
	RUN("jq", "-r", ROWS_OF("last", "1"), "out.json");
	EXPECT_EQ(0, strncmp(self->result.out, SHOWN_ROWS("1"), strlen(self->result.out) - 1));
	/* The table is sorted by what the graph shows, and by a click the other way round. */
	EXPECT_STREQ("descending", EVAL("document.querySelectorAll('#rows thead th')[1].getAttribute('aria-sort')"));
	ASSERT_TRUE(browser_click(&self->browser, "#rows thead th:nth-child(2) button"));
	EXPECT_STREQ("ascending", EVAL("document.querySelectorAll('#rows thead th')[1].getAttribute('aria-sort')"));
	/* The name in the sentence leads to its stacks. */
	ASSERT_TRUE(browser_click(&self->browser, "#residency-sites .name"));
	EXPECT_STREQ("keep", EVAL("document.querySelector('#search').value"));
	/* The address has all of it. */
	snprintf(fragment, sizeof(fragment), "%s", EVAL("location.hash"));
	ASSERT_LT(0, open_page(self, "out.html", fragment, 1280));
	EXPECT_STREQ("true", EVAL("!document.querySelector('#residency').hidden && document.querySelector('#show-pinned')."
				  "getAttribute('aria-checked') === 'true' && "
				  "document.querySelector('#search').value === 'keep' &&"
				  "document.querySelector('circle.chosen').dataset.sample === '1'"));
	/* A figure of the heap leads back to its curve. */
	ASSERT_TRUE(browser_click(&self->browser, "#curve-heap"));
	EXPECT_STREQ("true", EVAL("document.querySelector('#residency').hidden && "
				  "document.querySelectorAll('path.area').length > 0 &&"
				  "document.querySelector('#show-live').getAttribute('aria-checked') === 'true'"));
}

TEST_F_TIMEOUT(rss, sites_ask_for_what_they_do_not_touch, 120)
{
	ASSERT_TRUE(report(self, "untouched"));
	ASSERT_LT(0, open_page(self, "out.html", "#show=untouched&sample=1", 1280));
	EXPECT_STREQ(from_export(self, "[.residency.last.sites[][2]] | add"),
		     EVAL("document.querySelector('#flame g').dataset.value"));
	EXPECT_STREQ(told(self, "untouched "),
		     EVAL("[...document.querySelectorAll('#rows tbody tr')].find((r) =>"
						    "r.querySelector('.name').title === "
						    "'keep').querySelectorAll('td')[2].dataset.value"));
}

TEST_F_TIMEOUT(rss, is_dark_printed_and_narrow, 120)
{
	ASSERT_TRUE(report(self, "fragments"));
	for (unsigned int width = 320; width <= 400; width += 80) {
		ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", width));
		EXPECT_STREQ("true", EVAL("document.scrollingElement.scrollWidth <= %u &&"
					  "document.querySelector('#residency-bands').getBoundingClientRect().right <= %u",
					  width, width));
	}
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	browser_media(&self->browser, "", "dark");
	/* The band of live blocks has the colour of the dark theme, then that of paper. */
	EXPECT_STREQ("rgb(74, 160, 204)", EVAL("getComputedStyle(document.querySelector('path.band.live')).fill"));
	browser_media(&self->browser, "print", "dark");
	EXPECT_STREQ("rgb(125, 182, 248)", EVAL("getComputedStyle(document.querySelector('path.band.live')).fill"));
	EXPECT_STREQ("true", EVAL("getComputedStyle(document.querySelector('#residency')).display !== 'none' &&"
				  "getComputedStyle(document.querySelector('#curves')).display === 'none'"));
	browser_media(&self->browser, "", "");
}

TEST_F_TIMEOUT(rss, question_leads_to_it, 120)
{
	ASSERT_TRUE(report(self, "fragments"));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	ASSERT_TRUE(browser_click(&self->browser, "#help-open"));
	ASSERT_STREQ("true", EVAL("(() => { const b = [...document.querySelectorAll('#help-questions "
				  "button')].find((each) =>"
				  "each.textContent === 'Why does the resident set stay high?'); if (b) b.id = 'question';"
				  "return Boolean(b); })()"));
	ASSERT_TRUE(browser_click(&self->browser, "#question"));
	EXPECT_STREQ("true", EVAL("(({ top, bottom }) => top < 900 && bottom > "
				  "0)(document.querySelector('#residency').getBoundingClientRect())"
				  "&& document.querySelector('#at-end').getAttribute('aria-pressed') === 'true'"));
}

/* Without samples the page has none of it, and says what to do. */
TEST_F_TIMEOUT(rss, is_not_there, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "/bin/true"));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss&sample=1&show=pinned", 1280));
	EXPECT_STREQ("true", EVAL("document.querySelector('#curves').hidden && "
				  "document.querySelector('#residency').hidden &&"
				  "!document.querySelector('#show-pinned') &&"
				  "[...document.querySelectorAll('#help-questions li')].some((l) => l.textContent ==="
				  "	'Why does the resident set stay high?Record with --rss=yes.')"));
}

/* Compared with an older recording, each part has its change. */
TEST_F_TIMEOUT(rss, is_compared, 120)
{
	ASSERT_TRUE(record(self, "massif.old", "untouched"));
	ASSERT_TRUE(report(self, "fragments"));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec", "massif.old"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss&show=pinned&sample=1", 1280));
	/* If the last sample is the largest, there is only one. */
	EXPECT_STREQ("true", EVAL("(() => { const sides = "
				  "JSON.parse(document.querySelector('#data').textContent).sides.map((s) =>"
				  "	s.processes[0].residency.details[1]);"
				  "const rows = [...document.querySelectorAll('#residency-bands tbody:nth-child(2) tr')];"
				  "const change = rows.find((r) => /^Free "
				  "pages/.test(r.textContent)).querySelector('td:last-child').textContent;"
				  "const more = sides[0].bands[3] - sides[1].bands[3];"
				  "return change === '+' + (more / 1048576).toFixed(2) + ' MB' || change + more; })()"));
	/* The change of what sites keep is in the table. */
	EXPECT_STREQ("true", EVAL("(() => { const [c, n, o] = [...document.querySelectorAll('#rows tbody tr')].find((r) =>"
				  "	r.querySelector('.name').title === 'keep').querySelectorAll('td');"
				  "return Number(c.dataset.value) === n.dataset.value - o.dataset.value && "
				  "n.dataset.value === '%s'; })()",
				  told(self, "\nfree ")));
}

#define PAGE 4096ull

/* Writes a recording of a process whose code touched so many pages first. No @alpha: without massif.ko. */
static bool write_touches(const char *name, uint64_t alpha, uint64_t beta, bool many)
{
	const struct mf_residency_sample sample = { .bands = { [MF_BAND_ANONYMOUS] = (alpha + beta) * PAGE,
							       [MF_BAND_FILES] = 3 * PAGE } };
	struct mf_residency_touch touches[4 + 30] = {
		{ MF_BAND_LIVE, TOUCHES_ALPHA, 2 * PAGE }, { MF_BAND_ANONYMOUS, TOUCHES_ALPHA, alpha * PAGE },
		{ MF_BAND_ANONYMOUS, TOUCHES_BETA, beta * PAGE }, { MF_BAND_FILES, TOUCHES_LIBRARY, 3 * PAGE },
	};
	struct mf_residency_detail detail = { .sample = sample, .touches = touches, .n_touches = alpha ? 4 : 0 };

	for (uint32_t i = 0; many && i < 30; i++)
		touches[detail.n_touches++] = (struct mf_residency_touch){ MF_BAND_SHARED, TOUCHES_MANY + i, (i + 1) * PAGE };
	return touches_recording_write(name, &(struct mf_residency){ .samples = (struct mf_residency_sample *)&sample,
		.n_samples = 1, .peak = detail, .last = detail }, 1, 0);
}

#define TOUCHED_ROWS											\
	EVAL("[...document.querySelectorAll('#residency-touched tbody tr')].map((r) => r.querySelector('th').className"	\
	     "	+ ' ' + r.querySelector('.name').textContent + ' ' + r.querySelector('.where').textContent"	\
	     "	.replace(/:[0-9]+|^libc.so.6|^msort.c/g, '') + ' ' + r.querySelector('td').dataset.value).join('\\n')")

/* The sites that touched pages first, in a table: those of the program, with the part of the resident set. */
TEST_F_TIMEOUT(rss, says_who_touched_pages_first, 120)
{
	ASSERT_TRUE(write_touches("massif.rec", 20, 5, false));
	ASSERT_TRUE(write_touches("massif.old", 12, 5, false));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	EXPECT_STREQ("band anonymous touches_alpha touches_recording.c, other anonymous mappings 81920\n"
		     "band anonymous touches_beta touches_recording.c, other anonymous mappings 20480\n"
		     "band files qsort , mapped files 12288\n"
		     "band live touches_alpha touches_recording.c, memory of the allocator 8192", TOUCHED_ROWS);
	EXPECT_STREQ("false", EVAL("document.querySelector('#touched').hidden"));
	/* The older recording has less of one of them. */
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec", "massif.old"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	EXPECT_STREQ("+32.00 KB,0 B", EVAL("[...document.querySelectorAll('#residency-touched tbody tr')].slice(0, 2)"
					"	.map((r) => r.querySelector('td:last-child').textContent).join()"));
	/* If the older recording was made without massif.ko, the column of changes is empty. */
	ASSERT_TRUE(write_touches("massif.old", 0, 5, false));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec", "massif.old"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	EXPECT_STREQ(",,,", EVAL("[...document.querySelectorAll('#residency-touched tbody tr')]"
				 "	.map((r) => r.querySelector('td:last-child').textContent).join()"));
	/* Without massif.ko, there is none of it. */
	ASSERT_TRUE(report(self, "fragments"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	EXPECT_STREQ("true", EVAL("document.querySelector('#touched').hidden && !document.querySelector('#residency').hidden"));
}

/* For each part of the resident set, the data list the 20 sites that touched most, and add up the others in one row. */
TEST_F(rss, has_the_largest_sites_that_touched)
{
	struct mf_recording recording;
	struct mf_error err;
	uint64_t rest = 0;

	ASSERT_TRUE(write_touches("massif.rec", 20, 5, true));
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, &err));
	make_data(_metadata, self, &recording, 0);
	mf_recording_release(&recording);
	for (uint64_t i = 1; i <= 10; i++)
		rest += i * PAGE;
	snprintf(self->wanted, sizeof(self->wanted), "[21,%" PRIu64 ",%llu,%llu]", rest, 30 * PAGE, 11 * PAGE);
	EXPECT_EQ(0, RUN("jq", "-c", "[.sides[0].processes[0].residency.details[0].touched as $t | range(0; $t | length; 3) |"
				     "$t[.:. + 3] | select(.[0] == 7)] | [length, (map(select(.[1] < 0)) | .[0][2]),"
				     "(map(select(.[1] >= 0)[2]) | max, min)]", "out.json"));
	self->result.out[strcspn(self->result.out, "\n")] = '\0';
	EXPECT_STREQ(self->wanted, self->result.out);
}

/* A recording need not have the largest sample among those of the curve. The chart is high enough for its mark nevertheless. */
TEST_F_TIMEOUT(rss, marks_the_largest_sample, 120)
{
	struct mf_residency_sample samples[2] = {
		{ .time_ms = 1, .bands = { [MF_BAND_FILES] = 2 * PAGE } },
		{ .time_ms = 9, .bands = { [MF_BAND_FILES] = 3 * PAGE } },
	}, largest = { .time_ms = 5, .bands = { [MF_BAND_FILES] = 20 * PAGE } };
	const struct mf_residency residency = {
		.samples = samples, .n_samples = 2, .peak = { .sample = largest }, .last = { .sample = samples[1] },
	};

	ASSERT_TRUE(touches_recording_write("massif.rec", &residency, 1, 0));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	ASSERT_LT(0, open_page(self, "out.html", "#curve=rss", 1280));
	EXPECT_STREQ("81920,true", EVAL("[document.querySelector('circle.peak').dataset.total,"
					"	document.querySelector('circle.peak').getAttribute('cy') > 10].join()"));
}

/* All processes together: the resident sets are listed as massif-ctl show --rss does it, and each leads to its process. */
TEST_F_TIMEOUT(rss, of_each_process, 120)
{
	struct mf_residency_sample samples[2] = {
		{ .time_ms = 1, .pss = 7 * PAGE, .bands = { [MF_BAND_FILES] = 20 * PAGE } },
		{ .time_ms = 2, .pss = 6 * PAGE, .bands = { [MF_BAND_FILES] = 15 * PAGE } },
	}, smaller = { .time_ms = 1, .pss = 5 * PAGE, .bands = { [MF_BAND_FILES] = 10 * PAGE } };
	const struct mf_residency residencies[] = {
		{ .samples = &smaller, .n_samples = 1, .peak = { .sample = smaller }, .last = { .sample = smaller } },
		{ .samples = samples, .n_samples = 2, .peak = { .sample = samples[0] }, .last = { .sample = samples[1] } },
		{ .n_samples = 0 },
	};

	ASSERT_TRUE(touches_recording_write("massif.rec", residencies, 3, 0));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	ASSERT_LT(0, open_page(self, "out.html", "#process=all", 1280));
	EXPECT_STREQ("name,8,,81920,28672,61440\nname,7,,40960,20480,40960",
		     EVAL("[...document.querySelectorAll('#resident-sets-rows tbody tr')].map((r) =>"
			  "	[...r.querySelectorAll('th, td:not(.bars)')].map((c) => c.dataset.value ||"
			  "	c.textContent).join()).join('\\n')"));
	EXPECT_STREQ("Of 1 more there is no sample.", EVAL("document.querySelector('#resident-sets-rest').textContent"));
	EXPECT_STREQ("81920", EVAL("[...document.querySelectorAll('.figure')].find((f) => f.querySelector('dt').textContent"
				  " === 'Largest resident set').querySelector('button').dataset.value"));
	ASSERT_TRUE(browser_click(&self->browser, "#resident-sets-rows button"));
	EXPECT_STREQ("true", EVAL("document.querySelector('#resident-sets').hidden && "
				  "!document.querySelector('#residency').hidden && "
				  "document.querySelector('#residency-total strong').dataset.value === '81920'"));
	/* One process has no list. */
	ASSERT_TRUE(touches_recording_write("massif.rec", residencies, 1, 0));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	EXPECT_STREQ("true", EVAL("document.querySelector('#resident-sets').hidden"));
}

TEST_HARNESS_MAIN

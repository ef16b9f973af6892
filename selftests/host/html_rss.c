// SPDX-License-Identifier: GPL-2.0
// The resident set in the page of massif-ctl report, in Chromium: bands, fillings and sites are those of the export to the
// byte, and those that the program itself has counted.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/page_fixture.h"

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


/* Makes massif.NAME of a shape of rss_shapes. */
static bool record(FIXTURE_DATA(rss) *self, const char *name, const char *shape)
{
	char option[64];

	snprintf(option, sizeof(option), "--record=%s", name);
	if (RUN("massif-ctl", "record", "-q", "--rss=yes", option, "--massif-out-file=massif.out", ctl_target("rss_shapes"),
		shape, "700"))
		return false;
	free(self->said);
	self->said = strdup(self->result.out);
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
		  "[...document.querySelectorAll('circle.mark')].sort((a, b) => a.dataset.sample - b.dataset.sample)"
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

TEST_HARNESS_MAIN

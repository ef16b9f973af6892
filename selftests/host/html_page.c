// SPDX-License-Identifier: GPL-2.0
// The page of massif-ctl report in Chromium: what is drawn has the recording's numbers to the byte, and changes by clicks,
// keys, searches and ranges as it should; the page asks nothing of anybody, and nothing in it is run.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/page_fixture.h"

#define OPENS_MS 2000 /* a page of the largest size */

FIXTURE(page)
{
	PAGE_MEMBERS;
};

FIXTURE_SETUP(page)
{
	PAGE_SET_UP();
}

FIXTURE_TEARDOWN(page)
{
	PAGE_TEAR_DOWN();
}

/* What jq finds in the file @path, without the line break. */
#define JQ(query, path) (RUN("jq", "-r", query, path) == 0 ? strtok(self->result.out, "\n") : "jq failed")

/* A program that has grown and shrunk, and has leaks, by Perl. */
static int record(FIXTURE_DATA(page) *self, const char *name, const char *script)
{
	char option[64];

	snprintf(option, sizeof(option), "--record=%s", name);
	setenv("PERL_HASH_SEED", "0", 1);
	return RUN("massif-ctl", "record", "-q", option, "--massif-out-file=massif.out", "--time-unit=B", "--detailed-freq=4",
		   "/usr/bin/perl", "-e", script);
}

#define SCRIPT "my %h; $h{$_} = $_ . ('x' x ($_ % 100)) for 1 .. 3000; delete $h{$_} for 1 .. 1000;"

static bool report(FIXTURE_DATA(page) *self)
{
	return record(self, "massif.rec", SCRIPT) == 0 && RUN("massif-ctl", "report", "-o", "out.html", "massif.rec") == 0 &&
	       RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec") == 0;
}

/* Waits until the page draws the next time. */
#define SETTLE() EVAL("await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

/*
 * Defines in the page boxes(), which lists what is drawn as [path of names, value], and truth(snapshot), which is a map of
 * the same made from the data without the page's own code.
 */
static const char helpers[] =
	"(() => {"
	"	const d = JSON.parse(document.querySelector('#data').textContent), p = d.sides[0].processes[0];"
	/* In labels, the figure follows a comma, which names of C++ have, too, and very long names are cut. */
	"	const short = (name) => name.split(', ')[0].slice(0, 150);"
	"	window.boxes = () => { const at = []; return [...document.querySelectorAll('#flame g')].map((g) => {"
	"		const level = Number(g.getAttribute('aria-level'));"
	"		at[level - 1] = short(g.getAttribute('aria-label'));"
	"		return [g.querySelector('rect').getAttribute('width'), at[level - 1], g.dataset.value, level]; }); };"
	"	window.values = (snapshot) => { const own = new Array(p.depth.length).fill(0);"
	"		for (const m of p.moments) { if (m.snapshot > snapshot) break; let n = -1;"
	"			for (let i = 0; i < m.changes.length; i += 2) { n += m.changes[i]; own[n] = m.changes[i + 1]; "
	"} }"
	"		return own; };"
	"	window.nameOf = (i) => i && p.call[i] >= 0 ? d.strings[d.calls[5 * p.call[i]]] : 'all';"
	"	window.truth = (own) => { const path = [], sums = new Map(), open = [];"
	"		for (let i = 0; i < own.length; i++) { path[p.depth[i]] = short(nameOf(i));"
	"			for (let k = 0; k <= p.depth[i] && own[i]; k++) {"
	"				const key = path[k] + '@' + (k + 1);"
	"				sums.set(key, (sums.get(key) || 0) + own[i]); } }"
	"		return sums; };"
	"	return 'ready'; })()";

/* Compares what the page out.html draws with the export of the same recording, out.json. */
static void compare_with_export(struct __test_metadata *_metadata, FIXTURE_DATA(page) *self)
{
	static const struct {
		const char *figure, *query;
	} figures[] = {
		{ "Peak", "[.snapshots[] | select(.tree == \"peak\")][0] | .heap_bytes + .extra_bytes + .stack_bytes" },
		{ "Held at the end", ".snapshots[-1] | .heap_bytes + .extra_bytes + .stack_bytes" },
		{ "Allocated", "[.counts[][2]] | add" },
		{ "Temporary", "[.counts[][3]] | add" },
	};
	char wanted[64];

	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		snprintf(wanted, sizeof(wanted), "%s", JQ(figures[i].query, "out.json"));
		EXPECT_STREQ(wanted, EVAL("[...document.querySelectorAll('.figure')].find((f) => f.querySelector('dt')."
					  "textContent "
					  "=== '%s').querySelector('button').dataset.value", figures[i].figure));
	}
	/* What is held at the end was never freed, or is kept by the libraries. */
	snprintf(wanted, sizeof(wanted), "%s", JQ(".snapshots[-1].heap_bytes", "out.json"));
	EXPECT_STREQ(wanted, EVAL("(() => { const p = JSON.parse(document.querySelector('#data').textContent).sides[0]."
				  "processes[0]; let kept = 0;"
				  "for (let i = 0, node = -1; i < p.runtime.length; i += 2)"
				  "	kept += (node += p.runtime[i]) < p.depth.length ? p.runtime[i + 1] : 0;"
				  "const figure = [...document.querySelectorAll('.figure')].find((f) =>"
				  "	f.querySelector('dt').textContent === 'Never freed');"
				  "return kept + Number(figure.querySelector('button').dataset.value) + ''; })()"));
	/* Every detailed snapshot has its mark, with its total. */
	snprintf(wanted, sizeof(wanted), "%s", JQ("[.snapshots[] | select(.tree != \"empty\") | .heap_bytes + .extra_bytes + "
						  ".stack_bytes] | join(\",\")", "out.json"));
	EXPECT_EQ(0, strncmp(wanted, EVAL("[...document.querySelectorAll('circle.mark')].sort((a, b) => a.dataset.at - b."
					  "dataset.at)"
					  ".map((c) => c.dataset.total).join()"), strlen(wanted)));
	/* Every box that is drawn has the sum of its stacks: names with the same depth are added up on both sides. */
	EXPECT_STREQ("ready", EVAL("%s", helpers));
	EXPECT_STREQ("true", EVAL("(() => { const d = JSON.parse(document.querySelector('#data').textContent).sides[0]."
				  "processes[0];"
				  "const sums = truth(values(d.peak)), drawn = new Map();"
				  "for (const [, name, value, level] of boxes()) drawn.set(name + '@' + level,"
				  "	(drawn.get(name + '@' + level) || 0) + Number(value));"
				  "const wrong = [...drawn].filter(([key, value]) => sums.get(key) < value || !sums.has(key));"
				  "const exact = [...drawn].filter(([key, value]) => sums.get(key) === value).length;"
				  "return !wrong.length && exact > 10 && sums.get('all@1') === drawn.get('all@1') ||"
				  "	JSON.stringify(wrong); })()"));
	/* The widths are the values. */
	EXPECT_STREQ("true", EVAL("(() => { const list = boxes(), unit = list[0][0] / list[0][2];"
				  "return list.every(([w, , v]) => Math.abs(w - v * unit) < 1.5); })()"));
	EXPECT_EQ(1, self->browser.requests);
}

TEST_F_TIMEOUT(page, draws_what_the_recording_has, 120)
{
	ASSERT_TRUE(report(self));
	compare_with_export(_metadata, self);
}

/* A file for the compiler. */
static void write_functions(const char *path)
{
	FILE *out = fopen(path, "we");

	for (int i = 0; out && i < 300; i++)
		fprintf(out, "int f%d(int *a, int n) { for (int i = 1; i < n; i++) a[i] += a[i - 1] * %d; return n; }\n",
			i, i);
	if (out)
		fclose(out);
}

/* Programs that nobody has written for this test. */
static const struct {
	const char *name, *before; /* @before: a command for the shell; it goes on while the program runs */
	const char *words[12];
} programs[] = {
	{ "python3", NULL, { "/usr/bin/python3", "-c", "import json; len(json.dumps([list(range(99))] * 999))" } },
	{ "git", "git init -q repository && git -C repository -c user.name=n -c user.email=e commit -q --allow-empty -m m",
	  { "/usr/bin/git", "-C", "repository", "log", "--stat" } },
	{ "cc1", "true", { "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "-quiet", "-O2", "-o", "/dev/null", "functions.c" } },
	{ "redis-server",
	  "(for i in 1 2 3 4 5 6 7 8 9; do sleep 1; redis-cli -s ./redis.sock debug populate 9999 && break; done; "
	  "redis-cli -s ./redis.sock shutdown nosave) > /dev/null 2>&1 &",
	  { "/usr/bin/redis-server", "--port", "0", "--unixsocket", "./redis.sock", "--save", "", "--enable-debug-command",
	    "yes" } },
};

TEST_F_TIMEOUT(page, draws_what_programs_allocate, 300)
{
	write_functions("functions.c");
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const char *argv[20] = { "massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out" };

		for (size_t k = 0; programs[i].words[k]; k++)
			argv[5 + k] = programs[i].words[k];
		ASSERT_EQ(0, programs[i].before ? system(programs[i].before) : 0);
		ctl_result_free(&self->result);
		ctl_run(&self->result, NULL, NULL, argv);
		ASSERT_EQ(0, ctl_exit_code(&self->result)) {
			TH_LOG("%s: %s", programs[i].name, self->result.err);
		}
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
		ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec"));
		TH_LOG("%s", programs[i].name);
		compare_with_export(_metadata, self);
	}
	RUN("rm", "-rf", "repository", "functions.c");
}

/* Clicks on "Show more" until all rows are shown, and prints name and first number of those that hold anything, sorted. */
#define ALL_ROWS()											\
	EVAL("(() => { while (!document.querySelector('#rows-more').hidden)"				\
	     "	document.querySelector('#rows-more').click();"						\
	     "return [...document.querySelectorAll('#rows tbody tr')].map((r) =>"			\
	     "	r.querySelector('.name').title + ' ' + r.querySelector('td').dataset.value)"		\
	     "	.filter((t) => !/ 0$/.test(t)).sort((a, b) => a < b ? -1 : 1).join('\\n'); })()")

/* The same from the export: of the innermost calls, or of all calls, each stack once for each function. */
#define ROWS_OF(calls)											\
	". as $d | [.snapshots[] | select(.tree == \"peak\")][0].bytes | map(.[1] as $bytes | $d.stacks[.[0]] | " calls \
	"| map($d.calls[.] | { name: .function, file: (.file // .object) }) | unique | .[] | [., $bytes]) |"	\
	"group_by(.[0]) | map(.[0][0].name + \" \" + (map(.[1]) | add | tostring)) | sort | .[]"

TEST_F_TIMEOUT(page, table_has_all_functions, 120)
{
	char *wanted;

	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	for (int inclusive = 0; inclusive < 2; inclusive++) {
		ASSERT_EQ(0, RUN("jq", "-r", inclusive ? ROWS_OF(".") : ROWS_OF(".[:1]"), "out.json"));
		wanted = strdup(self->result.out);
		wanted[strlen(wanted) - 1] = '\0';
		EXPECT_STREQ(wanted, ALL_ROWS());
		free(wanted);
		ASSERT_TRUE(browser_click(&self->browser, "#inclusive"));
	}
}

TEST_F_TIMEOUT(page, table_is_sorted_by_clicks, 120)
{
	static const char sorted[] = "(() => { const at = [...document.querySelectorAll('#rows thead th')].findIndex((h) =>"
				     "	h.getAttribute('aria-sort') === '%s') - 1;"
				     "const list = [...document.querySelectorAll('#rows tbody tr')].map((r) =>"
				     "	Number(r.querySelectorAll('td')[at].dataset.value));"
				     "return at >= 0 && list.length > 1 && list.every((v, i) => !i || %s); })()";

	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	EXPECT_STREQ("true", EVAL(sorted, "descending", "list[i - 1] >= v"));
	ASSERT_TRUE(browser_click(&self->browser, "#rows thead th:last-child button"));
	EXPECT_STREQ("true", EVAL(sorted, "descending", "list[i - 1] >= v"));
	EXPECT_STREQ("#sort=temporary", EVAL("location.hash"));
	ASSERT_TRUE(browser_click(&self->browser, "#rows thead th:last-child button"));
	EXPECT_STREQ("true", EVAL(sorted, "ascending", "list[i - 1] <= v"));
}

TEST_F_TIMEOUT(page, boxes_zoom_by_clicks_and_keys, 120)
{
	char first[4096];

	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	ASSERT_STREQ("ready", EVAL("%s", helpers));
	/* A box that is neither the whole nor as wide as it. */
	ASSERT_STREQ("true", EVAL("(() => { const g = [...document.querySelectorAll('#flame g')].find((each) =>"
				  "	each.querySelector('rect').getAttribute('width') < 800); g.id = 'narrow';"
				  "window.clicked = g.getAttribute('data-id'); window.value = g.dataset.value; return true; "
				  "})()"));
	ASSERT_TRUE(browser_click(&self->browser, "#narrow"));
	EXPECT_STREQ("true", EVAL("location.hash.includes('zoom=')"));
	EXPECT_STREQ("true", EVAL("(() => { const g = document.querySelector('#flame g:not(.above)');"
				  "return g.getAttribute('data-id') === clicked && g.dataset.value === value &&"
				  "g.querySelector('rect').getAttribute('width') > 1000 && document.activeElement === g; "
				  "})()"));
	snprintf(first, sizeof(first), "%s", EVAL("JSON.stringify(boxes())"));
	/* The address has all of it. */
	ASSERT_LT(0, open_page(self, "out.html", EVAL("location.hash"), 1280));
	ASSERT_STREQ("ready", EVAL("%s", helpers));
	EXPECT_STREQ(first, EVAL("JSON.stringify(boxes()).slice(0, 4095)"));
	EXPECT_STREQ("main", EVAL("(document.querySelectorAll('#flame g.above')[1].focus(),"
				  "document.activeElement.getAttribute('aria-label').split(',')[0])"));
	browser_key(&self->browser, "Enter");
	EXPECT_STREQ("main", EVAL("document.querySelector('#flame g:not(.above)').getAttribute('aria-label').split(',')[0]"));
	browser_key(&self->browser, "ArrowDown");
	EXPECT_STREQ("3", EVAL("document.activeElement.getAttribute('aria-level')"));
	browser_key(&self->browser, "Escape");
	EXPECT_STREQ("all", EVAL("document.querySelector('#flame g:not(.above)').getAttribute('aria-label').split(',')[0]"));
	EXPECT_STREQ("", EVAL("location.hash.slice(1)"));
}

TEST_F_TIMEOUT(page, search_finds_and_adds_up, 120)
{
	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	ASSERT_STREQ("ready", EVAL("%s", helpers));
	EVAL("document.body.focus()");
	browser_key(&self->browser, "/");
	EXPECT_STREQ("search", EVAL("document.activeElement.id"));
	for (const char *key = "SV_GROW"; *key; key++)
		browser_key(&self->browser, (char[]){ *key, '\0' });
	EXPECT_STREQ("#search=SV_GROW", EVAL("location.hash"));
	EXPECT_STREQ("true", EVAL("(() => { const found = [...document.querySelectorAll('#flame g.found')];"
				  "return found.length > 0 && found.every((g) => /sv_grow/i.test(g."
				  "getAttribute('aria-label'))); })()"));
	EXPECT_STREQ("true", EVAL("[...document.querySelectorAll('#flame g.other')].every((g) =>"
				  "!/sv_grow/i.test(g.getAttribute('aria-label')))"));
	/* What the result says is the sum of all stacks with a match. */
	EXPECT_STREQ("true", EVAL("(() => { const d = JSON.parse(document.querySelector('#data').textContent);"
				  "const p = d.sides[0].processes[0], own = values(p.peak), path = []; let sum = 0, all = 0;"
				  "for (let i = 0; i < own.length; i++) { path.length = p.depth[i]; path.push(nameOf(i)); all "
				  "+= own[i];"
				  "	if (path.some((name) => /sv_grow/i.test(name))) sum += own[i]; }"
				  "return document.querySelector('#search-result').textContent.includes("
				  "	', ' + (100 * sum / all).toFixed(2) + '%%,') && sum > 0; })()"));
	EXPECT_STREQ("true", EVAL("[...document.querySelectorAll('#rows .name')].every((n) => /sv_grow/i.test(n.title))"));
}

/* The number of the snapshot at a mark of the curve. */
#define SNAPSHOT_OF(at) EVAL("document.querySelector('circle[data-at=\"' + " at " + '\"]').dataset.snapshot")

TEST_F_TIMEOUT(page, range_shows_growth, 120)
{
	static const char query[] =
		"(.snapshots[$a].bytes | map({ key: (.[0] | tostring), value: .[1] }) | from_entries) as $old |"
		"[.snapshots[$b].bytes[] | .[1] - ($old[.[0] | tostring] // 0) | select(. > 0)] | add";
	char from[16], to[16], sum[64];

	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	ASSERT_TRUE(browser_drag(&self->browser, "#timeline-chart svg", 150, 560, 120));
	/* The ends of the range are the detailed snapshots nearest to where the button was pressed and released. */
	EXPECT_STREQ("true", EVAL("[['from', 150], ['to', 560]].every(([end, x]) => [...document.querySelectorAll('circle."
				  "mark')].every("
				  "	(c) => Math.abs(c.getAttribute('cx') - x) + 1e-6 >= Math.abs(document.querySelector("
				  "		'circle[data-at=\"' + document.querySelector('#range-' + end).value + "
								 "'\"]').getAttribute('cx') - x)))"));
	EXPECT_STREQ("true", EVAL("/^#show=growth&from=\\d+&to=\\d+$/.test(location.hash)"));
	snprintf(from, sizeof(from), "%s", SNAPSHOT_OF("document.querySelector('#range-from').value"));
	snprintf(to, sizeof(to), "%s", SNAPSHOT_OF("document.querySelector('#range-to').value"));
	ASSERT_LT(atoi(from), atoi(to));
	ASSERT_EQ(0, RUN("jq", "--argjson", "a", from, "--argjson", "b", to, query, "out.json"));
	snprintf(sum, sizeof(sum), "%s", strtok(self->result.out, "\n"));
	EXPECT_STREQ(sum, EVAL("document.querySelector('#flame g').dataset.value"));
	/* A click chooses a moment instead. */
	ASSERT_TRUE(browser_click(&self->browser, "circle[data-at=\"2\"]"));
	EXPECT_STREQ("true", EVAL("document.querySelector('#at').value === '2' &&"
				  "document.querySelector('#show-live').getAttribute('aria-checked') === 'true'"));
	snprintf(to, sizeof(to), "%s", SNAPSHOT_OF("2"));
	ASSERT_EQ(0, RUN("jq", "--argjson", "a", to, "[.snapshots[$a].bytes[][1]] | add", "out.json"));
	snprintf(sum, sizeof(sum), "%s", strtok(self->result.out, "\n"));
	EXPECT_STREQ(sum, EVAL("document.querySelector('#flame g').dataset.value"));
}

TEST_F_TIMEOUT(page, inverted_begins_with_the_allocating_functions, 120)
{
	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	ASSERT_TRUE(browser_click(&self->browser, "#inverted"));
	/* What the boxes below the first have, the table has for these functions. */
	EXPECT_STREQ("true", EVAL("(() => { const rows = new Map([...document.querySelectorAll('#rows tbody tr')].map((r) =>"
				  "	[r.querySelector('.name').title, r.querySelector('td').dataset.value]));"
				  "const tops = [...document.querySelectorAll('#flame g[aria-level=\"2\"]')];"
				  "return tops.length > 2 && tops.every((g) => rows.get(g.getAttribute('aria-label').split(', "
				  "')[0]) ==="
				  "	g.dataset.value); })()"));
	EXPECT_STREQ("#inverted=true", EVAL("location.hash"));
}

TEST_F_TIMEOUT(page, measures_are_the_counts, 120)
{
	static const struct {
		const char *button, *query;
	} measures[] = {
		{ "#show-leaks", "[.snapshots[-1].bytes[][1]] | add" },
		{ "#show-allocated", "[.counts[][2]] | add" },
		{ "#show-calls", "[.counts[][1]] | add" },
		{ "#show-temporary", "[.counts[][3]] | add" },
	};

	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		ASSERT_TRUE(browser_click(&self->browser, measures[i].button));
		EXPECT_STREQ(JQ(measures[i].query, "out.json"), EVAL("document.querySelector('#flame g').dataset.value"));
	}
}

TEST_F_TIMEOUT(page, compares_with_an_older_recording, 120)
{
	char shown[256] = "", sum[64];

	ASSERT_EQ(0, record(self, "massif.old", SCRIPT));
	ASSERT_EQ(0, record(self, "massif.new", SCRIPT "my @l = map { 'y' x $_ } 1 .. 500; my @k = map { [$_] } 1 .. 900;"));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.new", "massif.old"));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	/* The same changes as massif-ctl diff has, in the same order, and in the same units. */
	ASSERT_EQ(1, RUN("massif-ctl", "diff", "massif.old", "massif.new"));
	for (int i = 0; i < 3; i++) {
		const char *row = EVAL("(() => { const r = document.querySelectorAll('#rows tbody tr')[%d];"
				       "return [...r.querySelectorAll('td')].map((c) => c.textContent).join(' | '); })()", i);
		char change[32] = "", old[32] = "", new[32] = "", *line;

		ASSERT_EQ(3, sscanf(row, "%31[^|]| %31[^|]| %31[^|]", change, new, old));
		snprintf(shown, sizeof(shown), "%s", strncmp(change, "\xe2\x88\x92", 3) ? change : change + 2);
		if (shown != strchr(shown, '+'))
			shown[0] = '-';
		snprintf(strchr(shown, '\0'), 64, " %10s %10s ", old, strtok(new, ""));
		line = strstr(self->result.out, strtok(change, " "));
		EXPECT_NE(NULL, line) {
			TH_LOG("%s is not in %s", row, self->result.out);
		}
	}
	/* The stacks that have grown, minus those that have shrunk, make up the whole change. */
	ASSERT_TRUE(browser_click(&self->browser, "#show-grown"));
	snprintf(sum, sizeof(sum), "%s", EVAL("document.querySelector('#flame g').dataset.value"));
	ASSERT_TRUE(browser_click(&self->browser, "#show-shrunk"));
	EXPECT_STREQ("true", EVAL("(() => { const d = JSON.parse(document.querySelector('#data').textContent).sides.map((s) =>"
				  "	s.processes[0]), held = d.map((p) => p.heap[p.peak]);"
				  "const less = document.querySelector('#flame g'), value = less ? Number(less.dataset.value) "
				  ": 0;"
				  "return %s - value === held[0] - held[1]; })()", sum));
}

TEST_F_TIMEOUT(page, is_dark_printed_and_narrow, 120)
{
	ASSERT_TRUE(report(self));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	EXPECT_STREQ("rgb(247, 247, 245)", EVAL("getComputedStyle(document.documentElement).backgroundColor"));
	browser_media(&self->browser, "", "dark");
	EXPECT_STREQ("rgb(20, 23, 27)", EVAL("getComputedStyle(document.documentElement).backgroundColor"));
	ASSERT_TRUE(browser_click(&self->browser, "#theme"));
	EXPECT_STREQ("rgb(247, 247, 245)", EVAL("getComputedStyle(document.documentElement).backgroundColor"));
	ASSERT_TRUE(browser_click(&self->browser, "#theme"));
	browser_media(&self->browser, "", "light");
	EXPECT_STREQ("rgb(20, 23, 27)", EVAL("getComputedStyle(document.documentElement).backgroundColor"));
	browser_media(&self->browser, "print", "dark");
	EXPECT_STREQ("rgb(255, 255, 255)", EVAL("getComputedStyle(document.documentElement).backgroundColor"));
	EXPECT_STREQ("none", EVAL("getComputedStyle(document.querySelector('.controls')).display"));
	EXPECT_LT(20000, browser_print(&self->browser));
	browser_media(&self->browser, "", "");
	for (unsigned int width = 320; width <= 400; width += 80) {
		ASSERT_LT(0, open_page(self, "out.html", "", width));
		EXPECT_STREQ("true", EVAL("document.scrollingElement.scrollWidth <= %u", width));
		EXPECT_STREQ("true", EVAL("document.querySelectorAll('#flame g').length > 5 &&"
					  "document.querySelector('#flame svg').getBoundingClientRect().right <= %u", width));
	}
	/* What was drawn for one width is drawn again for another. */
	browser_resize(&self->browser, 1280);
	SETTLE();
	EXPECT_STREQ("true", EVAL("document.querySelector('#flame svg').getAttribute('width') > 1100"));
}

/* Of one function with two lines, one of which is new, only the new one is more than before. */
TEST_F_TIMEOUT(page, compares_lines_of_one_function_together, 120)
{
	static const char head[] = "desc: (none)\ncmd: lines\ntime_unit: "
				   "B\n#-----------\nsnapshot=0\n#-----------\ntime=1\nmem_heap_B=%d\n"
				   "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\nn%d: %d (heap allocation functions) "
				   "malloc/new/new[], "
				   "--alloc-fns, etc.\n n0: 10 0x1000: function (text.c:7)\n%s";
	char text[1024];

	snprintf(text, sizeof(text), head, 10, 1, 10, "");
	ctl_write_file("massif.old", text, 0644);
	snprintf(text, sizeof(text), head, 20, 2, 20, " n0: 10 0x2000: function (text.c:8)\n");
	ctl_write_file("massif.new", text, 0644);
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.new", "massif.old"));
	ASSERT_LT(0, open_page(self, "out.html", "#show=grown", 1280));
	EXPECT_STREQ("10", EVAL("document.querySelector('#flame g').dataset.value"));
	EXPECT_STREQ("10 20 10", EVAL("[...document.querySelectorAll('#rows td')].map((c) => c.dataset.value).join(' ')"));
}

/* Each question leads to its answer: click on the button that opens the list, then on the question. */
TEST_F_TIMEOUT(page, questions_lead_to_answers, 120)
{
	static const struct {
		const char *question, *fragment, *part;
	} questions[] = {
		{ "Why is the peak so high?", "", "graph" },
		{ "What is never freed?", "show=leaks", "graph" },
		{ "What grows between two moments?", "show=growth", "timeline" },
		{ "Who allocates most often?", "show=calls&sort=calls", "table" },
		{ "What is freed at once?", "show=temporary&sort=temporary", "graph" },
		{ "Which library holds most?", "by=library", "table" },
		{ "Which sizes?", "", "sizes" },
		{ "Which thread?", "by=thread", "table" },
	};

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif."
		"out", "--separate-threads=yes",
			 "/usr/bin/perl", "-e", SCRIPT));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		ASSERT_LT(0, open_page(self, "out.html", "", 1280));
		ASSERT_TRUE(browser_click(&self->browser, "#help-open"));
		EXPECT_STREQ("true", EVAL("document.querySelector('#help').open"));
		ASSERT_STREQ("true", EVAL("(() => { const b = [...document.querySelectorAll('#help-questions button')]."
					  "find((each) =>"
					  "each.textContent === '%s'); if (b) b.id = 'question'; return Boolean(b); })()",
					  questions[i].question)) {
			TH_LOG("%s", questions[i].question);
		}
		ASSERT_TRUE(browser_click(&self->browser, "#question"));
		EXPECT_STREQ(questions[i].fragment, EVAL("location.hash.slice(1)"));
		EXPECT_STREQ("true", EVAL("!document.querySelector('#help').open && (({ top, bottom }) => top < 900 && bottom "
					  "> 0)"
					  "(document.querySelector('#%s').getBoundingClientRect())", questions[i].part));
	}
}

static void write_text(const char *path, const char *name, uint64_t bytes)
{
	FILE *out = fopen(path, "we");

	fprintf(out, "desc: (none)\ncmd: %s\ntime_unit: "
		     "B\n#-----------\nsnapshot=0\n#-----------\ntime=1\nmem_heap_B=%" PRIu64 "\n"
		     "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n", name, bytes);
	fprintf(out, "n1: %" PRIu64 " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n0: "
				    "%" PRIu64 " 0x1000: %s "
		     "(text.c:7)\n", bytes, bytes, name);
	fclose(out);
}

TEST_F_TIMEOUT(page, names_are_text, 120)
{
	static char name[10 * 1024 + 64] = "</script><img src=x "
					   "onerror=alert(1)>\xe2\x80\xae" "abc\xe2\x80\x8b\xef\xbb\xbf<script>alert(2)"
					   "</script>";
	char *at = strchr(name, '\0');

	memset(at, 'n', 10 * 1024);
	write_text("massif.out", name, 100);
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
	ASSERT_LT(0, open_page(self, "out.html", "#search=%3Cscript%3E&process=%E0&at=99&from=5&to=2&zoom=1,"
						 "x&by=__proto__&show=constructor",
			       1280));
	EXPECT_STREQ("0", EVAL("document.querySelectorAll('img, main script, header script').length"));
	EXPECT_STREQ("true", EVAL("document.querySelector('#rows .name').textContent.startsWith("
				  "'</script><img src=x onerror=alert(1)>\\\\u{202e}abc\\\\u{200b}\\\\u{feff}<script>')"));
	/* Cut where it is shown, and whole where there is room. */
	EXPECT_STREQ("true", EVAL("document.querySelector('#rows .name').textContent.length === 100 &&"
				  "document.querySelector('#rows .name').title.length > 10 * 1024"));
	EXPECT_STREQ("true", EVAL("(document.querySelectorAll('#flame g')[1].focus(),"
				  "document.querySelector('#detail .name').textContent.length > 10 * 1024)"));
	EXPECT_STREQ("true", EVAL("document.scrollingElement.scrollWidth <= 1280"));
	EXPECT_EQ(1, self->browser.requests);
}

TEST_F_TIMEOUT(page, numbers_of_64_bits, 120)
{
	static const uint64_t numbers[] = { (1ull << 53), (1ull << 53) + 1, 10 * (1ull << 53), UINT64_MAX };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char wanted[32];

		write_text("massif.out", "large", numbers[i]);
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
		ASSERT_LT(0, open_page(self, "out.html", "", 1280));
		snprintf(wanted, sizeof(wanted), "%" PRIu64, numbers[i]);
		EXPECT_STREQ(wanted, EVAL("document.querySelector('.figure button').dataset.value"));
		EXPECT_STREQ(wanted, EVAL("document.querySelectorAll('#flame g')[1].dataset.value"));
		EXPECT_STREQ(wanted, EVAL("document.querySelector('#rows td').dataset.value"));
		EXPECT_STREQ(wanted, EVAL("document.querySelector('.figure button').title.replace(/[^0-9]/g, '')"));
	}
	/* And compared with one that is not as large. */
	write_text("massif.old", "large", 1);
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out", "massif.old"));
	ASSERT_LT(0, open_page(self, "out.html", "#show=grown", 1280));
	EXPECT_STREQ("18446744073709551614", EVAL("document.querySelector('#rows td').dataset.value"));
	EXPECT_STREQ("18446744073709551614", EVAL("document.querySelector('#flame g').dataset.value"));
}

/* Nothing was allocated, or nothing is known but one snapshot. */
TEST_F_TIMEOUT(page, empty_runs, 120)
{
	static const char *const files[] = { "massif.rec", "massif.nothing" };

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "/bin/true"));
	ctl_write_file("massif.nothing", "desc: (none)\ncmd: nothing\ntime_unit: "
					 "ms\n#-----------\nsnapshot=0\n#-----------\ntime=0\n"
					 "mem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn0: 0 (heap "
					 "allocation "
					 "functions) malloc/new/new[], --alloc-fns, etc.\n", 0644);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", files[i]));
		ASSERT_LT(0, open_page(self, "out.html", "", 1280));
		EXPECT_STREQ("true", EVAL("document.querySelectorAll('.figure').length >= 2")) {
			TH_LOG("%s", files[i]);
		}
	}
}

TEST_F_TIMEOUT(page, processes_can_be_chosen, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--trace-children=yes", "--record=massif."
		"rec", "--massif-out-file=/dev/null",
			 "/bin/sh", "-c", "/usr/bin/perl -e '" "my %h; $h{$_} = 1 for 1 .. 3000" "'; /usr/bin/perl -e 1; exit "
				 "0"));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.rec"));
	ASSERT_LT(0, open_page(self, "out.html", "", 1280));
	EXPECT_STREQ("true", EVAL("document.querySelectorAll('#process option').length === "
				  "JSON.parse(document.querySelector('#data').textContent).sides[0].processes.length + 1"));
	EXPECT_STREQ("perl", EVAL("document.querySelector('#program').textContent"));
	EVAL("(document.querySelector('#process').value = 'all', document.querySelector('#process').dispatchEvent(new "
	     "Event('change')))");
	EXPECT_STREQ("true", EVAL("(() => { const list = JSON.parse(document.querySelector('#data').textContent).sides[0]."
				  "processes;"
				  "const sum = list.reduce((all, p) => all + p.heap[p.peak], 0);"
				  "return Number(document.querySelector('#flame g').dataset.value) === sum &&"
				  "document.querySelectorAll('#flame g[aria-level=\"2\"]').length > 1; })()"));
	ASSERT_TRUE(browser_click(&self->browser, "#by-process"));
	EXPECT_STREQ("#process=all&by=process", EVAL("location.hash"));
	EXPECT_STREQ("true", EVAL("[...document.querySelectorAll('#rows .name')].every((n) => /^(perl|sh|dash) "
				  "\\(\\d+\\)$/.test(n.title))"));
}

/* Which blocks count as temporary is said of each process and of all together. */
TEST_F_TIMEOUT(page, temporary_blocks_as_chosen, 120)
{
	static const char *const processes[] = { "#process=0", "#process=all" };

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--trace-children=yes", "--record-detail=full", "--record=massif.rec",
			 "--massif-out-file=/dev/null", "sh", "-c", "perl -e 1; :"));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "--temporary=3", "-o", "out.html", "massif.rec"));
	for (int i = 0; i < 2; i++) {
		ASSERT_LT(0, open_page(self, "out.html", processes[i], 1280));
		EXPECT_STREQ("true", EVAL("document.querySelector('#figures').textContent.includes("
					  "' freed after at most 3 other allocations of their thread')")) {
			TH_LOG("%s: %s", processes[i], EVAL("document.querySelector('#figures').textContent"));
		}
	}
}

/* Of a long name in C++ the arguments of templates are not shown, but are in the title. */
TEST_F_TIMEOUT(page, long_names_are_shortened, 120)
{
	static const char *const names[][2] = {
		{ "void ns::list<std::pair<int, VERY>, std::less<int> >::operator<< <char, VERY>(char, VERY)",
		  "void ns::list<…>::operator<< <…>(char, " },
		{ "ns::name<VERY>", "ns::name<…>" },
		{ "f(VERY)", "f(llllll" },
	};
	static char very[400], name[2048];

	memset(very, 'l', sizeof(very) - 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name[0] = '\0';
		for (const char *at = names[i][0]; *at;) {
			if (strncmp(at, "VERY", 4) == 0) {
				strcat(name, very);
				at += 4;
			} else {
				strncat(name, at++, 1);
			}
		}
		write_text("massif.out", name, 100);
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
		ASSERT_LT(0, open_page(self, "out.html", "", 1280));
		EXPECT_STREQ("true", EVAL("(() => { const n = document.querySelector('#rows .name');"
					  "return n.textContent.startsWith('%s') && n.title === '%s'; })()",
					  names[i][1], name));
		EXPECT_STREQ("true", EVAL("document.querySelectorAll('#flame text')[1].textContent.startsWith('%s')",
					  names[i][1]));
	}
}

/* The page of a massif-ctl that was built without d3. */
TEST_F_TIMEOUT(page, without_charts, 120)
{
	char *page, *begin, *end;

	ASSERT_TRUE(report(self));
	page = ctl_read_file("out.html");
	begin = strstr(page, "</script>\n<script>");
	ASSERT_NE(NULL, begin);
	begin += strlen("</script>\n");
	end = strstr(begin, "</script>\n");
	ASSERT_NE(NULL, end);
	ASSERT_LT(10000, end - begin) {
		TH_LOG("this massif-ctl has no d3");
	}
	memset(begin, ' ', (size_t)(end - begin) + strlen("</script>"));
	ctl_write_file("out.bare.html", page, 0644);
	free(page);
	ASSERT_LT(0, open_page(self, "out.bare.html", "", 1280));
	EXPECT_STREQ("true", EVAL("document.querySelector('#flame').textContent.includes('built without d3') &&"
				  "document.querySelector('#timeline-chart').textContent.includes('built without d3')"));
	EXPECT_STREQ("true", EVAL("document.querySelectorAll('#rows tbody tr').length > 5 &&"
				  "document.querySelectorAll('.figure').length === 5"));
	/* Moments can be chosen, and a range. */
	EXPECT_STREQ("true", EVAL("(document.querySelector('#at').value = 0, document.querySelector('#at').dispatchEvent(new "
				  "Event('input')),"
				  "location.hash === '#at=0')"));
}

/* The browser would tell of a request, and of a script that is not ours: the other tests rely on it. */
TEST_F_TIMEOUT(page, policy_forbids_what_was_added, 120)
{
	char *page, *changed = NULL, *end;

	ASSERT_TRUE(report(self));
	page = ctl_read_file("out.html");
	end = strstr(page, "<main>");
	ASSERT_NE(NULL, end);
	ASSERT_LT(0, asprintf(&changed, "%.*s<img src=\"http://192.0.2.1/x.png\"><script>document.title = 'changed'</script>%s",
			      (int)(end - page), page, end));
	ctl_write_file("out.changed.html", changed, 0644);
	free(page);
	free(changed);
	ASSERT_LT(0, open_page(self, "out.changed.html", "", 1280));
	EXPECT_STREQ("true", EVAL("document.title.startsWith('perl: ')"));
	EXPECT_STREQ("true", EVAL("document.querySelector('#warnings').hidden"));
	EXPECT_LE(2, self->browser.complaints);
	self->browser.complaints = 0;
}

TEST_F_TIMEOUT(page, opens_fast_with_very_many_stacks, 300)
{
	FILE *out = fopen("massif.out", "we");
	double best = 1e9;

	fputs("desc: (none)\ncmd: many\ntime_unit: B\n#-----------\nsnapshot=0\n#-----------\ntime=1\nmem_heap_B=4950000\n"
	      "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
	      "n100: 4950000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", out);
	/* Stacks of up to six calls below each of 100 functions, 100,000 in all. */
	for (int i = 0; i < 100; i++) {
		fprintf(out, " n10: 49500 0x%X: function_%d (many.c:%d)\n", 0x1000 + i, i, i);
		for (int k = 0; k < 10; k++) {
			fprintf(out, "  n100: 4950 0x%X: caller_%d_of_%d (many.c:%d)\n", 0x10000 + 10 * i + k, k, i, k);
			for (int j = 0; j < 100; j++)
				fprintf(out, "   n0: %d 0x%X: from_%d (many.c:%d)\n", j, 0x100000 + j, j, j);
		}
	}
	fclose(out);
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
	/* The best of three or, on a busy machine, of more. */
	for (int i = 0; i < 3 || (i < 15 && best > OPENS_MS); i++) {
		double took = open_page(self, "out.html", "", 1280);

		ASSERT_LT(0, took);
		best = took < best ? took : best;
	}
	TH_LOG("100,000 stacks: open after %.0f ms", best);
	EXPECT_GE(OPENS_MS, best);
	EXPECT_STREQ("4950000", EVAL("document.querySelector('#flame g').dataset.value"));
}

TEST_HARNESS_MAIN

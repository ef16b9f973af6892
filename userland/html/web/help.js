// SPDX-License-Identifier: GPL-2.0
// The questions that the page answers, as buttons that lead to the answers.

function goTo(id) {
	$("help").close();
	$(id).scrollIntoView({ behavior: "auto", block: "start" });
}

const OF_TWO = "What changed since the older run?";

// In pages mode nothing is allocated or freed.
function inPages(text) {
	return { "What is never freed?": "What is left at the end?",
		"What is still held at the end, by the stack that allocated it.": "What is still there at the end, by the stack that mapped or touched it.",
	}[text] || text;
}

// question, what to look at, what it shows, which part of the page; only(): whether the page can answer it.
const QUESTIONS = [
	["Why is the peak so high?", "The graph at the peak: the widest boxes hold most.",
		() => ({ at: current().peak, measure: "live", inverted: false, zoom: null }), "graph"],
	["What is never freed?", "What is still held at the end, by the stack that allocated it.",
		() => ({ measure: "leaks", zoom: null }), "graph", (p) => has(MEASURES.leaks, p)],
	["What grows between two moments?", "Drag over the curve, or choose two snapshots; the graph shows the growth between them.",
		() => ({ measure: "growth", zoom: null }), "timeline", (p) => has(MEASURES.growth, p)],
	["Who allocates most often?", "The number of allocations by function.",
		() => ({ measure: "calls", by: "function", sort: "calls", ascending: false, zoom: null }), "table", (p) => p.counts],
	["What is freed at once?", "Temporary blocks: freed before their thread allocated another.",
		() => ({ measure: "temporary", sort: "temporary", ascending: false, zoom: null }), "graph", (p) => p.counts],
	["Which library holds most?", "The table by library, at the peak.",
		() => ({ at: current().peak, measure: "live", by: "library", sort: "", ascending: false, zoom: null }), "table"],
	[OF_TWO, "Change, new and old for each function; the graph shows the stacks that hold more.",
		() => ({ measure: "grown", at: current().peak, by: "function", sort: "change", ascending: false, zoom: null }), "graph", compared],
	["Why does the resident set stay high?", "What the pages in memory hold, and which code keeps pages that are mostly free.",
		() => ({ sample: residencyOf(current()).last, sort: "", ascending: false, zoom: null }), "residency", residencyOf],
	["Which sizes?", "How many blocks of each size were allocated.", () => ({}), "sizes", (p) => p.facts.sizes],
	["How long do blocks live?", "The lifetimes of all blocks; click a row of the table to see its own beside them.",
		() => ({}), "lifetimes", (p) => p.facts.block_sizes],
	["Which thread?", "The table by thread.", () => ({ by: "thread", sort: "" }), "table",
		(p) => has(GROUPS.thread, p)],
];

function notHere(question, profile) {
	return profile.facts.pages && question !== OF_TWO ? "A recording of pages mode does not say." : {
		[OF_TWO]: "Make the report of two recordings: massif-ctl report NEW OLD.",
		"How long do blocks live?": "Record with --record-detail=full.",
		"Why does the resident set stay high?": profile.together ? "Choose one process." : "Record with --rss=yes.",
		"Which thread?": "Record with --separate-threads=yes.",
	}[question] || "A massif.out file does not say.";
}

function drawHelp() {
	const profile = current(), text = profile.facts.pages ? inPages : (same) => same;
	fill("help-questions", element("ul", {}, ...QUESTIONS.map(([question, answer, changes, part, only]) =>
		element("li", {}, only && !only(profile) ?
			element("strong", { class: "off" }, text(question)) :
			element("button", { type: "button", onclick: () => {
				show(changes());
				goTo(part);
			} }, text(question)),
		element("span", {}, only && !only(profile) ? notHere(question, profile) : text(answer))))));
	fill("help-keys", "Arrows go to callers, callees and neighbours. Enter zooms in, Escape out, Home to the first box. / searches. ",
		"Boxes have the colour of their library. The address of the page has all that you have chosen: send it with the file.");
}

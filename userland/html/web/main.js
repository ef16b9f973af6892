// SPDX-License-Identifier: GPL-2.0
// Puts the parts together: head, figures, what happens on clicks.

function showTip(...lines) {
	const tip = $("tip"), event = d3.event;
	tip.replaceChildren(...lines.filter(Boolean).map((line, i) => element(i ? "span" : "strong", {}, cut(line, 600))));
	tip.hidden = false;
	const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
	const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
	tip.style.left = Math.max(left, 4) + "px";
	tip.style.top = (below ? event.clientY + 18 : Math.max(event.clientY - tip.offsetHeight - 10, 4)) + "px";
}

function hideTip() {
	$("tip").hidden = true;
}

function endText(facts) {
	if (facts.signal)
		return "killed by signal " + facts.signal;
	if (facts.exit !== undefined)
		return "exit status " + facts.exit;
	return facts.cut_off ? "killed or still running" : "";
}

function drawHead() {
	const profile = current(), facts = profile.facts, old = older(profile);
	const name = processName(facts);
	const took = facts.recording && !profile.together ? "profiled for " + time(facts.took, { unit: "ms" }) : "";
	$("program").textContent = cut(name, 120);
	$("command").textContent = profile.together ? profile.together.map((each) => processName(each.facts)).join(", ") :
		cut(visible(facts.cmd || ""), 2000);
	const against = compared() ? "compared with " + sideName(1) + (old ? "" : ", which has no such process") : "";
	$("facts").textContent = [sideName(0), against, facts.pid ? "process " + facts.pid : "", endText(facts), took,
		facts.options && facts.options !== "(none)" ? visible(facts.options) : "",
		facts.massif ? "massif " + visible(facts.massif) : "", facts.kernel ? "Linux " + visible(facts.kernel) : ""]
		.filter(Boolean).join(" · ");
	document.title = name + ": " + sideName(0) + " – massif report";
	$("graph-title").textContent = words(facts).where;
	$("table-title").textContent = words(facts).who;
	$("inverted-title").textContent = words(facts).callers;
	drawWarnings(profile);
}

function drawWarnings(profile) {
	const lines = [];
	data.sides.forEach((side, k) => {
		if (side.damage)
			lines.push(sideName(k) + " is damaged: " + visible(side.damage) + ". What follows is left out.");
		if (side.hidden)
			lines.push(plural(side.hidden, "process", "processes") + " of " + sideName(k) +
				" with peaks of at most " + bytes(side.below) + " are left out.");
	});
	if (Number(profile.facts.lost))
		lines.push(plural(profile.facts.lost, "event") + " were lost: the figures are too low.");
	if (profile.facts.numbers)
		lines.push("Only " + grouped(profile.snapshots.length) + " of " +
			grouped(profile.facts.numbers[profile.facts.numbers.length - 1] + 1) + " snapshots are in this report.");
	$("warnings").hidden = !lines.length;
	$("warnings").textContent = lines.join(" ");
	const text = profile.facts.hidden ? plural(profile.facts.hidden, "stack") + ", each with at most " +
		(profile.facts.below * 100).toPrecision(2) + "% of any total, are drawn as “other places” to keep this file small; the table, and the graph of callers without " +
		"their callers, have them by " + (profile.facts.rest ? "the largest of their sites, and the rest as one. " : "their sites. ") : "";
	$("footer").textContent = text + "Made by massif " + visible(data.massif) + ". KB, MB and GB are 1024, 1024² and 1024³ bytes.";
}

function leakedText(profile) {
	const blocks = profile.counts ? profile.sum(profile.counts[3]) - profile.number_(profile.facts.runtime_blocks) : null;
	return profile.counts ? "in " + plural(blocks, "block") + (profile.sum(profile.kept) ? ", without the libraries' own" : "") : "";
}

// The figures of a process: title, value, how it is printed, what else is said, what a click shows.
function figuresOf(profile) {
	const peak = profile.snapshots[profile.detailed[profile.peak]], end = profile.snapshots[profile.detailed[profile.end]];
	const list = [];
	const add = (title, value, print, exact, more, changes) => list.push({ title, value, print, exact, more, changes });
	add("Peak", peak.total, bytes, exactBytes, profile.together ? "each process at its own" : "at " + time(peak.time, profile.facts), { at: profile.peak });
	if (profile.facts.pages && profile.facts.what === 2)
		add("Resident at the peak", peak.parts[0], bytes, exactBytes, percent(peak.parts[0], peak.total) + " of what is mapped",
			{ at: profile.peak });
	add(profile.facts.recording ? words(profile.facts).held + " at the end" : "Last tree", end.total, bytes, exactBytes,
		percent(end.total, peak.total) + " of the peak", { at: profile.end });
	if (profile.facts.recording && !profile.facts.pages)
		add("Never freed", profile.sum(profile.leaked()), bytes, exactBytes, leakedText(profile), { measure: "leaks", zoom: null });
	if (residencyOf(profile)) {
		const largest = residencyOf(profile).details[0];
		add("Resident set", largest.total, bytes, exactBytes, percent(largest.parts[0], largest.total) + " of it live blocks",
			{ sample: 0, zoom: null });
	}
	const resident = residentProcesses(profile)[0];
	if (resident)
		add("Largest resident set", residencyOf(resident).details[0].total, bytes, exactBytes, "of " + processName(resident.facts) +
			(resident.facts.pid ? " (" + resident.facts.pid + ")" : ""), { process: resident.number, sample: 0, zoom: null });
	if (profile.counts) {
		const calls_ = profile.sum(profile.counts[0]), temporary = profile.sum(profile.counts[2]);
		add("Allocated", profile.sum(profile.counts[1]), bytes, exactBytes, "in " + plural(calls_, "block"),
			{ measure: "allocated", zoom: null });
		add("Temporary", temporary, (value) => shareText(value, calls_), (value) => plural(value, "block"),
			plural(temporary, "block") + " freed " + (profile.facts.temporary_others ? soonText(profile) : "at once"), { measure: "temporary", zoom: null });
	}
	return list;
}

function shareText(part, whole) {
	return Number(whole) ? (100 * Number(part) / Number(whole)).toFixed(1) + "%" : "0%";
}

function changeText(figure, before) {
	if (!before || before.print(before.value) === "")
		return "";
	const grown = Number(figure.value) - Number(before.value);
	if (figure.title === "Temporary")
		return "was " + before.print(before.value);
	return "was " + before.print(before.value) + (Number(before.value) ? ", " + change(100 * grown / Number(before.value),
		(value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(1) + "%") : "");
}

function drawFigures() {
	const profile = current(), old = older(profile), before = old ? figuresOf(old) : [];
	fill("figures", ...figuresOf(profile).map((figure) => {
		const was = before.find((each) => each.title === figure.title);
		return element("div", { class: "figure" }, element("dt", {}, figure.title),
			element("dd", {}, element("button", { type: "button", title: figure.exact(figure.value),
				"data-value": figure.value.toString(), onclick: () => show(figure.changes) }, figure.print(figure.value)),
			element("span", {}, figure.more), compared() ? element("span", { class: "was" }, changeText(figure, was)) : null));
	}));
}

function drawProcesses() {
	$("process-choice").hidden = sides[0].length < 2;
	fill("process", sides[0].length > 1 ? element("option", { value: "all" }, "All " + sides[0].length + " together") : null,
		...sides[0].map((profile, i) => element("option", { value: i },
		profile.facts.pid + " " + cut(visible(profile.facts.cmd || "?"), 60) + " (" +
		bytes(profile.snapshots[profile.detailed[profile.peak]].total) + ")")));
	$("process").value = state.process;
}

function render() {
	hideTip();
	drawProcesses();
	drawHead();
	drawFigures();
	drawTimeline();
	drawResidency();
	drawResidentSets();
	drawGraph();
	drawTable();
	drawSizes();
	drawHelp();
}

const THEMES = [["auto", "Auto", "as the system has them"], ["light", "Light", "light"], ["dark", "Dark", "dark"]];

function setTheme(number) {
	const [name, text, says] = THEMES[number];
	document.documentElement.dataset.theme = name;
	$("theme").textContent = text;
	$("theme").setAttribute("aria-label", "Colours: " + says);
}

function listen() {
	let theme = 0;
	$("theme").addEventListener("click", () => setTheme(theme = (theme + 1) % THEMES.length));
	$("process").addEventListener("change", (event) => show({ process: event.target.value === "all" ? "all" : Number(event.target.value) }));
	$("help-open").addEventListener("click", () => $("help").showModal());
	$("help-close").addEventListener("click", () => $("help").close());
	const moment = (at, sample) => show(state.curve === "rss" ? { sample } : { at });
	$("at-peak").addEventListener("click", () => moment(current().peak, 0));
	$("at-end").addEventListener("click", () => moment(current().end, residencyOf(current()) ? residencyOf(current()).last : 0));
	$("at").addEventListener("input", (event) => moment(Number(event.target.value),
		residencyOf(current()) ? residencyOf(current()).order[Number(event.target.value)] : 0));
	$("curve-heap").addEventListener("click", () => show({ curve: "heap", zoom: null }));
	$("curve-rss").addEventListener("click", () => show({ sample: state.sample, zoom: null }));
	$("range-from").addEventListener("change", (event) => setRange(Number(event.target.value), range(current())[1]));
	$("range-to").addEventListener("change", (event) => setRange(range(current())[0], Number(event.target.value)));
	$("range-clear").addEventListener("click", () => show({ from: null, to: null }));
	$("inverted").addEventListener("change", (event) => show({ inverted: event.target.checked }));
	$("threads").addEventListener("change", (event) => show({ threads: event.target.checked }));
	$("inclusive").addEventListener("change", (event) => show({ inclusive: event.target.checked }));
	$("search").addEventListener("input", (event) => show({ search: event.target.value }));
	$("zoom-out").addEventListener("click", () => show({ zoom: null }));
	$("sizes-all").addEventListener("click", () => show({ row: "", zoom: null, search: "" }));
	$("rows-more").addEventListener("click", showMoreRows);
	document.addEventListener("keydown", (event) => {
		if (event.key !== "/" || /^(INPUT|SELECT)$/.test(event.target.tagName))
			return;
		event.preventDefault();
		$("search").focus();
	});
	window.addEventListener("hashchange", () => {
		readFragment();
		render();
	});
	let width = window.innerWidth;
	window.addEventListener("resize", () => {
		if (width === window.innerWidth)
			return;
		width = window.innerWidth;
		drawTimeline();
		drawFlame();
	});
}

readFragment();
listen();
setTheme(0);
render();

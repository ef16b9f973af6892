// SPDX-License-Identifier: GPL-2.0
// What the page shows. It is in the fragment of the page's address, so that a finding can be sent as a link.

const DEFAULTS = {
	process: 0,    // number of the process, those with the highest peaks first; "all": all together
	measure: "live",
	at: null,      // number of a detailed snapshot
	from: null, to: null,
	inverted: false, threads: false,
	search: "",
	zoom: null,    // [node, depth] of the box that fills the width
	by: "function",
	sort: "", ascending: false,
	inclusive: false,
	row: "",       // key of the row of the table that is chosen
	curve: "heap", // or "rss": what the timeline shows
	sample: 0,     // number of a sample of the resident set of which more is known
};

// A comparison is of whole recordings, as that of massif-ctl diff.
if (sides.length > 1 && sides[0].length > 1)
	DEFAULTS.process = "all";

const KEYS = { process: "process", measure: "show", at: "at", from: "from", to: "to", inverted: "inverted", threads: "threads",
	search: "search", zoom: "zoom", by: "by", sort: "sort", ascending: "ascending", inclusive: "inclusive", row: "row",
	curve: "curve", sample: "sample" };

const state = { ...DEFAULTS };

function current() {
	return state.process === "all" ? wholes[0] : sides[0][state.process];
}

function isDefault(name) {
	return state[name] === DEFAULTS[name] || (name === "at" && state.at === current().peak);
}

function writeFragment() {
	const parts = [];
	for (const name of Object.keys(DEFAULTS))
		if (!isDefault(name))
			parts.push(KEYS[name] + "=" + encodeURIComponent(String(state[name])));
	history.replaceState(null, "", "#" + parts.join("&"));
}

function wholeNumber(text, limit) {
	const number = Number(text);
	return Number.isInteger(number) && number >= 0 && number < limit ? number : null;
}

// Reads the fragment, whatever it is: what does not make sense is left at its default.
function readFragment() {
	const read = {};
	for (const part of location.hash.slice(1).split("&")) {
		const [key, value] = part.split("=");
		try {
			read[key] = decodeURIComponent(value || "");
		} catch {
			continue;
		}
	}
	Object.assign(state, DEFAULTS);
	if (read.process === "all" && sides[0].length > 1)
		state.process = "all";
	else
		state.process = wholeNumber(read.process, sides[0].length) ?? DEFAULTS.process;
	const profile = current(), moments = profile.detailed.length;
	if (Object.hasOwn(MEASURES, read.show || "") && has(MEASURES[read.show], profile))
		state.measure = read.show;
	if (read.at !== undefined)
		state.at = wholeNumber(read.at, moments);
	if (read.from !== undefined && wholeNumber(read.from, moments) < wholeNumber(read.to, moments)) {
		state.from = wholeNumber(read.from, moments);
		state.to = wholeNumber(read.to, moments);
	}
	for (const name of ["inverted", "threads", "ascending", "inclusive"])
		state[name] = read[name] === "true";
	state.search = read.search || "";
	const zoom = (read.zoom || "").split(",").map((text) => wholeNumber(text, profile.length));
	if (zoom.length === 2 && zoom[0] !== null && zoom[1] !== null)
		state.zoom = zoom;
	if (Object.hasOwn(GROUPS, read.by || ""))
		state.by = read.by;
	state.sort = read.sort || "";
	state.row = read.row || "";
	if (state.at === null)
		state.at = profile.peak;
	if (residencyOf(profile)) {
		state.sample = wholeNumber(read.sample, residencyOf(profile).details.length) ?? DEFAULTS.sample;
		if (read.curve === "rss" || isOfSamples(state.measure))
			state.curve = "rss";
	}
}

function has(measure, profile) {
	return !measure.has || measure.has(profile);
}

// Chooses the curve of what is shown, and for each curve a measure that it has.
function showCurve(changes) {
	if (changes.at !== undefined || changes.from !== undefined)
		state.curve = "heap";
	else if (changes.sample !== undefined || isOfSamples(changes.measure))
		state.curve = "rss";
	if (state.curve === "heap" && isOfSamples(state.measure))
		state.measure = "live";
	else if (changes.sample !== undefined && !isOfSamples(state.measure) && has(MEASURES.pinned, current()))
		state.measure = "pinned";
}

// Changes what is shown.
function show(changes) {
	Object.assign(state, changes);
	if (changes.process !== undefined) {
		Object.assign(state, { at: current().peak, from: null, to: null, zoom: null, sample: 0 });
		if (!residencyOf(current()))
			state.curve = "heap";
		if (!has(MEASURES[state.measure], current()))
			state.measure = "live";
	}
	// A box that is zoomed into is one of this view, and a row one of this table.
	if (changes.inverted !== undefined || changes.threads !== undefined)
		state.zoom = null;
	if (changes.row === undefined && (changes.by || changes.process !== undefined || changes.search !== undefined || changes.zoom))
		state.row = "";
	if (changes.at !== undefined && changes.measure === undefined)
		state.measure = "live";
	showCurve(changes);
	writeFragment();
	render();
}

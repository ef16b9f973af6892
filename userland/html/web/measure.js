// SPDX-License-Identifier: GPL-2.0
// What can be measured for each stack: the choices above the graph, and the columns of the table.

function positive(values) {
	return values.map((value) => value < 0 ? (typeof value === "bigint" ? 0n : 0) : value);
}

function difference(profile, from, to) {
	const before = profile.live(from);
	return profile.live(to).map((value, i) => value - before[i]);
}

function keptText(profile) {
	const kept = profile.sum(profile.kept);
	return kept ? "; the C and C++ libraries keep " + bytes(kept) + " more, which is no leak" : "";
}

// title: on the button; own(): the values of the nodes; says: what the total is.
const MEASURES = {
	live: {
		title: (p) => words(p.facts).held + " at " + (state.at === p.peak ? "the peak" : state.at === p.end ? p.endTitle() : "the moment"),
		own: (p, at) => p.live(at),
		says: (p) => words(p.facts).held.toLowerCase() + " at " + p.momentTitle(state.at),
		print: bytes, exact: exactBytes,
	},
	leaks: {
		title: (p) => p.facts.recording && !p.facts.pages ? "Never freed" : words(p.facts).held + " at " + p.endTitle(),
		has: (p) => p.end >= 0,
		own: (p) => p.leaked(),
		says: (p) => (p.facts.recording ? "still " : "") + words(p.facts).held.toLowerCase() + " at " + p.endTitle() + keptText(p),
		print: bytes, exact: exactBytes,
	},
	growth: {
		title: () => "Growth in the range",
		has: (p) => p.detailed.length > 1 && !p.together,
		own: (p) => positive(difference(p, ...range(p))),
		says: (p) => "more from " + range(p).map((at) => p.momentTitle(at)).join(" to ") + shrinkage(p),
		print: bytes, exact: exactBytes,
	},
	allocated: {
		title: () => "Bytes allocated",
		has: (p) => p.counts,
		own: (p) => p.counts[1],
		says: () => "allocated since the start",
		print: bytes, exact: exactBytes,
	},
	calls: {
		title: () => "Allocations",
		has: (p) => p.counts,
		own: (p) => p.counts[0],
		says: () => "allocations since the start",
		print: grouped, exact: (value) => plural(value, "allocation"),
	},
	temporary: {
		title: () => "Temporary",
		has: (p) => p.counts,
		own: (p) => p.counts[2],
		says: (p) => "temporary blocks: freed " + soonText(p),
		print: grouped, exact: (value) => plural(value, "temporary block"),
	},
};

// How soon temporary blocks are freed.
function soonText(profile) {
	const others = profile.facts.temporary_others;
	return !others ? "before their thread allocated another" :
		"after at most " + plural(others, "other allocation") + " of their thread";
}

// The range, or from the first detailed snapshot to the last if there is none.
function range(profile) {
	return state.from === null ? [0, profile.detailed.length - 1] : [state.from, state.to];
}

function shrinkage(profile) {
	const freed = -profile.sum(difference(profile, ...range(profile)).map((value) => value < 0 ? value : profile.zero()));
	return freed ? "; other stacks hold " + bytes(freed) + " less" : "";
}

// Returns the measure that is chosen, with its values for the process that is chosen.
let measured = { key: null };

function measure() {
	const profile = current(), name = state.measure;
	const key = [profile.side, profile.number, name, state.at, state.from, state.to, state.sample].join();
	if (measured.key === key)
		return measured;
	const holder = MEASURES[name].profile ? MEASURES[name].profile(profile) : profile;
	const own = MEASURES[name].own(holder, state.at);
	const sums = holder.sumUp(own);
	measured = { ...MEASURES[name], key, profile: holder, name, own, sums, total: sums[0] };
	return measured;
}

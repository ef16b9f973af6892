// SPDX-License-Identifier: GPL-2.0
// Comparison with an older recording: stacks and rows are matched by function and file, or library, not by line.

function compared() {
	return sides.length > 1;
}

// Returns the older process to compare with: the one of the same name, the first with the first and so on; or null.
function older(profile) {
	if (!compared() || profile.side)
		return null;
	if (profile === wholes[0])
		return wholes[1];
	const same = (each) => each.facts.name === profile.facts.name;
	return sides[1].filter(same)[sides[0].filter(same).indexOf(profile)] || null;
}

// The moment of the older process that is compared with the chosen one: its end with the end, its peak with all others.
function olderMoment(profile, old) {
	return state.at === profile.end && state.at !== profile.peak ? old.end : old.peak;
}

function comparedMeasure() {
	return state.measure === "growth" || state.measure === "grown" || state.measure === "shrunk" ? "live" : state.measure;
}

function ownOf(profile, name, at) {
	return name === "leaks" ? profile.leaked() : MEASURES[name].own(profile, at);
}

// Returns a number for the path of each node; @paths is shared by both profiles.
function numberPaths(profile, paths) {
	const numbers = new Int32Array(profile.count);
	for (let i = 1; i < profile.count; i++) {
		const parent = numbers[profile.parent[i]];
		const key = parent * 4194304 + profile.place(i) + 1048576;
		if (profile.isThread(i) || profile.isProcess(i)) {
			numbers[i] = parent;
			continue;
		}
		if (!paths.has(key))
			paths.set(key, paths.size + 1);
		numbers[i] = paths.get(key);
	}
	return numbers;
}

// Returns by how much each stack of @profile has more than the same stack of @other, where it has more.
function moreThan(profile, own, other, otherOwn) {
	const paths = new Map(), numbers = numberPaths(profile, paths);
	const otherNumbers = other ? numberPaths(other, paths) : [];
	const big = profile.big || (other && other.big), more = zeros(profile.big, profile.count);
	const sums = zeros(big, paths.size + 1), convert = big ? BigInt : Number;
	for (let i = 1; other && i < other.count; i++)
		sums[otherNumbers[i]] += convert(otherOwn[i]);
	for (let i = 1; i < profile.count; i++) {
		const value = convert(own[i]), less = sums[numbers[i]] < value ? sums[numbers[i]] : value;
		sums[numbers[i]] -= less;
		more[i] = profile.number_(value - less);
	}
	return more;
}

MEASURES.grown = {
	title: () => "More than before",
	has: compared,
	own: (p, at) => {
		const old = older(p);
		return moreThan(p, p.live(at), old, old ? old.live(olderMoment(p, old)) : null);
	},
	says: (p) => "more than in " + sideName(1) + ", in stacks that have grown or are new",
	print: bytes, exact: exactBytes,
};

MEASURES.shrunk = {
	title: () => "Less than before",
	has: (p) => compared() && older(p),
	profile: older,
	own: (old) => moreThan(old, old.live(olderMoment(current(), old)), current(), current().live(state.at)),
	says: () => "less than in " + sideName(1) + ", in stacks that have shrunk or are gone",
	print: bytes, exact: exactBytes,
};

function sideName(side) {
	return visible(data.sides[side].file);
}

function diffColumns(profile) {
	const name = comparedMeasure(), { print, exact } = MEASURES[name];
	const what = name === "live" ? "at " + profile.momentTitle(state.at).split(",")[0] : MEASURES[name].title(profile).toLowerCase();
	return [
		{ name: "change", title: "Change", long: "the change, " + what, print: (value) => change(value, print),
			exact: (value) => change(value, exact) },
		{ name: "new", title: "New", long: "the newer file, " + what, print, exact },
		{ name: "old", title: "Old", long: "the older file, " + what, print, exact },
	];
}

// Numbers of threads and processes are others in each run.
function keyInBoth(by, row) {
	return isWhole(by) ? row.label[0].replace(/ \(\d+\)$/, "") : row.key;
}

// Returns rows for both profiles, matched by their keys.
function diffGroups(profile, by) {
	const old = older(profile), index = new Map(), rows = [], name = comparedMeasure();
	const big = profile.big || (old && old.big), lists = [];
	const add = (each, at) => {
		const grouping = groupNodes(each, by);
		const values = addUp(each, grouping, ownOf(each, name, at), state.inclusive, by);
		const list = new Map();
		grouping.rows.forEach((row, i) => {
			const key = keyInBoth(by, row);
			if (!index.has(key)) {
				index.set(key, rows.length);
				rows.push({ key, label: [isAddress(row.label[0]) ? "???" : row.label[0], row.label[1]] });
			}
			const number = index.get(key);
			list.set(number, (list.get(number) || (big ? 0n : 0)) + (big ? BigInt(values[i]) : values[i]));
		});
		lists.push(list);
	};
	add(profile, state.at);
	if (old && (!MEASURES[name].has || MEASURES[name].has(old)))
		add(old, olderMoment(profile, old));
	const value = (list, i) => (list && list.get(i)) || (big ? 0n : 0);
	return {
		rows,
		values: () => [rows.map((row, i) => value(lists[0], i) - value(lists[1], i)), rows.map((row, i) => value(lists[0], i)),
			rows.map((row, i) => value(lists[1], i))],
	};
}

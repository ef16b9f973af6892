// SPDX-License-Identifier: GPL-2.0
// The table: values added up by function, line, file, library or thread.

const ROWS = 25;

// title: of the column; what: of one row; key(): what calls of one row have in common; label(): its texts.
const GROUPS = {
	place: {
		title: "Function",
		key: (call) => call.place,
		label: (call) => [call.name, call.file || call.library],
	},
	site: {
		title: "Line",
		key: (call) => call.place + ":" + call.line,
		label: (call) => [call.name, call.file ? call.file + ":" + call.line : call.library],
	},
	file: {
		title: "File",
		key: (call) => call.file || call.object,
		label: (call) => [call.file || call.library || "unknown", call.file ? call.library : ""],
	},
	library: {
		title: "Library",
		key: (call) => call.object,
		label: (call) => [call.library || "unknown", call.object],
	},
	thread: {
		title: "Thread",
		has: (p) => p.facts.threads,
	},
	process: {
		title: "Process",
		has: (p) => p.together,
	},
};

// Whether a stack belongs to a row as a whole, no call of it by itself.
function isWhole(by) {
	return by === "thread" || by === "process";
}

// Returns the number of the row of each node, and the texts of the rows.
function groupNodes(profile, by) {
	const rows = [], index = new Map(), ofCalls = new Map(), row = new Int32Array(profile.count);
	const number = (key, make) => {
		if (!index.has(key)) {
			index.set(key, rows.length);
			rows.push({ key, label: make() });
		}
		return index.get(key);
	};
	for (let i = 1; i < profile.count; i++) {
		const call = profile.call[i];
		if (isWhole(by))
			row[i] = (by === "thread" ? profile.isThread(i) : profile.isProcess(i)) ?
				number(by + call, () => [profile.describe(i).name, ""]) : row[profile.parent[i]];
		else if (call < 0)
			row[i] = number("others", () => ["Other places", ""]);
		else if (ofCalls.has(call))
			row[i] = ofCalls.get(call);
		else
			ofCalls.set(call, row[i] = number(GROUPS[by].key(calls[call]), () => GROUPS[by].label(calls[call])));
	}
	return { rows, row };
}

// Adds up @own by rows. If @inclusive, what a node holds counts for the rows of all calls of its stack, but once for each.
function addUp(profile, { rows, row }, own, inclusive) {
	const values = zeros(profile.big, rows.length);
	if (!inclusive) {
		for (let i = 1; i < profile.count; i++)
			if (own[i])
				values[row[i]] += own[i];
		return values;
	}
	const sums = profile.sumUp(own), open = new Int32Array(rows.length), path = [];
	for (let i = 1; i < profile.count; i++) {
		while (path.length && profile.depth[path[path.length - 1]] >= profile.depth[i])
			open[row[path.pop()]]--;
		if (!profile.isThread(i) && !profile.isProcess(i)) {
			if (!open[row[i]])
				values[row[i]] += sums[i];
			open[row[i]]++;
			path.push(i);
		}
	}
	return values;
}

function columnsOf(profile) {
	const list = [];
	const add = (name, title, own, print = bytes, exact = exactBytes, long = title) =>
		list.push({ name, title, own, print, exact, long });
	if (state.at !== profile.end)
		add("live", state.at === profile.peak ? "Peak" : "Snapshot " + profile.detailed[state.at], () => profile.live(state.at));
	add("leaks", profile.facts.recording ? "End" : "Last tree", () => profile.live(profile.end));
	if (state.from !== null)
		add("growth", "Growth", () => difference(profile, ...range(profile)), (value) => change(value, bytes),
			(value) => change(value, exactBytes), "Growth in the range");
	if (profile.counts) {
		add("allocated", "Allocated", () => profile.counts[1]);
		add("calls", "Allocations", () => profile.counts[0], grouped, (value) => plural(value, "allocation"));
		add("temporary", "Temporary", () => profile.counts[2], grouped, (value) => plural(value, "temporary block"));
	}
	return list;
}

let tableRows = ROWS;

function absolute(value) {
	return value < 0 ? -value : value;
}

// The largest changes come first, whether memory came or went.
function compareRows(column, ascending, name) {
	return (a, b) => {
		const [x, y] = [a.values[column], b.values[column]].map(name === "change" ? absolute : (value) => value);
		const order = x < y ? -1 : x > y ? 1 : b.label[0] < a.label[0] ? -1 : 1;
		return ascending ? order : -order;
	};
}

// Returns the columns, and the sorted rows with their values.
function tableOf(profile) {
	const by = has(GROUPS[state.by], profile) ? state.by : "place";
	const columns = compared() ? diffColumns(profile) : columnsOf(profile);
	const groups = compared() ? diffGroups(profile, by) : null, grouping = groups ? null : groupNodes(profile, by);
	const values = groups ? groups.values(columns) :
		columns.map((column) => addUp(profile, grouping, column.own(), state.inclusive && !isWhole(by)));
	const rows = (groups || grouping).rows.map((row, i) => ({ ...row, values: values.map((list) => list[i]) }))
		.filter((row) => row.values.some((value) => value));
	let sort = columns.findIndex((column) => column.name === (state.sort || state.measure));
	if (sort < 0)
		sort = 0;
	rows.sort(compareRows(sort, state.ascending, columns[sort].name));
	return { by, columns, rows, sort };
}

function matchesSearch(row) {
	const text = state.search.trim().toLowerCase();
	return !text || row.label.join("\n").toLowerCase().includes(text);
}

function headCell(column, i, sort) {
	const sorted = i === sort ? state.ascending ? "ascending" : "descending" : "none";
	return element("th", { scope: "col", "aria-sort": sorted, class: "number" },
		element("button", { type: "button", title: "Sort by " + column.long,
			onclick: () => show({ sort: column.name, ascending: i === sort && !state.ascending }) }, column.title));
}

function rowOf(row, columns, sort, largest) {
	const [name, where] = row.label;
	const find = element("button", { type: "button", class: "name", title: name, onclick: () => show({ search: name, zoom: null }) },
		shorten(name, 100));
	return element("tr", {}, element("th", { scope: "row" }, find, where ? element("span", { class: "where", title: where }, where) : null),
		...columns.map((column, i) => {
			const cell = element("td", { class: "number" + (i === sort ? " sorted" : ""), title: column.exact(row.values[i]),
				"data-value": row.values[i].toString() }, column.print(row.values[i]));
			if (i === sort && largest)
				cell.style.setProperty("--part", (100 * Math.abs(Number(row.values[i])) / largest).toFixed(1) + "%");
			return cell;
		}));
}

function drawTable() {
	const profile = current();
	const { by, columns, rows, sort } = tableOf(profile), found = rows.filter(matchesSearch);
	const largest = Math.max(0, ...found.map((row) => Math.abs(Number(row.values[sort]))));
	fill("table-by", ...Object.entries(GROUPS).filter(([, group]) => has(group, profile)).map(([name, group]) =>
		element("button", { type: "button", role: "radio", "aria-checked": String(name === by), id: "by-" + name,
			onclick: () => show({ by: name }) }, group.title)));
	$("inclusive").checked = state.inclusive;
	$("inclusive").disabled = isWhole(by);
	fill("rows",
		element("thead", {}, element("tr", {}, element("th", { scope: "col" }, GROUPS[by].title),
			...columns.map((column, i) => headCell(column, i, sort)))),
		element("tbody", {}, ...found.slice(0, tableRows).map((row) => rowOf(row, columns, sort, largest))));
	const hidden = found.length - tableRows;
	fill("rows-text", found.length === rows.length ? plural(rows.length, "row") :
		"The search finds " + found.length + " of " + plural(rows.length, "row"), hidden > 0 ? ", " + hidden + " not shown." : ".");
	$("rows-more").hidden = hidden <= 0;
}

// SPDX-License-Identifier: GPL-2.0
// The table: values added up by function, line, file, library or thread.

const ROWS = 25;

// title: of the column; what: of one row; key(): what calls of one row have in common; label(): its texts, the last of
// which is the whole of the one before if that is shortened.
const GROUPS = {
	site: {
		title: "Site",
		key: (call) => call.place + ":" + call.line,
		label: (call) => [call.name, call.file ? call.file + ":" + call.line : call.library, call.object],
	},
	function: {
		title: "Function",
		key: (call) => compared() ? call.place : call.name + "\n" + (call.file ? "" : call.object),
		label: (call) => [call.name, call.file || call.library, call.object],
	},
	file: {
		title: "File",
		key: (call) => call.file || libraryKey(call),
		label: (call) => [call.file || libraryName(call), call.file ? call.library : "", call.object],
	},
	library: {
		title: "Library",
		key: (call) => libraryKey(call),
		label: (call) => [libraryName(call), call.object, call.object],
	},
	thread: {
		title: "Thread",
		has: (p) => p.facts.threads || hasOnlyTotals(p),
	},
	process: {
		title: "Process",
		has: (p) => p.together,
	},
};

// Whether it is known what threads have allocated, but not which of their stacks.
function hasOnlyTotals(profile) {
	return !profile.facts.threads && profile.facts.thread_totals && !compared();
}

function libraryKey(call) {
	return call.kind === NOTE ? call.name : compared() ? call.library : call.object;
}

function libraryName(call) {
	return call.kind === NOTE ? call.name : call.library || "unknown";
}

// Whether a stack belongs to a row as a whole, no call of it by itself.
function isWhole(by) {
	return by === "thread" || by === "process";
}

// Makes rows, each of which has a number.
class Rows {
	constructor() {
		this.list = [];
		this.index = new Map();
	}

	number(key, label) {
		if (!this.index.has(key)) {
			this.index.set(key, this.list.length);
			this.list.push({ key, label });
			return this.list.length - 1;
		}
		const row = this.list[this.index.get(key)];
		if (row.label[1] !== label[1])
			row.label = [row.label[0], "several files", ""];
		return this.index.get(key);
	}
}

// Returns the row of each thread or process, and of what is below it.
function groupWholes(profile, by, rows) {
	const row = new Int32Array(profile.length).fill(-1), isOne = (i) => by === "thread" ? profile.isThread(i) : profile.isProcess(i);
	for (let i = 1; i < profile.count; i++)
		row[i] = isOne(i) ? rows.number(by + profile.call[i], [profile.describe(i).name, "", ""]) : row[profile.parent[i]];
	for (let i = 1; i < profile.count; i++)
		if (row[i] < 0)
			row[i] = rows.number("others", ["Other " + (by === "thread" ? "threads" : "processes"), "", ""]);
	return row;
}

// Returns the number of the row of each call, and the texts of the rows. A node of others has no row, but its sites have.
function groupNodes(profile, by) {
	const rows = new Rows();
	if (isWhole(by))
		return { rows: rows.list, row: groupWholes(profile, by, rows) };
	const ofCalls = new Map(), row = new Int32Array(profile.length).fill(-1);
	const rowOfCall = (call) => {
		if (!ofCalls.has(call))
			ofCalls.set(call, rows.number(GROUPS[by].key(calls[call]), GROUPS[by].label(calls[call])));
		return ofCalls.get(call);
	};
	for (let i = 1; i < profile.length; i++) {
		const call = profile.call[i];
		if (call >= 0)
			row[i] = rowOfCall(call);
		else if (i >= profile.count)
			row[i] = rows.number("rest", [plural(profile.facts.rest, "other site"), "", ""]);
	}
	return { rows: rows.list, row };
}

// Adds up @own by the rows of the sites.
function addUpSites(profile, { rows, row }, own, by) {
	const values = zeros(profile.big, rows.length), end = isWhole(by) ? profile.count : profile.length;
	for (let i = 1; i < end; i++) {
		const at = row[i < profile.count && !isWhole(by) ? profile.site[i] : i];
		if (own[i] && at >= 0)
			values[at] += own[i];
	}
	return values;
}

// Adds up @own by rows. If @inclusive, what a node holds counts for the rows of all calls of its stack, but once for each.
function addUp(profile, grouping, own, inclusive, by) {
	const { rows, row } = grouping, values = addUpSites(profile, grouping, own, by);
	if (!inclusive || isWhole(by))
		return values;
	const sums = profile.sumUp(own), open = new Int32Array(rows.length), path = [], all = zeros(profile.big, rows.length);
	for (let i = 1; i < profile.count; i++) {
		while (path.length && profile.depth[path[path.length - 1]] >= profile.depth[i])
			open[row[path.pop()]]--;
		if (row[i] < 0)
			continue;
		const isLeftOut = profile.kind(i) === STANDARD;
		if (!open[row[i]])
			all[row[i]] += !isLeftOut ? sums[i] : profile.site[i] === i ? own[i] : profile.zero();
		if (!isLeftOut) {
			open[row[i]]++;
			path.push(i);
		}
	}
	// Of a stack without a node of its own, only the calls that have nodes are known, and its site.
	return all.map((value, i) => absolute(value) < absolute(values[i]) ? values[i] : value);
}

function countColumns(ownOf) {
	return [
		{ name: "allocated", title: "Allocated", long: "Allocated", own: ownOf(1), print: bytes, exact: exactBytes },
		{ name: "calls", title: "Allocations", long: "Allocations", own: ownOf(0), print: grouped,
			exact: (value) => plural(value, "allocation") },
		{ name: "temporary", title: "Temporary", long: "Temporary", own: ownOf(2), print: grouped,
			exact: (value) => plural(value, "temporary block") },
	];
}

// Returns columns and rows of what each thread has allocated.
function totalsOf(profile) {
	const list = profile.facts.thread_totals, rows = [], columns = countColumns((count) => count);
	for (let i = 0; i < list.length; i += 5)
		rows.push({ key: "total" + i / 5, label: [nameOfThread(list[i], list[i + 1]), "", ""],
			values: columns.map((column) => profile.number_(list[i + 2 + column.own])) });
	return { columns, rows: rows.filter((row) => row.values.some((value) => value)) };
}

function columnsOf(profile) {
	const list = [];
	const add = (name, title, own, print = bytes, exact = exactBytes, long = title) =>
		list.push({ name, title, own, print, exact, long });
	if (state.curve === "rss")
		list.push(...sampleColumns(profile));
	if (state.at !== profile.end)
		add("live", state.at === profile.peak ? "Peak" : "Snapshot " + profile.detailed[state.at], () => profile.live(state.at));
	if (state.measure === "leaks" && profile.facts.recording && !profile.facts.pages)
		add("leaks", "Never freed", () => profile.leaked());
	else
		add("leaks", profile.facts.recording ? "End" : "Last tree", () => profile.live(profile.end));
	if (state.from !== null)
		add("growth", "Growth", () => difference(profile, ...range(profile)), (value) => change(value, bytes),
			(value) => change(value, exactBytes), "Growth in the range");
	return profile.counts ? list.concat(countColumns((count) => () => profile.counts[count])) : list;
}

// How many rows are shown, and whether those whose value is 0 are.
let tableRows = ROWS, showsEmpty = false;

function showMoreRows() {
	if ($("rows-more").dataset.what === "empty")
		showsEmpty = true;
	else
		tableRows *= 4;
	drawTable();
}

// Says how many rows are not shown, and offers them.
function offerRows(hidden, empty) {
	const more = $("rows-more");
	more.hidden = hidden <= 0 && !empty;
	more.dataset.what = hidden > 0 ? "more" : "empty";
	more.textContent = hidden > 0 ? "Show more" : "Show those with 0";
	return (hidden > 0 ? ", " + grouped(hidden) + " not shown" : "") + (empty ? ", " + grouped(empty) + " with 0 not shown" : "") + ".";
}

function absolute(value) {
	return value < 0 ? -value : value;
}

// The largest changes come first, whether memory came or went; of rows with the same, those that have more.
function compareRows(column, ascending, name) {
	return (a, b) => {
		const isSame = a.values[column] === b.values[column], at = isSame && name === "change" ? column + 1 : column;
		const [x, y] = [a.values[at], b.values[at]].map(name === "change" ? absolute : (value) => value);
		const order = x < y ? -1 : x > y ? 1 : b.label.join("\n") < a.label.join("\n") ? -1 : 1;
		return ascending ? order : -order;
	};
}

// What a row is: what is chosen, if the profile has it.
function tableBy(profile) {
	return has(GROUPS[state.by], profile) ? state.by : "function";
}

function withValues(rows, values) {
	return rows.map((row, i) => ({ ...row, values: values.map((list) => list[i]) })).filter((row) => row.values.some((value) => value));
}

function comparedRows(profile, by) {
	const columns = diffColumns(profile), groups = diffGroups(profile, by);
	return { columns, rows: withValues(groups.rows, groups.values(columns)) };
}

function rowsOf(profile, by) {
	const columns = columnsOf(profile), grouping = groupNodes(profile, by);
	return { columns, rows: withValues(grouping.rows, columns.map((column) =>
		addUp(profile, grouping, column.own(), state.inclusive, by))) };
}

// Returns the columns, and the sorted rows with their values.
function tableOf(profile) {
	const by = tableBy(profile), { columns, rows } = by === "thread" && hasOnlyTotals(profile) ? totalsOf(profile) :
		compared() ? comparedRows(profile, by) : rowsOf(profile, by);
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

// The graph shows what has the name of the row. Threads and processes have boxes only if the graph is of these.
function choose(row) {
	const isChosen = row.key === state.row;
	show({ row: isChosen ? "" : row.key, search: isChosen || isWhole(state.by) ? "" : row.label[0], zoom: null });
}

function rowOf(row, columns, sort, largest) {
	const [name, where, whole] = row.label;
	const find = element("button", { type: "button", class: "name", title: name,
		onclick: () => choose(row) }, shorten(name, 100));
	return element("tr", { "aria-current": row.key === state.row && "true" }, element("th", { scope: "row" }, find, where ? element("span", { class: "where", title: where + (whole && whole !== where ? ", " + whole : "") }, where) : null),
		...columns.map((column, i) => {
			const cell = element("td", { class: "number" + (i === sort ? " sorted" : ""), title: column.exact(row.values[i]),
				"data-value": row.values[i].toString() }, column.print(row.values[i]));
			if (i === sort && largest)
				cell.style.setProperty("--part", (100 * Math.abs(Number(row.values[i])) / largest).toFixed(1) + "%");
			return cell;
		}));
}

// Whether much of the peak is of functions that are called by their addresses, as those of stripped programs.
function lacksNames(profile) {
	const own = profile.live(profile.peak);
	let without = profile.zero();
	for (let i = 1; i < profile.count; i++)
		if (profile.call[i] >= 0 && isAddress(calls[profile.call[profile.site[i]]].name))
			without += own[i];
	return 4 * Number(without) > Number(profile.sum(own));
}

// What else the reader has to know about the rows.
function notes(profile, by) {
	const list = [];
	if (by === "thread" && hasOnlyTotals(profile))
		list.push("Record with --separate-threads=yes to see what threads hold.");
	if (state.inclusive && !isWhole(by) && profile.facts.hidden)
		list.push(plural(profile.facts.hidden, "stack") + " that the graph has no boxes for count only for some of their calls.");
	if (profile.facts.recording && (by === "function" || by === "site") && lacksNames(profile))
		list.push("Many functions have no names: massif-ctl symbolize adds those of files with debug information.");
	return list.map((note) => " " + note).join("");
}

function drawTable() {
	const profile = current();
	const { by, columns, rows, sort } = tableOf(profile), matching = rows.filter(matchesSearch);
	const found = showsEmpty ? matching : matching.filter((row) => row.values[sort]);
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
	fill("rows-text", matching.length === rows.length ? plural(rows.length, "row") :
		"The search finds " + matching.length + " of " + plural(rows.length, "row"),
		offerRows(found.length - tableRows, matching.length - found.length), notes(profile, by));
}

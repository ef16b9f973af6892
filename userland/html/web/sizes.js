// SPDX-License-Identifier: GPL-2.0
// How many blocks of which sizes were allocated since the start, and how long they lived: all, and beside them those of the
// row or box that is chosen.

const CLASSES = 48; // of the details of stacks; the last also has what is larger

function bar(part, whole) {
	const made = element("span", { class: "bar", "aria-hidden": "true" });
	made.hidden = !Number(part);
	made.style.setProperty("--part", Number(whole) ? (100 * Number(part) / Number(whole)).toFixed(2) + "%" : "0%");
	return made;
}

// Marks @roots and all that is below them.
function markBelow(profile, roots) {
	const marked = new Uint8Array(profile.length);
	for (const root of roots)
		marked[root] = 1;
	for (let i = 1; i < profile.count; i++)
		marked[i] |= marked[profile.parent[i]];
	return marked;
}

function markRow(profile, by, number, row) {
	const marked = new Uint8Array(profile.length), roots = [];
	for (let i = 1; i < profile.length; i++) {
		marked[i] = Number(row[i < profile.count && !isWhole(by) ? profile.site[i] : i] === number);
		if (i < profile.count && row[i] === number && profile.kind(i) !== STANDARD)
			roots.push(i);
	}
	return state.inclusive && !isWhole(by) && roots.length ? markBelow(profile, roots) : marked;
}

// Returns the name of what is chosen, and marks for its nodes and sites; null if nothing is.
function selection(profile) {
	if (state.row) {
		const by = tableBy(profile), { rows, row } = groupNodes(profile, by);
		const number = rows.findIndex((each) => (compared() ? keyInBoth(by, each) : each.key) === state.row);
		return number < 0 ? null : { name: rows[number].label[0], marked: markRow(profile, by, number, row) };
	}
	const box = zoomedBox();
	if (!box.parent || box.view.profile !== profile)
		return null;
	if (!box.tips)
		return { name: boxText(box).name, marked: markBelow(profile, box.nodes) };
	const marked = new Uint8Array(profile.length);
	for (const tip of box.tips)
		marked[tip] = 1;
	return { name: boxText(box).name, marked };
}

function classSums(profile, name, isChosen) {
	const sums = new Map();
	profile.addClasses(name, isChosen, sums);
	return sums;
}

// Rows from the first class with blocks to the last; of several without any, one with dots. Columns are lists by class.
function classRows(columns) {
	const used = (at) => columns[0].values[at];
	const rows = [], length = columns[0].values.length;
	let first = 0, last = length - 1;
	while (first < length && !used(first))
		first++;
	while (last > first && !used(last))
		last--;
	for (let at = first; at <= last && at < length; at++) {
		if (used(at) || (used(at - 1) && used(at + 1)))
			rows.push(at);
		else if (used(at - 1))
			rows.push(-1);
	}
	return rows;
}

// @rest: rows after the classes, as title and values.
function drawClasses(id, title, columns, rest) {
	const head = [element("th", { scope: "col", class: "number" }, title)];
	for (const column of columns)
		head.push(element("th", { scope: "col", class: "number", title: column.long || column.title }, column.title),
			element("td", { class: "bars" }), element("th", { scope: "col", class: "number" }, "Share"));
	const line = (text, cells) => element("tr", {}, element("th", { scope: "row", class: "number" }, text), ...cells.flat());
	const all = columns.map((column) => column.values.reduce((sum, value) => sum + value));
	const cellsOf = (column, value, sum) => [
		element("td", { class: "number", title: (column.exact || grouped)(value), "data-value": value.toString() }, column.print(value)),
		element("td", { class: "bars" }, bar(value, sum)), element("td", { class: "number" }, percent(value, sum))];
	const isLast = (at) => at === CLASSES - 1 && columns[0].values.length === CLASSES;
	fill(id, element("thead", {}, element("tr", {}, ...head)),
		element("tbody", {}, ...classRows(columns).map((at) => at < 0 ?
			line("…", [element("td", { colspan: 3 * columns.length })]) :
			line(isLast(at) ? "more" : bytes(2 ** at), columns.map((column, k) => cellsOf(column, column.values[at], all[k])))),
		...rest.map(([text, value]) => line(text, [
			element("td", { class: "number", "data-value": value.toString() }, grouped(value)),
			element("td", { colspan: 3 * columns.length - 1 })]))));
}

function listOf(profile, sums, length) {
	const list = new Array(length).fill(profile.zero());
	for (const [at, value] of sums)
		list[Math.min(at, length - 1)] += value;
	return list;
}

function blocksColumn(title, values, long) {
	return { title, values, long, print: grouped };
}

function chosenColumn(profile, name, chosen, length) {
	return blocksColumn("Of these", listOf(profile, classSums(profile, name, (i) => chosen.marked[i]), length), "Blocks of " + chosen.name);
}

function drawSizesOfAll(profile, chosen) {
	const list = profile.facts.sizes, length = list.length / 2;
	const part = (k) => Array.from({ length }, (_, at) => profile.number_(list[2 * at + k]));
	const columns = [blocksColumn("Blocks", part(0))];
	if (chosen)
		columns.push(chosenColumn(profile, "block_sizes", chosen, length));
	else
		columns.push({ title: "Allocated", values: part(1), print: bytes, exact: exactBytes });
	drawClasses("sizes-rows", "Size up to", columns, []);
}

function drawLifetimes(profile, chosen) {
	const columns = [blocksColumn("Blocks", listOf(profile, classSums(profile, "lifetimes", (i) => i < profile.count), CLASSES))];
	const rest = [];
	if (chosen)
		columns.push(chosenColumn(profile, "lifetimes", chosen, CLASSES));
	if (profile.counts)
		rest.push(["live at the end", profile.sum(profile.counts[3])]);
	if (Number(profile.facts.details_lost))
		rest.push(["not known", Number(profile.facts.details_lost)]);
	drawClasses("lifetimes-rows", "Lived up to", columns, rest);
}

function drawSizes() {
	const profile = current(), list = profile.facts.sizes, details = profile.facts.block_sizes;
	$("sizes").hidden = !list || !list.some((value) => Number(value));
	$("lifetimes").hidden = !details;
	if ($("sizes").hidden)
		return;
	const chosen = details ? selection(profile) : null;
	fill("sizes-of", details ? chosen ? "All blocks, and of these those of " : "Click a row of the table, or a box of the graph, to see " +
		"its blocks beside these." : "Record with --record-detail=full to see those of each row, and how long blocks lived.",
	chosen && element("strong", { class: "name", title: chosen.name }, shorten(chosen.name, 160)));
	$("sizes-all").hidden = !chosen;
	drawSizesOfAll(profile, chosen);
	if (details)
		drawLifetimes(profile, chosen);
}

// SPDX-License-Identifier: GPL-2.0
// How many blocks of which sizes were allocated since the start.

function bar(part, whole) {
	const made = element("span", { class: "bar", "aria-hidden": "true" });
	made.style.setProperty("--part", Number(whole) ? (100 * Number(part) / Number(whole)).toFixed(2) + "%" : "0%");
	return made;
}

function drawSizes() {
	const profile = current(), list = profile.facts.sizes;
	const rows = [];
	for (let i = 0; list && i < list.length; i += 2)
		rows.push({ top: 2 ** (i / 2), blocks: profile.number_(list[i]), bytes: profile.number_(list[i + 1]) });
	const first = rows.findIndex((row) => row.blocks), last = rows.length - 1 - rows.slice().reverse().findIndex((row) => row.blocks);
	$("sizes").hidden = first < 0;
	if (first < 0)
		return;
	const shown = rows.slice(first, last + 1), sum = (name) => shown.reduce((all, row) => all + row[name], profile.zero());
	const blocks = sum("blocks"), all = sum("bytes");
	fill("sizes-rows",
		element("thead", {}, element("tr", {}, ...["Size up to", "Blocks", "", "Share", "Allocated", "", "Share"].map((title) =>
			title ? element("th", { scope: "col", class: "number" }, title) : element("td", {})))),
		element("tbody", {}, ...shown.map((row) => element("tr", {},
			element("th", { scope: "row", class: "number" }, bytes(row.top)),
			element("td", { class: "number", "data-value": row.blocks.toString() }, grouped(row.blocks)),
			element("td", { class: "bars" }, bar(row.blocks, blocks)),
			element("td", { class: "number" }, percent(row.blocks, blocks)),
			element("td", { class: "number", title: exactBytes(row.bytes), "data-value": row.bytes.toString() }, bytes(row.bytes)),
			element("td", { class: "bars" }, bar(row.bytes, all)),
			element("td", { class: "number" }, percent(row.bytes, all))))));
}

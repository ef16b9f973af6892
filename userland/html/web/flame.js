// SPDX-License-Identifier: GPL-2.0
// The flame graph: the outermost calls at the top, or with callers of the allocating function that function.

const ROW = 21, LETTER = 6.7, BOXES_MAX = 4000, COLOURS = 7;

// The graph of deeper stacks scrolls in its place, so that what follows is found.
const ROWS_SEEN = 36;

// Libraries by what they hold and allocate, those with most in colours of their own.
function libraryColours(profile) {
	if (profile.colours)
		return profile.colours;
	const sums = new Map(), own = profile.live(profile.peak);
	for (let i = 1; i < profile.count; i++) {
		if (profile.call[i] < 0)
			continue;
		const library = calls[profile.call[i]].library;
		if (!library)
			continue;
		const value = Number(own[i]) + (profile.counts ? Number(profile.counts[1][i]) * 1e-6 : 0);
		sums.set(library, (sums.get(library) || 0) + value);
	}
	const sorted = [...sums].sort((a, b) => b[1] - a[1]).map((entry) => entry[0]);
	profile.colours = new Map(sorted.map((library, i) => [library, i < COLOURS ? i : COLOURS]));
	return profile.colours;
}

function boxText(box) {
	const { profile } = box.view;
	if (box.parent && box.nodes.every((node) => profile.call[node] === OTHERS)) {
		const n = box.nodes.reduce((sum, node) => sum + profile.others.get(node), 0);
		return { name: plural(n, "other place"), file: "", line: 0, library: "", object: "" };
	}
	return profile.describe(box.nodes[0]);
}

// The lines of a function at which the box's calls are.
function linesOf(box) {
	const { profile } = box.view, lines = new Set();
	for (const node of box.nodes)
		if (profile.call[node] >= 0 && calls[profile.call[node]].line)
			lines.add(calls[profile.call[node]].line);
	return [...lines].sort((a, b) => a - b);
}

function whereOf(box) {
	const text = boxText(box), lines = linesOf(box);
	const shown = lines.slice(0, 8).join(", ") + (lines.length > 8 ? ", …" : "");
	return [text.file ? text.file + (shown ? ":" + shown : "") : "", text.object].filter(Boolean).join(", ");
}

function valueText(box) {
	const now = measure();
	return now.print(box.value) + ", " + percent(box.value, now.total) + (now.print === bytes ? ", " + exactBytes(box.value) : "");
}

// What is drawn: the boxes above the one that fills the width, it, and what is below it and wide enough; how many are too narrow;
// and, if there are too many to draw all rows, how many boxes of the last row have others below them.
function layOut(zoomed, width) {
	const boxes = [];
	let narrow = 0;
	for (let at = zoomed; at; at = at.parent)
		boxes.unshift({ box: at, x: 0, width, above: at !== zoomed });
	let row = [boxes[boxes.length - 1]];
	const perUnit = width / (Number(zoomed.value) || 1);
	while (row.length && boxes.length < BOXES_MAX) {
		const below = [];
		for (const { box, x } of row) {
			let left = x;
			for (const child of box.children()) {
				const wide = Number(child.value) * perUnit;
				if (wide >= 1)
					below.push({ box: child, x: left, width: wide });
				else
					narrow++;
				left += wide;
			}
		}
		boxes.push(...below);
		row = below;
	}
	return { boxes, narrow, deeper: row.filter(({ box }) => box.children().length).length };
}

let focused = null;

function showDetail(box) {
	const text = boxText(box);
	const name = element("strong", { class: "name" }, text.name);
	fill("detail", name, element("span", { class: "where" }, whereOf(box)),
		element("span", { class: "value" }, valueText(box)));
}

function zoomTo(box) {
	focused = box.id().join();
	show({ zoom: box.parent ? box.id() : null });
	focusBox(focused);
}

function focusBox(id) {
	const found = $("flame").querySelector('[data-id="' + id + '"]');
	if (found)
		found.focus();
}

// Arrows go to what is above, below and beside.
function moveFocus(event, item) {
	const box = item.box, row = box.parent ? box.parent.children() : [box];
	const beside = row.indexOf(box);
	const to = { ArrowUp: box.parent, ArrowDown: box.children()[0], ArrowLeft: row[beside - 1], ArrowRight: row[beside + 1],
		Home: rootBox() }[event.key];
	if (event.key === "Enter" || event.key === " ")
		zoomTo(box);
	else if (event.key === "Escape" || event.key === "Backspace")
		zoomTo(zoomedBox().parent || rootBox());
	else if (to)
		focusBox(to.id().join());
	else
		return;
	event.preventDefault();
}

function paintBoxes(svg, boxes, found) {
	const colours = libraryColours(measure().profile);
	const chosen = focused && boxes.some(({ box }) => box.id().join() === focused) ? focused : boxes[0].box.id().join();
	const groups = svg.selectAll("g").data(boxes).join("g")
		.attr("transform", (d) => "translate(" + d.x.toFixed(2) + "," + d.box.depth * ROW + ")")
		.attr("class", (d) => {
			const text = boxText(d.box), profile = d.box.view.profile;
			const matches = found && d.box.nodes.some((node) => profile.call[node] >= 0 && found[profile.call[node]]);
			const colour = text.library ? "c" + colours.get(text.library) : d.box.parent ? "none" : "all";
			return "box " + colour + (d.above ? " above" : "") + (found ? matches ? " found" : " other" : "");
		})
		.attr("role", "treeitem")
		.attr("aria-level", (d) => d.box.depth + 1)
		.attr("aria-label", (d) => cut(boxText(d.box).name, 200) + ", " + valueText(d.box))
		.attr("data-id", (d) => d.box.id().join())
		.attr("data-value", (d) => d.box.value.toString())
		.attr("tabindex", (d) => d.box.id().join() === chosen ? 0 : -1);
	groups.append("rect").attr("width", (d) => Math.max(d.width - 0.6, 0.6).toFixed(2)).attr("height", ROW - 1).attr("rx", 2);
	groups.filter((d) => d.width > 28).append("text").attr("x", 5).attr("y", ROW / 2 + 3.5)
		.text((d) => shorten(boxText(d.box).name, Math.floor((d.width - 9) / LETTER)));
	groups.on("click", (d) => zoomTo(d.box))
		.on("mousemove", (d) => showTip(boxText(d.box).name, whereOf(d.box), valueText(d.box)))
		.on("mouseleave", hideTip)
		.on("focus", (d) => {
			focused = d.box.id().join();
			showDetail(d.box);
		})
		.on("keydown", (d) => moveFocus(d3.event, d));
}

function heightOf({ boxes }) {
	return (1 + Math.max(...boxes.map(({ box }) => box.depth))) * ROW;
}

function drawFlame() {
	const found = searched(), now = measure(), scrolled = $("flame").scrollTop;
	$("flame").replaceChildren();
	$("flame").classList.remove("deep");
	$("zoom-out").hidden = !state.zoom;
	if (!Number(now.total)) {
		fill("flame", element("p", { class: "empty" }, "Nothing to show: no stack has any " +
			(now.name === "growth" ? "growth in this range." : "of this.")));
		fill("detail");
		return;
	}
	if (!window.d3) {
		fill("flame", element("p", { class: "empty" }, NO_CHARTS));
		return;
	}
	let drawing = layOut(zoomedBox(), $("flame").clientWidth);
	if (heightOf(drawing) > ROWS_SEEN * ROW) {
		// With a bar to scroll, there is less room.
		$("flame").classList.add("deep");
		drawing = layOut(zoomedBox(), $("flame").clientWidth);
	}
	const { boxes, narrow, deeper } = drawing, width = $("flame").clientWidth, height = heightOf(drawing);
	const svg = d3.select("#flame").append("svg").attr("width", width).attr("height", height)
		.attr("role", "tree").attr("aria-label", MEASURES[now.name].title(now.profile));
	paintBoxes(svg, boxes, found);
	$("flame").scrollTop = scrolled;
	const hints = [narrow ? plural(narrow, "box", "boxes") + " narrower than a pixel " + (narrow == 1 ? "is" : "are") +
		" not drawn: zoom in to see them." : "",
	deeper ? "Below " + plural(deeper, "box", "boxes") + " of the last row there are more: zoom in to see them." : ""];
	fill("detail", element("span", { class: "hint" }, hints.filter(Boolean).join(" ") ||
		"Click a box to zoom; point at it for its exact size."));
	const zoomed = zoomedBox();
	if (zoomed.parent)
		showDetail(zoomed);
}

function drawLibraries() {
	const colours = libraryColours(measure().profile);
	const chips = [...colours].filter(([, colour]) => colour < COLOURS).map(([library, colour]) =>
		element("li", {}, element("button", { type: "button", class: "chip c" + colour,
			title: "Search for " + library, onclick: () => show({ search: library }) },
		element("i", { "aria-hidden": "true" }), library)));
	const rest = [...colours].filter(([, colour]) => colour === COLOURS).length;
	fill("libraries", ...chips, rest ? element("li", { class: "chip c" + COLOURS },
		element("i", { "aria-hidden": "true" }), rest === 1 ? "1 other library" : rest + " other libraries") : null);
}

function drawGraph() {
	const now = measure(), found = searched(), profile = current();
	fill("measures", ...Object.entries(MEASURES).filter(([, each]) => has(each, profile)).map(([name, each]) =>
		element("button", { type: "button", role: "radio", "aria-checked": String(name === state.measure), id: "show-" + name,
			onclick: () => show({ measure: name, zoom: null }) }, each.title(profile))));
	fill("graph-total", element("strong", { title: now.exact(now.total) }, now.print(now.total)), " " + now.says(now.profile));
	$("inverted").checked = state.inverted;
	$("threads").checked = state.threads;
	$("threads-choice").hidden = !profile.facts.threads;
	if ($("search").value !== state.search)
		$("search").value = state.search;
	$("search-result").textContent = found ? now.print(foundValue(found)) + ", " + percent(foundValue(found), now.total) +
		", in stacks with a match" : "";
	drawFlame();
	drawLibraries();
}

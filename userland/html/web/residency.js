// SPDX-License-Identifier: GPL-2.0
// The resident set: bands of its samples over time, what its pages hold at the chosen sample, and which code keeps pages.

// What the bands are called where there is little room, and what can be done about those that can be large. The names are
// those of the colours, too. A band that this page does not know has the words of the data.
const BANDS = {
	live: { says: "Requested bytes of live blocks: the flame graph shows whose they are." },
	overhead: { says: "Headers and rounding of live blocks: fewer and larger blocks have less of it." },
	"free-parts": { says: "Freed memory that the allocator cannot give back, because live blocks lie in the same pages. The sites that keep it are below: " +
		"allocate what lives long apart from what does not." },
	"free-pages": { says: "Pages in which no block is live: the allocator could give them back. With glibc, malloc_trim(0) does, and MALLOC_ARENA_MAX=2 " +
		"limits how many threads have heaps of their own." },
	anonymous: { says: "Memory that the program has mapped itself, or a language with an allocator of its own: massif-ctl --pages=resident names the code." },
	stacks: { says: "Stacks of threads." },
	files: { says: "Code and data of the program and its libraries, and files that it has mapped." },
	shared: { says: "Memory that other processes can have, too." },
	massif: { says: "What profiling needs: it is not there otherwise." },
	other: { says: "[vdso] and the like." },
};

const FILLINGS = ["No live block", "Less than 10 % used", "10 to 25 %", "25 to 50 %", "50 % or more"];
const SENTENCES = 3, HINTS = 3, TOUCHES = 10;

// A number of each node and site, from pairs as data.h says.
function readValues(profile, pairs) {
	const values = zeros(profile.big, profile.length);
	for (let i = 0, node = -1; i < pairs.length; i += 2) {
		node += pairs[i];
		values[node] = profile.number_(pairs[i + 1]);
	}
	return values;
}

// The sites that touched pages first, from triples as data.h says; null if that was not recorded.
function readTouched(profile, triples) {
	const rows = [];
	for (let i = 0; triples && i < triples.length; i += 3)
		rows.push({ part: triples[i], call: triples[i + 1] < 0 ? null : calls[triples[i + 1]], bytes: profile.number_(triples[i + 2]) });
	return triples ? rows : null;
}

function rssOf(bands) {
	return bands.reduce((sum, value) => sum + value);
}

// A number of each node at a moment: of the moments until it, each says what has changed since the one before.
function readChanges(profile, lists, last) {
	const values = zeros(profile.big, profile.length);
	for (let k = 0; k <= last; k++)
		for (let i = 0, node = -1; i < lists[k].length; i += 2) {
			node += lists[k][i];
			values[node] = profile.number_(lists[k][i + 1]);
		}
	return values;
}

// The values of a sample by their names, each made when it is first wanted.
function lazyValues(make) {
	const values = {};
	for (const name of ["live", "untouched", "pinned"]) {
		let made = null;
		Object.defineProperty(values, name, { get: () => made ??= make(name + "_sites") });
	}
	return values;
}

// Makes the samples of a profile ready; null if it has none. The details are the samples of which more is known: the largest, the
// last if that is another one (its number is last), and then others. The numbers in order are in the order of time.
function residencyOf(profile) {
	const list = profile.facts.residency;
	if (!list || !list.time.length)
		return null;
	if (profile.residency)
		return profile.residency;
	const number = (value) => profile.number_(value);
	const bands = list.bands.map(({ key, words: text }) => ({ key: Object.hasOwn(BANDS, key) ? key : "other", words: text[0].toUpperCase() + text.slice(1) }));
	const samples = list.time.map((time, i) => {
		const parts = list.bands.map((band) => number(band.bytes[i]));
		return { time, parts, total: rssOf(parts) };
	});
	const detailOf = (detail, make) => ({ ...detail, parts: detail.bands.map(number), total: rssOf(detail.bands.map(number)),
		fillings: detail.fillings.map(number), touched: readTouched(profile, detail.touched), values: lazyValues(make) });
	const details = list.details.filter((detail, i) => !i || detail.time !== list.details[0].time)
		.map((detail) => detailOf(detail, (name) => readValues(profile, detail[name])));
	const last = details.length - 1;
	details.push(...list.moments.samples.map((detail, k) => detailOf(detail, (name) => readChanges(profile, list.moments[name], k))));
	const order = details.map((detail, i) => i).sort((a, b) => details[a].time - details[b].time);
	profile.residency = { bands, samples, details, last, order, hidden: list.moments.hidden, peakRss: number(list.peak_rss) };
	return profile.residency;
}

// Of the older process of a comparison, the sample that is largest or last as the chosen one is, or else the one that is nearest in time.
function chosenSample(profile) {
	const { details, last } = residencyOf(profile), newer = profile.side ? residencyOf(current()) : null;
	if (!newer)
		return details[Math.min(state.sample, details.length - 1)];
	const at = Math.min(state.sample, newer.details.length - 1);
	return at === 0 ? details[0] : at === newer.last ? details[last] :
		details[nearest(details.map((detail) => detail.time), newer.details[at].time)];
}

// The sample of the older process that is compared with the chosen one.
function olderSample(old) {
	return residencyOf(old) ? chosenSample(old) : null;
}

function sampleTitle(profile, sample) {
	const { details, last } = residencyOf(profile), at = details.indexOf(sample), when = time(sample.time, { unit: "ms" });
	return at === 0 ? "the largest sample, " + when : at === last ? "the last sample, " + when : "the sample at " + when;
}

function ofSample(name) {
	return (p) => chosenSample(p).values[name];
}

function hasValues(name) {
	return (p) => residencyOf(p) && (residencyOf(p).details.slice(0, residencyOf(p).last + 1).some((detail) =>
		detail.values[name].some((value) => value)) || p.facts.residency.moments[name + "_sites"].some((changes) => changes.length));
}

MEASURES.pinned = {
	title: () => "Keeps free memory",
	has: hasValues("pinned"), own: ofSample("pinned"),
	says: (p) => "free in pages that live blocks keep, by the code that allocated the blocks, in " + sampleTitle(p, chosenSample(p)),
	print: bytes, exact: exactBytes,
};

MEASURES.untouched = {
	title: () => "Never touched",
	has: hasValues("untouched"), own: ofSample("untouched"),
	says: (p) => "of live blocks on pages that were never touched, in " + sampleTitle(p, chosenSample(p)),
	print: bytes, exact: exactBytes,
};

function isOfSamples(name) {
	return name === "pinned" || name === "untouched";
}

// Columns of the table, while the resident set is shown.
function sampleColumns(profile) {
	const column = (name, title, long) => ({ name, title, long, own: () => chosenSample(profile).values[name === "resident" ? "live" : name],
		print: bytes, exact: exactBytes });
	return [column("pinned", "Keeps free", "Free memory in the pages of its live blocks"),
		column("resident", "Live", "Live blocks in the sample"),
		...(MEASURES.untouched.has(profile) ? [column("untouched", "Untouched", "Of these, on pages never touched")] : [])];
}

// The bands that ever have any bytes, from the bottom.
function usedBands({ bands, samples }) {
	return bands.map((band, part) => ({ ...band, part })).filter(({ part }) => samples.some((sample) => sample.parts[part]));
}

function bandsText(residency, sample) {
	return usedBands(residency).filter(({ part }) => sample.parts[part])
		.map(({ words: text, part }) => text.replace(",", "") + " " + bytes(sample.parts[part])).join(", ");
}

function drawSampleAxes(svg, frame, x, y) {
	svg.append("g").attr("class", "axis grid").attr("transform", "translate(" + frame.left + ",0)")
		.call(d3.axisLeft(y).tickValues(byteTicks(y.domain()[1], 4)).tickFormat(tickLabel).tickSize(-(frame.right - frame.left)).tickPadding(9));
	svg.append("g").attr("class", "axis").attr("transform", "translate(0," + frame.bottom + ")")
		.call(d3.axisBottom(x).tickValues(timeTicks(...x.domain(), "ms", frame.right < 500 ? 3 : 7))
			.tickFormat((value) => timeLabel(value, { unit: "ms" })).tickSize(4));
}

function drawBands(svg, residency, x, y) {
	const used = usedBands(residency);
	const rows = residency.samples.map((sample) => {
		const row = { time: sample.time };
		for (const { part } of used)
			row[part] = Number(sample.parts[part]);
		return row;
	});
	const area = d3.area().x((d) => x(d.data.time)).y0((d) => y(d[0])).y1((d) => y(d[1]));
	svg.selectAll("path.band").data(d3.stack().keys(used.map(({ part }) => part))(rows)).join("path")
		.attr("class", (d, i) => "band " + used[i].key).attr("data-last", (d, i) => residency.samples[rows.length - 1].parts[used[i].part].toString())
		.attr("d", area);
	svg.append("path").datum(residency.samples).attr("class", "total")
		.attr("d", d3.line().x((d) => x(d.time)).y((d) => y(Number(d.total))));
}

// The samples of which more is known, and a place to point at for the others.
function drawSampleMarks(svg, residency, frame, x, y) {
	const times = residency.samples.map((sample) => sample.time), ofDetails = residency.details.map((detail) => detail.time);
	const xOf = (event) => x.invert(d3.mouse(event)[0]);
	svg.append("rect").attr("class", "pointed").attr("x", frame.left).attr("y", frame.top)
		.attr("width", frame.right - frame.left).attr("height", frame.bottom - frame.top)
		.on("mousemove", function () {
			const sample = residency.samples[nearest(times, xOf(this))];
			showTip(time(sample.time, { unit: "ms" }) + ": " + bytes(sample.total), bandsText(residency, sample), exactBytes(sample.total));
		})
		.on("mouseleave", hideTip)
		.on("click", function () {
			show({ sample: nearest(ofDetails, xOf(this)) });
		});
	svg.selectAll("circle").data(residency.details).join("circle")
		.attr("class", (d, i) => "mark" + (d === chosenSample(current()) ? " chosen" : "") + (i ? "" : " peak") +
			(i > residency.last ? " moment" : ""))
		.attr("cx", (d) => x(d.time)).attr("cy", (d) => y(Number(d.total))).attr("r", (d, i) => d === chosenSample(current()) ? 6 : i > residency.last ? 3 : 4)
		.attr("data-sample", (d, i) => i).attr("data-time", (d) => d.time).attr("data-total", (d) => d.total.toString())
		.on("click", (d, i) => show({ sample: i }))
		.on("mousemove", (d) => showTip("Show " + sampleTitle(current(), d), bandsText(residency, d), exactBytes(d.total)))
		.on("mouseleave", hideTip);
	svg.select("circle.chosen").raise();
	const peak = residency.details[0], right = x(peak.time) > x.range()[1] - 160;
	svg.append("text").attr("class", "peak-label").attr("x", x(peak.time) + (right ? -9 : 9)).attr("y", y(Number(peak.total)) - 6)
		.attr("text-anchor", right ? "end" : "start").text("Largest " + bytes(peak.total));
}

function drawResidentTimeline(profile) {
	const residency = residencyOf(profile), width = $("timeline-chart").clientWidth, height = width < 500 ? 200 : 260;
	fill("timeline-legend", ...usedBands(residency).map(({ key, words: text }) =>
		element("li", { class: "band " + key }, element("i", { "aria-hidden": "true" }), text)));
	if (!window.d3) {
		fill("timeline-chart", element("p", { class: "empty" }, NO_CHARTS));
		return;
	}
	fill("timeline-chart");
	const frame = { left: 66, right: width - 14, top: 18, bottom: height - 24 };
	const first = residency.samples[0].time, last = residency.samples[residency.samples.length - 1].time;
	const x = d3.scaleLinear().domain([first, last > first ? last : first + 1]).range([frame.left, frame.right]);
	// A recording need not have the largest sample, of which it has the details, among its samples.
	const most = Math.max(1, ...residency.samples.concat(residency.details).map((sample) => Number(sample.total)));
	const y = d3.scaleLinear().domain([0, most]).range([frame.bottom, frame.top]);
	const svg = d3.select("#timeline-chart").append("svg").attr("width", width).attr("height", height)
		.attr("role", "img").attr("aria-label", "Resident set over time: the largest sample is " + bytes(residency.details[0].total) +
			"; the table below has what it consists of");
	drawSampleAxes(svg, frame, x, y);
	drawBands(svg, residency, x, y);
	drawSampleMarks(svg, residency, frame, x, y);
}

function drawSampleChoice(profile) {
	const { details, last, order } = residencyOf(profile), at = details.indexOf(chosenSample(profile));
	$("range").hidden = true;
	$("at").hidden = $("at-text").hidden = false;
	$("at").max = order.length - 1;
	$("at").value = order.indexOf(at);
	$("at").setAttribute("aria-valuetext", sampleTitle(profile, details[at]));
	$("at-text").textContent = "Sample at " + time(details[at].time, { unit: "ms" }) + " of " +
		plural(residencyOf(profile).samples.length, "sample");
	$("at-peak").setAttribute("aria-pressed", String(at === 0));
	$("at-end").setAttribute("aria-pressed", String(at === last));
	$("at-peak").textContent = "Largest";
	$("at-end").textContent = "Last";
}

// The sites that keep most, those whose own blocks are small beside it first in their words.
function pinningSites(profile, sample) {
	const grouping = groupNodes(profile, "site");
	const kept = addUpSites(profile, grouping, sample.values.pinned, "site"), live = addUpSites(profile, grouping, sample.values.live, "site");
	return grouping.rows.map((row, i) => ({ name: row.label[0], where: row.label[1], kept: kept[i], live: live[i] }))
		.filter((site) => Number(site.kept) * 100 >= Number(sample.total)).sort((a, b) => a.kept < b.kept ? 1 : -1).slice(0, SENTENCES);
}

function siteSentence(site) {
	return element("li", { "data-kept": site.kept.toString(), "data-live": site.live.toString() },
		element("button", { type: "button", class: "name", title: site.name, onclick: () =>
			show({ measure: "pinned", search: site.name, zoom: null }) }, shorten(site.name, 100)),
		element("span", { class: "where" }, site.where), " holds ", element("strong", {}, bytes(site.live)), " live, among ",
		element("strong", {}, bytes(site.kept)), " in the same pages that are otherwise free.");
}

// What could be done about the largest bands, the chip of each before it.
function hintsOf(profile, sample) {
	return residencyOf(profile).bands.map((band, part) => ({ ...band, value: sample.parts[part] }))
		.filter(({ key, value }) => Number(value) * 10 >= Number(sample.total) && key !== "other")
		.sort((a, b) => a.value < b.value ? 1 : -1).slice(0, HINTS)
		.map(({ key, words: text }) => element("li", { class: "band " + key }, element("i", { "aria-hidden": "true" }),
			element("strong", {}, text + ": "), BANDS[key].says));
}

function besideRows(profile, sample) {
	const number = (name) => profile.number_(sample[name]), pss = number("pss");
	return [["Mapped in all", number("mapped")], ["Swapped out", number("swapped")], ["Live blocks, never touched", number("untouched")],
		["In huge pages", number("huge")], ["Shared with other processes (less Pss)", sample.total > pss ? sample.total - pss : profile.zero()]]
		.filter(([, value], i) => !i || value);
}

// Rows of a table of the section; @old: the values of the older process, or null.
function partRow(profile, head, value, whole, old) {
	const cells = [element("td", { class: "number", title: exactBytes(value), "data-value": value.toString() }, bytes(value)),
		element("td", { class: "bars" }, whole === null ? null : bar(value, whole)),
		element("td", { class: "number" }, whole === null ? "" : percent(value, whole))];
	if (compared())
		cells.push(element("td", { class: "number" }, old === null ? "" : change(profile.number_(value) - profile.number_(old), bytes)));
	return element("tr", {}, head, ...cells);
}

function partHead(first) {
	return element("thead", {}, element("tr", {}, element("th", { scope: "col" }, first), element("th", { scope: "col", class: "number" }, "Bytes"),
		element("td", { class: "bars" }), element("th", { scope: "col", class: "number" }, "Share"),
		compared() ? element("th", { scope: "col", class: "number" }, "Change") : null));
}

function drawParts(profile, sample) {
	const old = older(profile), before = old && olderSample(old), { bands } = residencyOf(profile);
	const head = (key, text) => element("th", { scope: "row", class: key ? "band " + key : "" }, key ? element("i", { "aria-hidden": "true" }) : null, text);
	const all = sample.fillings.reduce((sum, value) => sum + value);
	fill("residency-bands", partHead("Part"), element("tbody", {},
		...bands.map((band, part) => [band, part]).filter(([, part]) => sample.parts[part] || (before && before.parts[part])).map(([{ key, words: text }, part]) =>
			partRow(profile, head(key, text), sample.parts[part], sample.total, before && before.parts[part])),
		partRow(profile, head("", "Resident set"), sample.total, sample.total, before && before.total)),
	element("tbody", { class: "beside" }, ...besideRows(profile, sample).map(([text, value]) => partRow(profile, head("", text), value, null, null))));
	$("fillings").hidden = !all;
	fill("residency-fillings", partHead("Used by live blocks"), element("tbody", {}, ...sample.fillings.map((value, i) =>
		partRow(profile, head("", FILLINGS[i]), value, all, before && before.fillings[i]))));
}

// What the same code has touched first in the older process; lines differ from build to build.
function touchedBefore(row, old, before) {
	return before.touched.filter((each) => each.part === row.part && (each.call && each.call.place) === (row.call && row.call.place))
		.reduce((sum, each) => sum + each.bytes, old.zero());
}

// A site has a row for each part of the resident set that is worth it, with the colour of the part.
function touchedHead({ part, call }, bands) {
	const [name, where] = call ? GROUPS.site.label(call) : ["Other code", ""], { key, words: text } = bands[part];
	return element("th", { scope: "row", class: "band " + key, title: name }, element("i", { "aria-hidden": "true" }),
		element("span", { class: "name" }, shorten(name, 100)), element("span", { class: "where" }, where + (where ? ", " : "") +
			(key === "live" ? "memory of the allocator" : text.toLowerCase())));
}

function drawTouched(profile, sample) {
	const old = older(profile), before = old && olderSample(old), { bands } = residencyOf(profile);
	const rows = (sample.touched || []).filter((row) => Number(row.bytes) * 100 >= Number(sample.total))
		.sort((a, b) => a.bytes < b.bytes ? 1 : -1).slice(0, TOUCHES);
	$("touched").hidden = !rows.length;
	fill("residency-touched", partHead("Site, and the part of the resident set"), element("tbody", {}, ...rows.map((row) =>
		partRow(profile, touchedHead(row, bands), row.bytes, sample.total, before && before.touched && touchedBefore(row, old, before)))));
}

function drawResidency() {
	const profile = current(), residency = residencyOf(profile);
	$("curves").hidden = !residency;
	for (const name of ["heap", "rss"])
		$("curve-" + name).setAttribute("aria-checked", String(state.curve === name));
	$("residency").hidden = !residency || state.curve !== "rss";
	if ($("residency").hidden)
		return;
	const sample = chosenSample(profile), sites = pinningSites(profile, sample), hints = hintsOf(profile, sample);
	fill("residency-total", element("strong", { title: exactBytes(sample.total), "data-value": sample.total.toString() }, bytes(sample.total)),
		" resident in " + sampleTitle(profile, sample) + (sample === residency.details[0] && residency.peakRss ?
			"; the kernel's peak (VmHWM) is " + bytes(residency.peakRss) : ""), residency.hidden ? element("span", { id: "samples-hidden" },
		"; " + plural(residency.hidden, "sample") + " left out here, because the page would be too large: massif-ctl show --rss --at=TIME") : null);
	fill("residency-sites", ...sites.map(siteSentence));
	$("residency-sites").hidden = !sites.length;
	drawParts(profile, sample);
	drawTouched(profile, sample);
	fill("residency-hints", ...hints);
	$("residency-hints-title").hidden = !hints.length;
}

// Of processes that are shown together, those that have samples, the largest resident set first.
function residentProcesses(profile) {
	const largest = (each) => residencyOf(each).details[0].total;
	return (profile.together || []).filter((each) => residencyOf(each)).sort((a, b) => largest(a) < largest(b) ? 1 : -1);
}

function residentRow(profile, most) {
	const { details, last } = residencyOf(profile), { facts } = profile, largest = details[0];
	const number = (value) => element("td", { class: "number", title: exactBytes(value), "data-value": value.toString() }, bytes(value));
	return element("tr", {}, element("th", { scope: "row" }, element("button", { type: "button", class: "name", title: visible(facts.cmd || ""),
		onclick: () => show({ process: profile.number, sample: 0, zoom: null }) }, processName(facts))),
	element("td", { class: "number" }, facts.pid ? String(facts.pid) : ""), element("td", { class: "number" }, facts.parent ? String(facts.parent) : ""),
	number(largest.total), element("td", { class: "bars" }, bar(largest.total, most)), number(profile.number_(largest.pss)),
	number(details[last].total));
}

// The resident sets of processes that are shown together: their sum would say nothing.
function drawResidentSets() {
	const profile = current(), list = residentProcesses(profile);
	$("resident-sets").hidden = !list.length;
	if (!list.length)
		return;
	const head = (text, name) => element("th", { scope: "col", class: name || "number" }, text);
	const most = residencyOf(list[0]).details[0].total, rest = profile.together.length - list.length;
	fill("resident-sets-rows", element("thead", {}, element("tr", {}, head("Process", "name"), head("pid"), head("Parent"), head("Largest"),
		element("td", { class: "bars" }), head("Its Pss"), head("Last"))), element("tbody", {}, ...list.map((each) => residentRow(each, most))));
	$("resident-sets-rest").textContent = rest ? "Of " + grouped(rest) + " more there is no sample." : "";
}

// SPDX-License-Identifier: GPL-2.0
// The memory over time: the parts of all snapshots, the moment and the range that are chosen.

const NO_CHARTS = "This report was made by a massif-ctl that was built without d3, so it has no charts. " +
	"Figures and tables are complete.";
// The series that the curve is made of: the first, and those that ever have any bytes.
function usedSeries(profile) {
	return SERIES.map((series, part) => ({ ...series, part })).filter(({ part }) =>
		part === 0 || profile.snapshots.some((snapshot) => snapshot.parts[part]));
}

// Ticks at round numbers of the unit that fits.
function byteTicks(most, n) {
	let unit = 1;
	while (most / unit >= 1000)
		unit *= 1024;
	return d3.ticks(0, most / unit, n).map((tick) => tick * unit);
}

function tickLabel(value) {
	return value ? bytes(value).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ") : "0";
}

function timeTicks(first, last, unit, n) {
	let step = 1;
	const base = unit === "ms" ? 1 : 1024;
	while (base > 1 && (last - first) / step >= 1000)
		step *= base;
	return d3.ticks(first / step, last / step, n).map((tick) => tick * step);
}

function shortTime(value, facts) {
	return time(value, facts).replace(/ instructions| (allocated|mapped) and [a-z]+/, "");
}

function timeLabel(value, facts) {
	return value ? (shortTime(value, facts) + " ").replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ").trim() : "0";
}

function nearest(list, x) {
	let best = 0;
	list.forEach((at, i) => {
		if (Math.abs(at - x) < Math.abs(list[best] - x))
			best = i;
	});
	return best;
}

function snapshotText(profile, snapshot) {
	return usedSeries(profile).map(({ title, part }) => title(profile.facts).split(":")[0] + " " + bytes(snapshot.parts[part])).join(", ");
}

function setRange(from, to) {
	if (from === to)
		return;
	show({ from: Math.min(from, to), to: Math.max(from, to), measure: "growth", zoom: null });
}

function drawAxes(svg, frame, x, y) {
	const { facts } = current();
	svg.append("g").attr("class", "axis grid").attr("transform", "translate(" + frame.left + ",0)")
		.call(d3.axisLeft(y).tickValues(byteTicks(y.domain()[1], 4)).tickFormat(tickLabel).tickSize(-(frame.right - frame.left)).tickPadding(9));
	svg.append("g").attr("class", "axis").attr("transform", "translate(0," + frame.bottom + ")")
		.call(d3.axisBottom(x).tickValues(timeTicks(...x.domain(), facts.unit, frame.right < 500 ? 3 : 7))
			.tickFormat((value) => timeLabel(value, facts)).tickSize(4));
}

function drawAreas(svg, profile, x, y) {
	const used = usedSeries(profile);
	const rows = profile.snapshots.map((snapshot) => {
		const row = { time: snapshot.time };
		for (const { name, part } of used)
			row[name] = Number(snapshot.parts[part]);
		return row;
	});
	const area = d3.area().x((d) => x(d.data.time)).y0((d) => y(d[0])).y1((d) => y(d[1]));
	svg.selectAll("path.area").data(d3.stack().keys(used.map(({ name }) => name))(rows)).join("path")
		.attr("class", (d) => "area " + d.key).attr("d", area);
	svg.append("path").datum(profile.snapshots).attr("class", "total")
		.attr("d", d3.line().x((d) => x(d.time)).y((d) => y(Number(d.total))));
}

function drawMarks(svg, profile, x, y) {
	svg.selectAll("circle").data(profile.detailed).join("circle")
		.attr("class", (d, i) => "mark" + (i === profile.peak ? " peak" : "") + (i === state.at ? " chosen" : ""))
		.attr("cx", (d) => x(profile.snapshots[d].time)).attr("cy", (d) => y(Number(profile.snapshots[d].total)))
		.attr("r", (d, i) => i === state.at ? 6 : 4)
		.attr("data-at", (d, i) => i).attr("data-snapshot", (d) => d)
		.attr("data-total", (d) => profile.snapshots[d].total.toString())
		.on("click", (d, i) => show({ at: i }))
		.on("mousemove", (d, i) => showTip("Show " + profile.momentTitle(i), snapshotText(profile, profile.snapshots[d]),
			exactBytes(profile.snapshots[d].total)))
		.on("mouseleave", hideTip);
	svg.select("circle.chosen").raise();
	const peak = profile.snapshots[profile.detailed[profile.peak]];
	const right = x(peak.time) > x.range()[1] - 130;
	svg.append("text").attr("class", "peak-label").attr("x", x(peak.time) + (right ? -9 : 9)).attr("y", y(Number(peak.total)) - 6)
		.attr("text-anchor", right ? "end" : "start").text("Peak " + bytes(peak.total));
}

// Dragging chooses a range between detailed snapshots, a click the nearest one.
function drawBrush(svg, profile, frame, x) {
	const times = profile.detailed.map((i) => profile.snapshots[i].time);
	const brush = d3.brushX().extent([[frame.left, frame.top], [frame.right, frame.bottom]]);
	const layer = svg.append("g").attr("class", "brush").call(brush);
	if (state.from !== null)
		layer.call(brush.move, [x(times[state.from]), x(times[state.to])]);
	brush.on("end", () => {
		if (!d3.event.sourceEvent)
			return;
		if (!d3.event.selection)
			show({ at: nearest(times, x.invert(d3.mouse(layer.node())[0])), from: null, to: null });
		else
			setRange(...d3.event.selection.map((at) => nearest(times, x.invert(at))));
	});
	layer.select(".overlay").on("mousemove.tip", () => {
		const snapshot = profile.snapshots[nearest(profile.snapshots.map((each) => each.time), x.invert(d3.mouse(layer.node())[0]))];
		showTip(time(snapshot.time, profile.facts) + ": " + bytes(snapshot.total), snapshotText(profile, snapshot),
			"snapshot " + snapshot.number + ", " + exactBytes(snapshot.total));
	}).on("mouseleave.tip", hideTip);
}

function drawTimeline() {
	const profile = current(), width = $("timeline-chart").clientWidth, height = width < 500 ? 180 : 230;
	if (state.curve === "rss") {
		drawSampleChoice(profile);
		drawResidentTimeline(profile);
		return;
	}
	fill("timeline-legend", ...usedSeries(profile).map(({ name, title }) =>
		element("li", { class: "part " + name }, element("i", { "aria-hidden": "true" }), title(profile.facts))));
	drawMoments(profile);
	if (profile.together) {
		fill("timeline-chart", element("p", { class: "empty" }, "Each process has a time of its own: choose one of them above."));
		return;
	}
	if (!window.d3) {
		fill("timeline-chart", element("p", { class: "empty" }, NO_CHARTS));
		return;
	}
	fill("timeline-chart");
	const frame = { left: 66, right: width - 14, top: 18, bottom: height - 24 };
	const times = profile.snapshots.map((snapshot) => snapshot.time);
	const first = Math.min(...times), last = Math.max(...times);
	const x = d3.scaleLinear().domain([first, last > first ? last : first + 1]).range([frame.left, frame.right]);
	const most = Math.max(1, ...profile.snapshots.map((snapshot) => Number(snapshot.total)));
	const y = d3.scaleLinear().domain([0, most]).range([frame.bottom, frame.top]);
	const svg = d3.select("#timeline-chart").append("svg").attr("width", width).attr("height", height)
		.attr("role", "img").attr("aria-label", "Memory over time: the peak is " + bytes(profile.snapshots[profile.detailed[profile.peak]].total) +
			"; the slider below chooses a snapshot");
	drawAxes(svg, frame, x, y);
	drawAreas(svg, profile, x, y);
	drawBrush(svg, profile, frame, x);
	drawMarks(svg, profile, x, y);
}

function drawMoments(profile) {
	const options = () => profile.detailed.map((i, at) => element("option", { value: at },
		profile.momentTitle(at).split(",")[0] + ", " + shortTime(profile.snapshots[i].time, profile.facts)));
	const [from, to] = range(profile);
	$("at").max = profile.detailed.length - 1;
	$("at").value = state.at;
	$("at").setAttribute("aria-valuetext", profile.momentTitle(state.at));
	const snapshot = profile.snapshots[profile.detailed[state.at]];
	$("at-text").hidden = $("at").hidden = $("range").hidden = Boolean(profile.together);
	$("at-text").textContent = "Snapshot " + snapshot.number + ", " + time(snapshot.time, profile.facts);
	$("at-peak").setAttribute("aria-pressed", String(state.at === profile.peak));
	$("at-end").setAttribute("aria-pressed", String(state.at === profile.end));
	$("at-peak").textContent = "Peak";
	$("at-end").textContent = profile.facts.recording ? "End" : "Last tree";
	fill("range-from", ...options());
	fill("range-to", ...options());
	$("range-from").value = from;
	$("range-to").value = to;
	$("range-clear").hidden = state.from === null;
}

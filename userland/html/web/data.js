// SPDX-License-Identifier: GPL-2.0
// The data in the page, made ready: for each process a tree as arrays, and its values at any moment.

const OTHERS = -1, THREAD = -2;

// The kinds of calls.
const STANDARD = 1, C_LIBRARY = 2, NOTE = 3;

const data = JSON.parse($("data").textContent);
const strings = data.strings.map(visible);

// The distinct calls. Those with the same place, which is a function in a file or library, are one in graphs.
const calls = [];
const places = { names: [], index: new Map() };

function numberPlace(name) {
	let number = places.index.get(name);
	if (number === undefined) {
		number = places.names.length;
		places.index.set(name, number);
		places.names.push(name);
	}
	return number;
}

// Functions without a name are called by their addresses, which are others in each run.
function isAddress(name) {
	return /^0x[0-9A-F]+$/.test(name);
}

// Another build of a program can be in another directory.
for (let i = 0; i < data.calls.length; i += 5) {
	const name = strings[data.calls[i]], file = strings[data.calls[i + 1]], object = strings[data.calls[i + 2]];
	const library = object ? baseName(object) : "", isCompared = data.sides.length > 1;
	calls.push({
		name, file, object, library, line: data.calls[i + 3], kind: data.calls[i + 4],
		place: numberPlace((isCompared && isAddress(name) ? "???" : name) + "\n" + (file || (isCompared ? library : object))),
	});
}

// What the curve is made of, from the bottom: key: the list in the data; title(): what it is, before a colon in short. The
// name is that of the colour, too.
const SERIES = [
	{ name: "useful", key: "heap", title: (p) => p.pages ? p.what === 0 ? "Mapped" : "Resident" : "Useful: requested" },
	{ name: "extra", key: "extra", title: (p) => p.pages ? "Mapped only: not resident" : "Extra: overhead of the allocator" },
	{ name: "stacks", key: "stacks", title: () => "Stacks" },
];

// Arrays hold numbers, or big integers if the process has numbers that would be rounded.
function zeros(big, n) {
	return big ? new Array(n).fill(0n) : new Float64Array(n);
}

function hasBig(process) {
	const totals = (process.thread_totals || []).filter((value, i) => i % 5 >= 2);
	const lists = SERIES.map(({ key }) => process[key]).concat([process.counts || [], process.sizes || [], totals]);
	const classes = (process.block_sizes || []).concat(process.lifetimes || []).map((each) => each.values);
	const residency = process.residency ? residencyNumbers(process.residency) : [];
	return lists.concat(residency, process.moments.map((moment) => moment.changes), classes)
		.some((list) => list.some((value) => typeof value === "string"));
}

// All lists of numbers of the samples of the resident set.
function residencyNumbers(residency) {
	const details = residency.details.map((detail) => [[...Object.values(detail).filter((value) => !Array.isArray(value))],
		detail.touched || [], detail.bands, detail.fillings, detail.live_sites, detail.untouched_sites, detail.pinned_sites]).flat();
	const { samples, live_sites: live, untouched_sites: untouched, pinned_sites: pinned } = residency.moments;
	const moments = samples.map((sample) => [...Object.values(sample).filter((value) => !Array.isArray(value)), ...sample.bands, ...sample.fillings,
		...sample.touched || []]);
	return [[residency.peak_rss], ...details, ...moments, ...live, ...untouched, ...pinned, ...residency.bands.map((band) => band.bytes)];
}

function nameOfThread(tid, name) {
	return (visible(name || "") || "(unnamed thread)") + (tid ? " (" + tid + ")" : "");
}

class Profile {
	constructor(side, process, number) {
		this.side = side;
		this.facts = process;
		this.number = number;
		this.count = process.depth.length;
		this.call = Int32Array.from(process.call.concat(process.sites));
		this.depth = Int32Array.from(process.depth);
		this.parent = new Int32Array(this.count);
		this.next = new Int32Array(this.count).fill(-1);
		// The numbers from count to length are those of sites: what stacks without a node hold is there once more.
		this.length = this.count + process.sites.length;
		this.others = new Map();
		this.big = hasBig(process);
		this.residency = null; // made by residencyOf()
		this.cache = new Map();
		this.connect();
		// The first of the rests stands for all; there are several if several processes are shown as one.
		for (let i = this.length - 1, rests = this.call.indexOf(OTHERS, this.count); i >= this.count; i--)
			if (this.call[i] === OTHERS)
				this.others.set(i, i === rests ? process.rest : 0);
		this.site = this.findSites();
		this.time = process.time;
		this.snapshots = process.time.map((at, i) => this.readSnapshot(i));
		this.detailed = process.moments.map((moment) => moment.snapshot);
		this.peak = this.detailed.indexOf(process.peak);
		this.end = this.detailed.indexOf(process.end);
		this.readCounts();
		this.kept = this.readKept();
	}

	number_(value) {
		return this.big ? BigInt(value) : Number(value);
	}

	readSnapshot(i) {
		const parts = SERIES.map(({ key }) => this.number_(this.facts[key][i]));
		return { number: this.facts.numbers ? this.facts.numbers[i] : i, time: this.facts.time[i], parts,
			total: parts.reduce((sum, part) => sum + part) };
	}

	// Finds parents and siblings from the depths: a node's children follow it.
	connect() {
		const path = [], last = new Int32Array(this.count).fill(-1);
		let others = 0;
		for (let i = 0; i < this.count; i++) {
			const parent = i ? path[this.depth[i] - 1] : -1;
			this.parent[i] = parent;
			path[this.depth[i]] = i;
			if (!i)
				continue;
			if (last[parent] >= 0)
				this.next[last[parent]] = i;
			last[parent] = i;
			if (this.call[i] === OTHERS)
				this.others.set(i, this.facts.others[others++]);
		}
	}

	kind(node) {
		return this.call[node] >= 0 ? calls[this.call[node]].kind : null;
	}

	// Returns the site of the stack that ends at each node: the same as mf_standard_calls() finds.
	findSites() {
		const found = new Int32Array(this.count), site = new Int32Array(this.count);
		for (let i = 1; i < this.count; i++) {
			const caller = this.parent[i], kind = this.kind(caller);
			found[i] = kind === STANDARD ? found[caller] : kind === null || kind === C_LIBRARY ? 0 : caller;
			site[i] = this.kind(i) === STANDARD && found[i] ? found[i] : i;
		}
		return site;
	}

	*children(node) {
		if (node + 1 >= this.count || this.depth[node + 1] <= this.depth[node])
			return;
		for (let child = node + 1; child >= 0; child = this.next[child])
			yield child;
	}

	readCounts() {
		const list = this.facts.counts;
		this.counts = null;
		if (!list)
			return;
		this.counts = ["calls", "allocated", "temporary", "blocks"].map(() => zeros(this.big, this.length));
		for (let i = 0, node = -1; i < list.length; i += 5) {
			node += list[i];
			for (let k = 0; k < 4; k++)
				this.counts[k][node] = this.number_(list[i + 1 + k]);
		}
	}

	// Returns what the C and C++ libraries keep at the end, for each node and site.
	readKept() {
		const kept = zeros(this.big, this.length), list = this.facts.runtime || [];
		for (let i = 0, node = -1; i < list.length; i += 2) {
			node += list[i];
			kept[node] = this.number_(list[i + 1]);
		}
		return kept;
	}

	// Returns what the program never freed, for each node and site: what is held at the end, without what is kept.
	leaked() {
		return this.live(this.end).map((value, i) => value - this.kept[i]);
	}

	// Adds to @sums, by class, the blocks of the nodes and sites for which @isChosen. @name: of "block_sizes" or "lifetimes".
	addClasses(name, isChosen, sums) {
		for (const { class: at, values } of this.facts[name] || []) {
			for (let i = 0, node = -1; i < values.length; i += 2) {
				node += values[i];
				if (isChosen(node))
					sums.set(at, (sums.get(at) || this.zero()) + this.number_(values[i + 1]));
			}
		}
	}

	// Returns what each node itself holds in detailed snapshot @at, and after these each site of stacks without a node.
	live(at) {
		if (this.cache.has(at))
			return this.cache.get(at);
		let from = at;
		while (from > 0 && !this.cache.has(from - 1))
			from--;
		const own = from > 0 ? this.cache.get(from - 1).slice() : zeros(this.big, this.length);
		for (let k = from; k <= at; k++) {
			const changes = this.facts.moments[k].changes;
			for (let i = 0, node = -1; i < changes.length; i += 2) {
				node += changes[i];
				own[node] = this.number_(changes[i + 1]);
			}
		}
		if (this.cache.size > 16)
			this.cache.delete(this.cache.keys().next().value);
		this.cache.set(at, own);
		return own;
	}

	// Returns what each node holds together with those below it.
	sumUp(own) {
		const sums = own.slice(0, this.count);
		for (let i = this.count - 1; i > 0; i--)
			sums[this.parent[i]] += sums[i];
		return sums;
	}

	// Returns the sum of the values of all nodes.
	sum(own) {
		return own.slice(0, this.count).reduce((sum, value) => sum + value, this.zero());
	}

	zero() {
		return this.big ? 0n : 0;
	}

	// Returns the number of a node's place; nodes of one place are drawn as one.
	place(node) {
		const call = this.call[node];
		return call >= 0 ? calls[call].place : call;
	}

	// Returns the texts for a node.
	describe(node) {
		const call = this.call[node];
		if (node === 0)
			return { name: "all", file: "", line: 0, library: "", object: "" };
		if (call === OTHERS)
			return { name: plural(this.others.get(node), "other place"), file: "", line: 0, library: "", object: "" };
		if (call <= THREAD)
			return { name: this.threadName(THREAD - call), file: "", line: 0, library: "", object: "" };
		return calls[call];
	}

	threadName(number) {
		return nameOfThread(this.facts.threads[2 * number], this.facts.threads[2 * number + 1]);
	}

	isThread(node) {
		return this.call[node] <= THREAD;
	}

	isProcess() {
		return false;
	}

	momentTitle(at) {
		const snapshot = this.snapshots[this.detailed[at]];
		const name = at === this.peak ? "the peak" : at === this.end ? this.endTitle() : "snapshot " + snapshot.number;
		return name + ", " + time(snapshot.time, this.facts);
	}

	endTitle() {
		return this.facts.recording ? "the end" : "the last tree";
	}
}

const sides = data.sides.map((side, k) => side.processes.map((process, i) => new Profile(k, process, i)));

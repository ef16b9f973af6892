// SPDX-License-Identifier: GPL-2.0
// All processes of a recording as one: their trees side by side, each process at its own peak, or at its end.

const PROCESS = -1000000000;

class Together extends Profile {
	constructor(side, list) {
		super(side, Together.join(list), list.length);
		this.together = list;
		this.counts = list.every((each) => each.counts) ? [0, 1, 2, 3].map((k) => this.concat((each) => each.counts[k])) : null;
		this.kept = this.concat((each) => each.kept);
	}

	// What the constructor of a process reads, with the numbers of all.
	static join(list) {
		const joined = { unit: "ms", pages: list[0].facts.pages, what: list[0].facts.what, recording: list[0].facts.recording,
			temporary_others: list[0].facts.temporary_others,
			depth: [0], call: [OTHERS], others: [], moments: [{ snapshot: 0, changes: [] }, { snapshot: 1, changes: [] }],
			peak: 0, end: 1, time: [0, 1], sites: [], rest: 0, hidden: 0, below: 0, lost: 0, runtime_blocks: 0, threads: [], name: list.length + " processes", cmd: "" };
		for (const [i, each] of list.entries()) {
			const offset = joined.threads.length / 2;
			for (let node = 0; node < each.count; node++) {
				joined.depth.push(each.depth[node] + 1);
				joined.call.push(node === 0 ? PROCESS - i : each.isThread(node) ? each.call[node] - offset : each.call[node]);
			}
			joined.others.push(...each.facts.others);
			joined.sites.push(...each.facts.sites);
			joined.rest += each.facts.rest;
			joined.threads.push(...each.facts.threads || []);
			joined.hidden += each.facts.hidden;
			joined.lost += Number(each.facts.lost);
			joined.runtime_blocks += Number(each.facts.runtime_blocks || 0);
			joined.below = Math.max(joined.below, each.facts.below);
		}
		if (!joined.threads.length)
			delete joined.threads;
		const big = list.some((each) => each.big), zero = big ? 0n : 0;
		for (const [part, { key }] of SERIES.entries())
			joined[key] = ["peak", "end"].map((moment) => list.reduce((sum, each) =>
				sum + (big ? BigInt : Number)(each.snapshots[each.detailed[each[moment]]].parts[part]), zero))
				.map((sum) => big ? sum.toString() : sum);
		if (list.every((each) => each.facts.sizes))
			joined.sizes = list[0].facts.sizes.map((size, i) => list.reduce((sum, each) =>
				sum + (big ? BigInt : Number)(each.facts.sizes[i]), zero)).map((sum) => big ? sum.toString() : sum);
		if (list.every((each) => each.facts.thread_totals))
			joined.thread_totals = list.flatMap((each) => each.facts.thread_totals);
		// Each process adds its own; see addClasses().
		if (list.every((each) => each.facts.block_sizes)) {
			joined.block_sizes = [];
			joined.lifetimes = [];
			joined.details_lost = list.reduce((sum, each) => sum + Number(each.facts.details_lost), 0);
		}
		return joined;
	}

	concat(valuesOf) {
		const values = zeros(this.big, this.length);
		let node = 1, site = this.count;
		for (const each of this.together) {
			const own = valuesOf(each);
			for (let i = 0; i < each.length; i++)
				values[i < each.count ? node++ : site++] = this.number_(own[i]);
		}
		return values;
	}

	addClasses(name, isChosen, sums) {
		let node = 1, site = this.count;
		for (const each of this.together) {
			const base = node, sites = site, own = new Map();
			each.addClasses(name, (i) => isChosen(i < each.count ? base + i : sites + i - each.count), own);
			for (const [at, value] of own)
				sums.set(at, (sums.get(at) || this.zero()) + this.number_(value));
			node += each.count;
			site += each.length - each.count;
		}
	}

	live(at) {
		if (!this.cache.has(at))
			this.cache.set(at, this.concat((each) => each.live(at === this.peak ? each.peak : each.end)));
		return this.cache.get(at);
	}

	isThread(node) {
		return super.isThread(node) && !this.isProcess(node);
	}

	isProcess(node) {
		return this.call[node] <= PROCESS;
	}

	describe(node) {
		if (!this.isProcess(node))
			return super.describe(node);
		const facts = this.together[PROCESS - this.call[node]].facts;
		return { name: processName(facts) + (facts.pid ? " (" + facts.pid + ")" : ""), file: "", line: 0, library: "", object: "" };
	}

	momentTitle(at) {
		return at === this.peak ? "the peaks of the processes" : "the ends of the processes";
	}
}

function processName(facts) {
	return visible((facts.name !== "?" && facts.name) || (facts.cmd || "").split(" ")[0].split("/").pop() || "unknown program");
}

// For each side what stands for the whole file.
const wholes = sides.map((list, side) => list.length > 1 ? new Together(side, list) : list[0]);

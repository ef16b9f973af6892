// SPDX-License-Identifier: GPL-2.0
// The boxes of the graph: nodes of the same place below the same box are one. Boxes are made when they are drawn.

class Box {
	// @nodes: what the box stands for; @tips: the innermost nodes of these stacks, in an inverted graph.
	constructor(view, parent, nodes, tips, value) {
		this.view = view;
		this.parent = parent;
		this.depth = parent ? parent.depth + 1 : 0;
		this.nodes = nodes;
		this.tips = tips;
		this.value = value;
		this.list = null;
	}

	children() {
		if (!this.list) {
			this.list = this.view.inverted ? this.callers() : this.callees();
			this.list.sort((a, b) => a.value < b.value ? 1 : a.value > b.value ? -1 : a.nodes[0] - b.nodes[0]);
		}
		return this.list;
	}

	add(found, node, tip, value) {
		const profile = this.view.profile, place = profile.place(node);
		const box = found.get(place);
		if (!box) {
			found.set(place, new Box(this.view, this, [node], tip === null ? null : [tip], value));
			return;
		}
		box.nodes.push(node);
		if (tip !== null)
			box.tips.push(tip);
		box.value += value;
	}

	callees() {
		const found = new Map(), { profile, sums, threads } = this.view;
		const visit = (node) => {
			for (const child of profile.children(node)) {
				if (!sums[child])
					continue;
				if (profile.isThread(child) && !threads)
					visit(child);
				else
					this.add(found, child, null, sums[child]);
			}
		};
		for (const node of this.nodes)
			visit(node);
		return [...found.values()];
	}

	callers() {
		const found = new Map(), { profile, own, threads } = this.view;
		if (!this.parent) {
			// Stacks without nodes are known by their sites.
			const hasSites = own.length > profile.count;
			for (let node = 1; node < own.length; node++)
				if (own[node] && (node >= profile.count || !hasSites || profile.call[node] !== OTHERS))
					this.add(found, node < profile.count ? profile.site[node] : node, node, own[node]);
			return [...found.values()];
		}
		this.nodes.forEach((node, i) => {
			const caller = profile.parent[node], tip = this.tips[i];
			if (caller > 0 && (threads || !profile.isThread(caller)))
				this.add(found, caller, tip, own[tip]);
		});
		return [...found.values()];
	}

	// Which box it is, whatever else is drawn.
	id() {
		return [this.tips ? this.tips[0] : this.nodes[0], this.depth];
	}
}

let drawn = { key: null };

// Returns the outermost box of what is chosen.
function rootBox() {
	const now = measure();
	const key = [now.key, state.inverted, state.threads].join();
	if (drawn.key !== key) {
		const view = { profile: now.profile, own: now.own, sums: now.sums, inverted: state.inverted, threads: state.threads };
		drawn = { key, root: new Box(view, null, [0], null, now.total) };
	}
	return drawn.root;
}

// Returns the box that state.zoom names, or the outermost one.
function zoomedBox() {
	let box = rootBox();
	if (!state.zoom)
		return box;
	const [node, depth] = state.zoom, profile = box.view.profile;
	const ancestors = new Set();
	for (let at = node; at >= 0; at = profile.parent[at])
		ancestors.add(at);
	while (box.depth < depth) {
		const next = box.children().find((child) => child.tips ? child.tips.includes(node) :
								  child.nodes.some((at) => ancestors.has(at)));
		if (!next)
			break;
		box = next;
	}
	return box;
}

// Which calls the text in the search field finds; null: there is no search.
function searched() {
	const text = state.search.trim().toLowerCase();
	if (!text)
		return null;
	return calls.map((call) => (call.name + "\n" + call.file + (call.file ? ":" + call.line : "") + "\n" + call.object)
		.toLowerCase().includes(text));
}

// How much of the total goes through calls that were found.
function foundValue(found) {
	const { profile, sums } = measure();
	let sum = profile.zero(), below = -1;
	for (let i = 1; i < profile.count; i++) {
		if (below >= 0 && profile.depth[i] > below)
			continue;
		below = -1;
		if (profile.call[i] >= 0 && found[profile.call[i]]) {
			sum += sums[i];
			below = profile.depth[i];
		}
	}
	return sum;
}

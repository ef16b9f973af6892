// SPDX-License-Identifier: GPL-2.0
// Numbers and names as people read them. The units and their limits are those of massif-ctl and ms_print.

const BYTES = [["KB", 1000, 1024], ["MB", 1000, 1024], ["GB", 1000, 1024], ["TB", 1000, 1024], ["PB", 1000, 1024],
	["EB", 1000, 1024]];
const INSTRUCTIONS = [["ki", 1000, 1024], ["Mi", 1000, 1024], ["Gi", 1000, 1024], ["Ti", 1000, 1024]];
const MILLISECONDS = [["s", 1000, 1000], ["h", 3600, 3600]];

function grouped(value) {
	return value.toLocaleString("en-US");
}

function scaled(value, unit, steps) {
	let number = Math.abs(Number(value)), name = unit;
	for (const [step, limit, divisor] of steps) {
		if (number < limit)
			break;
		name = step;
		number /= divisor;
	}
	const sign = value < 0 ? "−" : "";
	return sign + (name === unit ? grouped(number) : number.toFixed(number < 10 ? 3 : number < 100 ? 2 : 1)) + " " + name;
}

function bytes(value) {
	return scaled(value, "B", BYTES);
}

function exactBytes(value) {
	return grouped(value) + (value == 1 ? " byte" : " bytes");
}

function change(value, print) {
	return (value > 0 ? "+" : "") + print(value);
}

// What pages mode counts, as the profile's "what" says, and heap mode: the words for it.
const MODES = [
	{ held: "Mapped", done: "mapped and unmapped", where: "Where it was mapped", who: "Who has mapped most",
		callers: "Callers of the mapping function" },
	{ held: "Resident", done: "mapped and unmapped", where: "Where it was first touched", who: "Who has touched most",
		callers: "Callers of the touching function" },
	{ held: "Mapped", done: "mapped and unmapped", where: "Where it was first touched, or mapped", who: "Who has touched and mapped most",
		callers: "Callers of the touching or mapping function" },
];

const HEAP = { held: "Held", done: "allocated and freed", where: "Where it was allocated", who: "Who holds and allocates most",
	callers: "Callers of the allocating function" };

function words(facts) {
	return facts.pages ? MODES[facts.what] : HEAP;
}

function time(value, facts) {
	const { unit } = facts;
	if (unit === "B")
		return bytes(value) + " " + words(facts).done;
	return unit === "ms" ? scaled(value, "ms", MILLISECONDS) : scaled(value, "", INSTRUCTIONS).trim() + " instructions";
}

function percent(part, whole) {
	return Number(whole) ? (100 * Number(part) / Number(whole)).toFixed(2) + "%" : "0.00%";
}

function plural(number, word, many = word + "s") {
	return grouped(number) + " " + (number == 1 ? word : many);
}

// Characters that are not seen, or that change how others are shown, as their numbers.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g;

const KNOWN = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\u001b": "\\e" };

function visible(text) {
	return text.replace(INVISIBLE, (c) => KNOWN[c] || "\\u{" + c.codePointAt(0).toString(16).padStart(4, "0") + "}");
}

function cut(text, length) {
	return text.length <= length ? text : text.slice(0, Math.max(length - 1, 0)) + "…";
}

// The name of a function in C++ without the arguments of its templates, if it is too long with them.
function shorten(name, length) {
	if (name.length <= length || !name.includes("::"))
		return cut(name, length);
	let text = "", depth = 0;
	for (let i = 0; i < name.length; i++) {
		const operator = depth ? null : /^operator\s*[-<>=]+/.exec(name.slice(i, i + 20));
		if (operator) {
			text += operator[0];
			i += operator[0].length - 1;
		} else if (name[i] === "<") {
			text += depth++ ? "" : "<…>";
		} else if (name[i] === ">" && depth) {
			depth--;
		} else if (!depth) {
			text += name[i];
		}
	}
	return cut(text, length);
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}

// Makes an element. Texts are only ever set as text.
function element(tag, attributes, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			made.addEventListener(name.slice(2), value);
		else if (value === true)
			made.setAttribute(name, "");
		else if (value !== false && value !== null && value !== undefined)
			made.setAttribute(name, value);
	}
	for (const child of children)
		if (child !== null && child !== undefined)
			made.append(child);
	return made;
}

function $(id) {
	return document.getElementById(id);
}

function fill(id, ...children) {
	$(id).replaceChildren(...children.filter((child) => child !== null));
}

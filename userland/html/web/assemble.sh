#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Makes the two parts of the page between which the data stands: assemble.sh OUTPUT-DIR D3-DIR
#
# head.html has the policy that forbids the page to load anything, the style and the elements; tail.html the scripts.
# D3-DIR has the modules of d3 as Debian's packages node-d3-* install them. Without them the page has no charts.
set -eu

out=$1 d3=$2
web=$(dirname "$0")
# Each module stands after those that it needs.
modules='path array collection color interpolate format time time-format scale shape selection dispatch timer ease
	transition drag axis brush'
scripts='text data together measure state tree timeline flame table sizes diff residency help main'
styles='report charts residency print'

say() {
	printf 'assemble.sh: %s\n' "$*" >&2
}

# Prints the files $2... with the suffix $1.
join() {
	suffix=$1
	shift
	for name; do
		cat "$web/$name.$suffix"
	done
}

# Prints the hash of file $1 as a content security policy names it.
hash_of() {
	printf "'sha256-"
	sha256sum "$1" | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64 -w 0
	printf "'"
}

mkdir -p "$out"
: >"$out/d3.js"
for module in $modules; do
	file=$d3/d3-$module/dist/d3-$module.min.js
	if [ ! -r "$file" ]; then
		[ "$d3" = none ] || say "no $file: reports will have no charts; make packages installs d3 (Debian)"
		: >"$out/d3.js"
		break
	fi
	# The comments that refer to maps of the source would make browsers look for them.
	grep -v '^//# sourceMappingURL=' "$file" >>"$out/d3.js"
	echo >>"$out/d3.js"
done

# shellcheck disable=SC2086 # lists of words
{
	join css $styles >"$out/report.css"
	{
		printf '"use strict";\n(function () {\n'
		join js $scripts
		printf '})();\n'
	} >"$out/report.js"
}
for file in d3.js report.js report.css; do
	if grep -q -i '</\(script\|style\)' "$out/$file"; then
		say "$out/$file has the end of an element in it"
		exit 1
	fi
done

{
	printf '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
	printf '<meta http-equiv="Content-Security-Policy" content="default-src '\''none'\''; script-src %s %s; style-src %s">\n' \
		"$(hash_of "$out/d3.js")" "$(hash_of "$out/report.js")" "$(hash_of "$out/report.css")"
	printf '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>massif report</title>\n<style>'
	cat "$out/report.css"
	printf '</style>\n</head>\n<body>\n'
	cat "$web/report.html"
	printf '<script type="application/json" id="data">\n'
} >"$out/head.html"
{
	printf '</script>\n<script>'
	cat "$out/d3.js"
	printf '</script>\n<script>'
	cat "$out/report.js"
	printf '</script>\n</body>\n</html>\n'
} >"$out/tail.html"

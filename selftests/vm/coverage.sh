#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prints which lines and functions of a module were reached: coverage.sh MODULE.ko FILE...
#
# The module was built with KCOV. Each line of a FILE is the offset in the module's code of a place that was
# reached, as selftests/guest/kmod_fuzz writes them.
set -eu

[ $# -ge 2 ] || { echo 'usage: coverage.sh MODULE.ko FILE...' >&2; exit 2; }
module=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A place is the return address of a call that the compiler has inserted; it stands for the code behind the
# call.
objdump -dr -j .text "$module" | awk '
	/^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name) }
	/R_X86_64_P.*__sanitizer_cov_trace_pc/ { sub(/:$/, "", $1); print $1, name }' | while read -r at name; do
	printf '%x %s\n' $((0x$at + 4)) "${name%%.*}"
done > "$work/places"
[ -s "$work/places" ] || { echo "coverage.sh: $module was not built with KCOV" >&2; exit 1; }
cut -d ' ' -f 1 "$work/places" | addr2line -e "$module" -j .text | sed 's/ (discriminator.*//' > "$work/lines"
sort -u "$@" > "$work/reached"

# The sources are copied beside the module. Code that is inlined from the kernel's headers is not counted.
sources=$(cd "$(dirname "$module")" && pwd -P)/
paste -d ' ' "$work/places" "$work/lines" | awk -v reached_file="$work/reached" -v sources="$sources" '
	BEGIN {
		while ((getline at < reached_file) > 0)
			reached[at] = 1
	}
	{
		at = $1; name = $2; line = $3
		file = line
		sub(/:.*/, "", file)
		if (index(file, sources) != 1)
			next
		file = substr(file, length(sources) + 1)
		if (!(line in line_of)) {
			line_of[line] = file
			lines[file]++
		}
		functions[file " " name] = 1
		if (at in reached) {
			if (!(line in hit)) {
				hit[line] = 1
				hits[file]++
			}
			called[file " " name] = 1
		}
	}
	END {
		for (file in lines) {
			printf "%-28s %5d of %5d lines  %5.1f %%\n", file, hits[file], lines[file], 100 * hits[file] / lines[file] | "sort"
			all += lines[file]
			all_hits += hits[file]
		}
		close("sort")
		printf "%-28s %5d of %5d lines  %5.1f %%\n", "all", all_hits, all, 100 * all_hits / all
		print "never reached:"
		for (key in functions)
			if (!(key in called))
				print "  " key | "sort"
		close("sort")
	}'

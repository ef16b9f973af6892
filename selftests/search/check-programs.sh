#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the programs of selftests/search/programs alone and under massif: check-programs.sh [PATTERN...]
#
# Results that differ are kept in $MASSIF_BUILD/selftests/alike. The file programs.rst in this directory is a table (in
# RST) of all programs that were run. Programs that cannot be installed are skipped. The last line of the output is
# "N passed, M failed, K skipped".
set -u
unset CDPATH # with CDPATH, cd may change to another directory, and print it

here=$(cd "$(dirname "$0")" && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$(cd "$here/../.." && pwd -P)/build}
export SEARCH=$here
results=$MASSIF_BUILD/selftests/alike
mkdir -p "$results"
[ $# -gt 0 ] || set -- '*'

trim() {
	local text=$1
	text=${text#"${text%%[![:space:]]*}"}
	printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# Installs those of the given packages that are missing. If that fails, $reason is set.
installed() {
	local package missing=''
	for package; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	# shellcheck disable=SC2086 # a list of packages
	DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 install $missing \
		> "$results/apt.log" 2>&1 && return 0
	reason=$(grep -m 1 '^E:' "$results/apt.log")
	return 1
}

selected() {
	local pattern
	for pattern; do
		# shellcheck disable=SC2053 # $pattern is a pattern
		[[ $name != $pattern ]] || return 0
	done
	return 1
}

# Prints the verdict on a program, which is the worst verdict of its lines.
judge() {
	awk -F'\t' '
		$3 == "differs" { differs = 1; what = what $2 " (" $4 ") " }
		$3 == "failed" { failed = 1; what = $4 }
		END { if (!NR) { failed = 1; what = "nothing was compared" }
			print (failed ? "skipped" : differs ? "failed" : "passed") "\t" what }' "$1"
}

version() {
	dpkg-query -W -f '${Version}' "${1%% *}" 2>/dev/null || echo -
}

passed=0 failed=0 skipped=0
touch "$results/table"
while IFS='|' read -r name packages command preparation seconds letters note; do
	name=$(trim "$name")
	case $name in '' | '#'*) continue ;; esac
	selected "$@" || continue
	packages=$(trim "$packages") command=$(trim "$command") preparation=$(trim "$preparation")
	seconds=$(trim "$seconds") letters=$(trim "$letters") note=$(trim "$note")
	arguments=(-n "$name" -t "$seconds" -p "${preparation:-:}")
	case $letters in *e*) arguments+=(-l) ;; esac
	case $letters in *s*) arguments+=(-s) ;; esac
	case $letters in *v*) arguments+=(-v) ;; esac
	case $letters in *d*) arguments+=(-o "default children") ;; esac
	reason=''
	# shellcheck disable=SC2086 # a list of packages
	if installed $packages; then
		"$here/alike.sh" "${arguments[@]}" "$command" < /dev/null 2>&1 | tee "$results/$name.result"
		IFS=$'\t' read -r verdict what < <(judge "$results/$name.result")
	else
		verdict=skipped what="not installed: $reason"
		rm -f "$results/$name.result"
	fi
	case $verdict in
	passed) passed=$((passed + 1)) ;;
	failed) failed=$((failed + 1)) ;;
	*) skipped=$((skipped + 1)) ;;
	esac
	printf '%-14s %s %s\n' "$name" "$verdict" "$what"
	# If only some programs are run later, only their rows are replaced.
	awk -F'\t' -v name="$name" '$1 != name' "$results/table" > "$results/table.new"
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$(version "$packages")" "$verdict" "$(date +%m-%d)" "$what" "$note" \
		>> "$results/table.new"
	mv "$results/table.new" "$results/table"
done < "$here/programs"

"$here/table.sh" "$results" > "$results/programs.rst"
echo "$passed passed, $failed failed, $skipped skipped; the table is $results/programs.rst"
[ $failed -eq 0 ]

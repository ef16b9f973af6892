#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Generates random hostile programs (hostile/make.c), and compares the behaviour of each alone and under massif:
#	check-hostile.sh [-n COUNT] [-s SEED] [-f FIRST] [-o 'default stacks...']
#
# Each program is generated, compiled and run twice alone. If both runs give the same results, it runs under massif with
# the default options, and with one more set from selftests/search/options, which its number selects. Output and status
# must be the same, except that numbers in lines "about:" may differ by 1 %. If the results differ, they are kept in
# $MASSIF_BUILD/selftests/hostile/NUMBER, with the sources. The last line is "N passed, M failed, K skipped".
set -u
unset CDPATH # with CDPATH, cd may change to another directory, and print it

here=$(cd "$(dirname "$0")" && pwd -P)
build=${MASSIF_BUILD:-$(cd "$here/../.." && pwd -P)/build}
contain=$build/selftests/search/contain
count=20 seed=1 first=0 options=''
while getopts n:s:f:o: option; do
	case $option in
	n) count=$OPTARG ;;
	s) seed=$OPTARG ;;
	f) first=$OPTARG ;;
	o) options=$OPTARG ;;
	*) exit 125 ;;
	esac
done
export HOSTILE=$here/hostile
unset MASSIF_OPTS MASSIF_BUILD LD_PRELOAD MASSIF_VERIFY
mapfile -t sets < <(awk -F'|' '!/^#/ { gsub(/ /, "", $1); print $1 }' "$here/options")

field() {
	awk -F'|' -v name="$1" -v field="$2" '
		!/^#/ { key = $1; gsub(/ /, "", key) }
		key == name { gsub(/^ +| +$/, "", $field); print $field; exit }' "$here/options"
}

# run NAME ENVIRONMENT COMMAND...: runs the command, and writes contain's files (out, err, status, ...) to NAME.
run() {
	local name=$1 environment=$2
	shift 2
	rm -rf "$name"
	mkdir "$name"
	# The program may change its limits and user id, and must still be able to reach its files.
	# shellcheck disable=SC2086 # a list of words
	env -i PATH=/usr/bin:/bin HOME=/ HOSTILE_SEEN=1 XDG_CACHE_HOME="$PWD/cache" $environment "$contain" -t 60 -d "$name" -- "$@"
}

# Numbers in lines "about:" may differ by 1 %, or by 2.
same_output() {
	cmp -s "$1" "$2" && return
	awk '
		function close_to(a, b) { d = a - b; if (d < 0) d = -d; return d <= 2 || d <= a / 100 }
		NR == FNR { first[FNR] = $0; lines = FNR; next }
		{
			seen = FNR
			if ($0 == first[FNR]) next
			n = split(first[FNR], a); m = split($0, b)
			if (a[1] != "about:" || n != m) { bad = 1; exit }
			for (i = 1; i <= n; i++)
				if (a[i] != b[i] && !(a[i] ~ /^[0-9]+$/ && b[i] ~ /^[0-9]+$/ && close_to(a[i], b[i]))) { bad = 1; exit }
		}
		END { exit bad || lines != seen }' "$1" "$2"
}

same() {
	same_output "$1/out" "$2/out" && cmp -s "$1/err" "$2/err" && cmp -s "$1/status" "$2/status"
}

difference() {
	diff "$1/out" "$2/out" | grep '^[<>]' | head -2 | paste -sd' '
}

# Compares the runs alone with a run with one set of options. Prints the differences.
compare() {
	local set=$1
	# The options must be split into words.
	# shellcheck disable=SC2046
	run "$set" "$(field "$set" 3)" "$build/massif-ctl" $(field "$set" 2) --massif-out-file="$PWD/profile.$set.%p" \
		--xtree-memory-file="$PWD/xtree.$set.%p" --log-file="$PWD/log.$set" -- ./main
	# If children are followed, the two variables stay in the environment on purpose.
	[ "$set" != children ] || sed -i 's/^environment: .*/environment: 4 variables, 0 gaps, LD_PRELOAD none, MASSIF_SESSION none/' "$set/out"
	if ! same alone1 "$set"; then
		# The results of the program alone may vary, too, but only rarely.
		for _ in 1 2 3; do
			run alone3 '' ./main
			same alone1 alone3 || return 2
		done
		printf '%s: %s, alone %s; %s\n' "$set" "$(cat "$set/status")" "$(cat alone1/status)" "$(difference alone1 "$set")"
		return 1
	fi
	if grep -q '^massif-ctl: .* [1-9][0-9]* differ$' "log.$set"; then
		printf '%s: %s\n' "$set" "$(grep -m 1 ' [1-9][0-9]* differ$' "log.$set")"
		return 1
	fi
}

passed=0 failed=0 skipped=0
for ((number = first; number < first + count; number++)); do
	directory=$build/selftests/hostile/$number
	rm -rf "$directory"
	mkdir -p "$directory" && cd "$directory" && chmod 1777 . || exit 125
	"$build/selftests/search/hostile_make" "$seed" "$number" . || exit 125
	if ! sh build > build.log 2>&1; then
		echo "$number skipped: it does not compile: $(grep -m 1 -i error build.log)"
		skipped=$((skipped + 1))
		continue
	fi
	run alone1 '' ./main
	run alone2 '' ./main
	if ! same alone1 alone2; then
		echo "$number skipped: it does not do the same twice alone: $(cat alone1/status alone2/status | paste -sd' ') $(difference alone1 alone2)"
		skipped=$((skipped + 1))
		continue
	fi
	verdict=passed
	for set in ${options:-default "${sets[1 + number % (${#sets[@]} - 1)]}"}; do
		compare "$set" > said
		case $? in
		0) ;;
		1)
			echo "$number FAILED $(cat said)"
			verdict=failed
			;;
		*)
			echo "$number skipped: it differs from itself now and then"
			verdict=skipped
			;;
		esac
		[ $verdict = passed ] || break
	done
	case $verdict in
	passed)
		passed=$((passed + 1))
		cd / && rm -rf "$directory"
		;;
	failed) failed=$((failed + 1)) ;;
	*) skipped=$((skipped + 1)) ;;
	esac
done
echo "seed $seed: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

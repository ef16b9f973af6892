#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs a command alone and under massif, and reports whether any visible behaviour differs:
#	alike.sh [-n NAME] [-o 'default stacks...'] [-p PREPARATION] [-t SECONDS] [-l] [-s] [-v] [-k] COMMAND
#
# COMMAND and PREPARATION are shell commands. Each run starts in an empty directory, which always has the same name. It
# is HOME, and contains TMPDIR. PREPARATION runs first, in this directory. massif-ctl replaces %run in COMMAND; without
# %run, it is put before COMMAND.
#	-o	sets of options from selftests/search/options (default: all of them)
#	-l	also compare the state of each process at its end (end_state.c)
#	-s	also compare system calls
#	-v	also compare the peak with that of Valgrind's Massif
#	-k	keep the directory of the runs even if nothing differs
#
# The command runs alone twice. Differences between these two runs are masked: numbers first, then all lines that are
# not common to both. If the run under massif differs, the command is run once more alone and once more under massif,
# because its behaviour may vary only rarely. But a crash or hang under massif is always reported as a difference.
#
# Output: a line for each set of options, "NAME OPTIONS VERDICT DETAILS", tab-separated. VERDICT is equal, differs,
# random (the behaviour varies from run to run) or failed (the command does not work alone). DETAILS are the results
# that could be compared only in part, warnings of massif-ctl ("log"), time and peak.
set -u
unset CDPATH # with CDPATH, cd may change to another directory, and print it

here=$(cd "$(dirname "$0")" && pwd -P)
build=${MASSIF_BUILD:-$(cd "$here/../.." && pwd -P)/build}
contain=$build/selftests/search/contain
name=command options='' preparation=: seconds=120 look='' syscalls='' valgrind='' keep=''

while getopts n:o:p:t:lsvk option; do
	case $option in
	n) name=$OPTARG ;;
	o) options=$OPTARG ;;
	p) preparation=$OPTARG ;;
	t) seconds=$OPTARG ;;
	l) look=-l ;;
	s) syscalls=yes ;;
	v) valgrind=yes ;;
	k) keep=yes ;;
	*) exit 125 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || {
	echo 'usage: alike.sh [-n NAME] [-o OPTIONS] [-p PREPARATION] [-t SECONDS] [-lsvk] COMMAND' >&2
	exit 125
}
command=$1
: "${options:=$(awk -F'|' '!/^#/ { print $1 }' "$here/options" | xargs)}"

# The command must not see massif's own variables in its environment.
unset MASSIF_OPTS MASSIF_BUILD LD_PRELOAD MASSIF_VERIFY

work=${ALIKE_WORK:-$build/selftests/alike}/$name
rm -rf "$work"
mkdir -p "$work/cache" || exit 125
work=$(cd "$work" && pwd -P)
# Writable for everyone, because a command may run as another user.
chmod 1777 "$work" "$work/cache"

field() {
	awk -F'|' -v name="$1" -v field="$2" '
		!/^#/ { key = $1; gsub(/ /, "", key) }
		key == name { gsub(/^ +| +$/, "", $field); print $field; exit }' "$here/options"
}

# run RUN SECONDS ENVIRONMENT PREFIX [OPTION OF contain]...: runs the command and puts all results into $work/RUN.
run() {
	local run=$1 limit=$2 environment=$3 prefix=$4 text
	shift 4
	rm -rf "${work:?}/now" "${work:?}/$run"
	mkdir -p "$work/now/home/tmp"
	case $command in
	*%run*) text=${command//%run/$prefix} ;;
	*) text="exec $prefix $command" ;;
	esac
	(
		cd "$work/now/home" || exit 125
		export HOME=$PWD TMPDIR=$PWD/tmp XDG_CACHE_HOME=$work/cache LC_ALL=C.UTF-8
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin SEARCH=$here
		exec 3>&- 4>&- 5>&-
		sh -c "$preparation" < /dev/null > "$work/now/prepared" 2>&1
		echo "prepared with $?" >> "$work/now/prepared"
		# shellcheck disable=SC2086 # a list of words
		exec env $environment "$contain" "$@" -t "$limit" -d "$work/now" -- sh -c "$text"
	)
	(
		cd "$work/now/home" && find . -type f ! -name '*.pid' -printf '%P %M ' -exec sh -c 'cksum < "$1"' - {} \; -o \
			! -path ./tmp -printf '%P %M %l\n' | LC_ALL=C sort > ../tree
	)
	# Remove duplicates: a process may have mapped a file twice, or in two parts.
	[ ! -f "$work/now/end" ] || LC_ALL=C sort -u -o "$work/now/end" "$work/now/end"
	rm -rf "$work/now/home"
	mv "$work/now" "$work/$run"
}

mask() {
	sed -E 's/0x[0-9a-fA-F]+/X/g; s/[0-9]+/N/g; s/\b([0-9N]*[a-fA-F]+N)+[a-fA-F0-9N]*\b/H/g; s/N([.:,-]?N)*/N/g' "$1" |
		tr -s ' \t'
}

# compare ALONE1 ALONE2 OURS: prints equal, masked, partly or differs.
compare() {
	if cmp -s "$1" "$2"; then
		cmp -s "$1" "$3" && echo equal || echo differs
	elif cmp -s <(mask "$1") <(mask "$2"); then
		cmp -s <(mask "$1") <(mask "$3") && echo masked || echo differs
	elif [ -z "$(LC_ALL=C comm -23 <(LC_ALL=C comm -12 <(mask "$1" | LC_ALL=C sort) <(mask "$2" | LC_ALL=C sort)) \
		<(mask "$3" | LC_ALL=C sort))" ]; then
		echo partly
	else
		echo differs
	fi
}

prepared_alike() {
	[ "$(tail -n 1 "$work/alone1/prepared")" = "$(tail -n 1 "$work/$1/prepared")" ]
}

ended_well() {
	! grep -q '^signal\|^still' "$1/status"
}

# The results that are compared.
aspects="status out err tree${look:+ end}"

# differences RUN: sets $differs and $partly to the results that differ, or could be compared only in part.
differences() {
	local aspect how
	differs='' partly=''
	for aspect in $aspects; do
		# If the set has an environment variable, skip the end state: it shows the effect, such as libunwind.
		[ "$aspect" != end ] || [ -z "$(field "$1" 3)" ] || continue
		how=$(compare "$work/alone1/$aspect" "$work/alone2/$aspect" "$work/$1/$aspect")
		case $how in
		differs) differs="$differs $aspect" ;;
		masked | partly) partly="$partly $aspect" ;;
		esac
	done
}

# Does a third run alone differ in all the results in which the run under massif differs?
differs_alone() {
	local aspect again=''
	for aspect in $differs; do
		[ "$(compare "$work/alone1/$aspect" "$work/alone2/$aspect" "$work/alone3/$aspect")" = differs ] ||
			again="$again $aspect"
	done
	[ -z "$again" ]
}

peak_of() {
	awk -F= '/^mem_heap_B=/ && $2 > most { most = $2 } END { printf "%d", most }' "$1" 2>/dev/null
}

largest_peak() {
	local file most=0 peak
	for file in "$1"*; do
		[ -f "$file" ] || continue
		peak=$(peak_of "$file")
		[ "$peak" -le "$most" ] || most=$peak
	done
	echo "$most"
}

# Prints what massif-ctl logged, without the usual messages.
warnings() {
	sed -E 's/^massif-ctl: //; /(^| )wrote |^time is in|^Parent PID|^xtree memory|verified .* 0 differ$|no function of this name allocated|^the run was short|which is not profiled; --trace-children=yes profiles it, too/d' "$1" 2>/dev/null | sort -u |
		head -3 | paste -sd ';'
}

# Prints the profiles that ms_print does not accept.
bad_profiles() {
	local file
	for file in "$work/profile.$1"*; do
		[ -f "$file" ] || continue
		case $file in *xtree*) continue ;; esac
		"$build/ms_print" "$file" > /dev/null 2> "$work/ms_print.err" || printf ' %s: %s' "${file##*/}" "$(head -1 "$work/ms_print.err")"
	done
}

say() {
	printf '%s\t%s\t%s\t%s\n' "$name" "$1" "$2" "$3"
}

profiled() {
	local set=$1 run=$2 times
	rm -f "$work/profile.$set"* "$work/log.$set"
	# Permit more time than alone: there is more to do, and the machine may be busy.
	times=$(field "$set" 4)
	run "$run" $((seconds * ${times:-2})) "$(field "$set" 3)" \
		"$build/massif-ctl $(field "$set" 2) --massif-out-file=$work/profile.$set.%p --xtree-memory-file=$work/profile.$set.xtree.%p --log-file=$work/log.$set --" \
		$look
}

run alone1 "$seconds" '' '' $look
run alone2 "$seconds" '' '' $look
if ! ended_well "$work/alone1" && ! ended_well "$work/alone2" && [ -z "${ALIKE_CRASHES:-}" ]; then
	say - failed "alone: $(cat "$work/alone1/status"): $(tail -n 1 "$work/alone1/err")"
	exit 2
fi

status=0
alone_ms=$(cat "$work/alone1/time")
for set in $options; do
	profiled "$set" "$set"
	if ! prepared_alike "$set"; then
		say "$set" random "the preparation did not do the same again: $(tail -n 2 "$work/$set/prepared" | paste -sd ' ')"
		continue
	fi
	differences "$set"
	verdict=equal
	if [ -n "$differs" ]; then
		first=$differs
		verdict=differs
		# A crash or hang that happens only under massif is a difference, even if it is rare.
		if ended_well "$work/$set" || ! ended_well "$work/alone1"; then
			cp -r "$work/$set" "$work/$set.first"
			run alone3 "$seconds" '' '' $look
			if differs_alone; then
				verdict=random
			else
				profiled "$set" "$set"
				differences "$set"
				[ -n "$differs" ] || verdict=random
			fi
		fi
		differs=$first
	fi
	details=''
	[ "$verdict" = equal ] || details="in:$differs; "
	[ "$verdict" != differs ] || details="$details$(cat "$work/$set/status") (alone: $(cat "$work/alone1/status")); "
	[ -z "$partly" ] || details="${details}in part:$partly; "
	said=$(warnings "$work/log.$set")
	[ -z "$said" ] || details="${details}log: $said; "
	bad=$(bad_profiles "$set")
	[ -z "$bad" ] || { details="${details}profile:$bad; "; verdict=differs; }
	! grep -q '^massif-ctl: verified .* [1-9][0-9]* differ$' "$work/log.$set" 2>/dev/null || verdict=differs
	[ "$(largest_peak "$work/profile.$set")" -gt 0 ] || details="${details}no peak; "
	took=$(cat "$work/$set/time")
	details="${details}time $alone_ms -> $took ms; peak $(largest_peak "$work/profile.$set")"
	[ "$verdict" != differs ] || status=1
	say "$set" "$verdict" "$details"
done

if [ -n "$syscalls" ]; then
	"$here/syscalls.sh" "$work" "$seconds" "$preparation" "$command" | while IFS=$'\t' read -r verdict details; do
		say syscalls "$verdict" "$details"
	done
	[ "${PIPESTATUS[0]}" -eq 0 ] || status=1
fi

if [ -n "$valgrind" ]; then
	run valgrind $((seconds * 20)) '' "valgrind -q --tool=massif --massif-out-file=$work/theirs.%p"
	theirs=$(largest_peak "$work/theirs.") ours=$(largest_peak "$work/profile.default")
	say peak "$([ "$theirs" -gt 0 ] && echo equal || echo skipped)" "$(awk -v ours="$ours" -v theirs="$theirs" '
		BEGIN { if (!theirs) printf "Valgrind could not run it"
			else printf "%d, Valgrind %d, %+.2f %%", ours, theirs, (ours - theirs) * 100 / theirs }')"
fi

[ $status -ne 0 ] || [ -n "$keep" ] || rm -rf "$work"
exit $status

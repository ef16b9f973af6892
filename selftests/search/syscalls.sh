#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compares a command's system calls alone and under massif: syscalls.sh DIRECTORY SECONDS PREPARATION COMMAND
#
# For commands with one process and one thread. Compares the names and arguments of the calls in order, with numbers and
# addresses masked. They must be the same, except for the additional calls that syscalls.allowed permits. If two runs
# alone already differ, only the names are compared; if these differ, too, nothing is compared.
set -u
unset CDPATH # with CDPATH, cd may change to another directory, and print it

here=$(cd "$(dirname "$0")" && pwd -P)
build=${MASSIF_BUILD:-$(cd "$here/../.." && pwd -P)/build}
work=$1/syscalls seconds=$2 preparation=$3 command=$4
rm -rf "$work"
mkdir -p "$work"

trace() {
	local run=$1 prefix=$2
	rm -rf "${work:?}/now"
	mkdir -p "$work/now/home/tmp" "$work/$run"
	(
		cd "$work/now/home" || exit 125
		export HOME=$PWD TMPDIR=$PWD/tmp XDG_CACHE_HOME=$work/cache LC_ALL=C.UTF-8
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin SEARCH=$here
		sh -c "$preparation" < /dev/null > /dev/null 2>&1
		"$build/selftests/search/contain" -t $((seconds * 10)) -d "$work/now" -- \
			sh -c "exec strace -ff -s 64 -o '$work/$run/trace' $prefix $command"
	)
}

# Prints the calls of the program itself, from its execve on.
calls() {
	local file
	for file in "$work/$1"/trace.*; do
		grep -q '^execve(' "$file" || continue
		# Skip massif-ctl's own trace, which begins with the execve of massif-ctl.
		! head -1 "$file" | grep -q '^execve("[^"]*/massif-ctl"' || continue
		sed -n '/^execve(/,$p' "$file"
	done | sed -E 's/0x[0-9a-f]+/X/g; s/\b[0-9]{3,}\b/N/g; s/ +(= )/ \1/; s/(getrandom\()[^)]*/\1/; s/( = |[=\[, ])[0-9]+(\)?$)/\1N\2/;
		s#/\* [0-9N]+ vars \*/##; s/tv_n?sec=[0-9N]+/T/g; s/st_[mac]time=[^,}]*//g'
}

names() {
	sed 's/(.*//' "$1"
}

# added_to FILE REASONS: prints the calls in FILE that are not made alone and not permitted for one of these reasons.
added_to() {
	LC_ALL=C comm -13 <(LC_ALL=C sort "$work/alone1.calls") <(LC_ALL=C sort "$1") |
		grep -vE -f <(grep -v '^#' "$here/syscalls.allowed" | awk -F'\t' -v reasons="$2" '$2 ~ reasons { print $1 }')
}

trace alone1 ''
trace alone2 ''
trace ours "$build/massif-ctl -q --massif-out-file=$work/profile.%p --log-file=$work/log --"
for run in alone1 alone2 ours; do calls "$run" > "$work/$run.calls"; done
if [ ! -s "$work/ours.calls" ] || [ ! -s "$work/alone1.calls" ]; then
	printf 'random\tnot traced\n'
	exit
fi
how='names and arguments'
if ! cmp -s "$work/alone1.calls" "$work/alone2.calls"; then
	how='names only'
	for run in alone1 alone2 ours; do
		names "$work/$run.calls" > "$work/$run.names"
		mv "$work/$run.names" "$work/$run.calls"
	done
	cmp -s "$work/alone1.calls" "$work/alone2.calls" || {
		printf 'random\tnot the same calls in two runs alone\n'
		exit
	}
fi
diff "$work/alone1.calls" "$work/ours.calls" > "$work/difference"
# Calls that are made in another order are not counted as differences, only calls that are missing or additional.
missing=$(LC_ALL=C comm -23 <(LC_ALL=C sort "$work/alone1.calls") <(LC_ALL=C sort "$work/ours.calls"))
if [ "$how" = 'names only' ]; then
	added=$(LC_ALL=C comm -13 <(LC_ALL=C sort "$work/alone1.calls") <(LC_ALL=C sort "$work/ours.calls") |
		grep -vE "$(grep -oE '^\^[a-z0-9]+' "$here/syscalls.allowed" | sort -u | paste -sd '|')")
else
	# The start of the shim ends when it opens /proc/self/maps to read the list of objects.
	start=$(grep -n '^openat(AT_FDCWD, "/proc/self/maps"' "$work/ours.calls" | head -1 | cut -d: -f1)
	head -n "${start:-0}" "$work/ours.calls" > "$work/ours.start"
	tail -n "+$((${start:-0} + 1))" "$work/ours.calls" > "$work/ours.later"
	added=$({
		added_to "$work/ours.start" '.'
		# Skip the reads of that file, up to its close.
		added_to <(sed '1,/^close/d' "$work/ours.later") '^later: '
	})
fi
# The allocator's own calls depend on the addresses of its memory.
missing=$(printf '%s\n' "$missing" | grep -vE '^(brk|mmap|munmap|mprotect|execve|$)')
added=$(printf '%s\n' "$added" | grep -vE '^(execve|$)')
total=$(wc -l < "$work/alone1.calls")
if [ -n "$missing$added" ]; then
	printf 'differs\t%s: missing: %s; added: %s\n' "$how" "$(printf '%s' "$missing" | head -3 | paste -sd ';')" \
		"$(printf '%s' "$added" | head -3 | paste -sd ';')"
	exit 1
fi
printf 'equal\t%s of %s calls; %s more\n' "$how" "$total" "$(($(wc -l < "$work/ours.calls") - total))"

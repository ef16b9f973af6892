#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs tests of one kind one after another: run-batch.sh host|guest NAME...
#
# It does not judge results. It writes frames for report.pl, one in each line, each beginning with a word and
# a tab:
#
#	test NAME, out LINE, kernel LINE (a bad line of the kernel's log), error WORDS, end STATUS
#
# run-tests.sh adds two: boot, followed by KERNEL RELEASE or host, for the tests that follow; and note WORDS.
#
# In the guest, the batch ends with status 75 if the kernel can no longer be trusted: after a bad line (many
# warnings are printed only once in each boot), a module that cannot be unloaded, or a test that hangs.
set -u
unset CDPATH # or cd may go elsewhere, and print where

kind=${1:?usage: run-batch.sh host|guest NAME...}
shift
tools=$(cd "$(dirname "$0")" && pwd -P)
MASSIF_SRC=$(cd "$tools/../.." && pwd -P)
MASSIF_BUILD=${MASSIF_BUILD:-$MASSIF_SRC/build}
export MASSIF_SRC MASSIF_BUILD
# Variables that would set options of the tested programs or change the behaviour of their libraries.
# shellcheck disable=SC2086 # lists of names
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES MAKE_TERMOUT MAKE_TERMERR \
	MASSIF_OPTS VALGRIND_OPTS LD_PRELOAD LD_LIBRARY_PATH LD_BIND_NOW LD_DEBUG \
	POSIXLY_CORRECT LANG LANGUAGE LOCPATH BASH_ENV ENV GIT_DIR GIT_WORK_TREE PERL5OPT PERL5LIB \
	PYTHONPATH PYTHONSTARTUP PYTHONMALLOC PYTHONHOME GLIBC_TUNABLES \
	${!MALLOC_*} ${!LC_*} ${!DEBUGINFOD_*}
export LC_ALL=C
umask 022

default_limit=300
fresh_guest=75

frame() {
	printf '%s\t%s\n' "$1" "${2-}"
}

# Prints a field of the test's line in the table of its kind: 2 is whether it needs the module (yes, no, or stays:
# after the test it cannot be unloaded, so the guest is replaced), 3 its time limit in seconds. MASSIF_LIMIT replaces
# all time limits.
setting() {
	local value=
	if [ "$2" = 3 ] && [ -n "${MASSIF_LIMIT-}" ]; then
		printf '%s\n' "$MASSIF_LIMIT"
		return
	fi
	if [ -r "$MASSIF_SRC/selftests/$kind/tests.conf" ]; then
		value=$(awk -v name="$1" -v field="$2" '$1 == name { print $field }' \
			"$MASSIF_SRC/selftests/$kind/tests.conf")
	fi
	printf '%s\n' "${value:-$3}"
}

# Kills every process that is still in the session of a test that has ended.
kill_session() {
	local stat rest
	for stat in /proc/[0-9]*/stat; do
		# The command's name may contain spaces and brackets, so count the fields from the last
		# bracket.
		{ read -r rest < "$stat"; } 2> /dev/null || continue
		rest=${rest##*) }
		# shellcheck disable=SC2086 # fields: state, parent, group, session
		set -- $rest
		if [ "$4" = "$session" ]; then
			stat=${stat%/stat}
			kill -KILL "${stat#/proc/}" 2> /dev/null
		fi
	done
}

# Succeeds if a test was ended by timeout(1), given its status, duration and limit in seconds. The status
# alone, 124 or 137, may also be the test's own.
overdue() {
	[[ ($1 -eq 124 || $1 -eq 137) && $2 -ge $3 ]]
}

run() {
	local name=$1 limit=$2 dir=$3 program=$MASSIF_BUILD/selftests/$kind/$1 status started=$SECONDS

	if [ ! -x "$program" ]; then
		frame error "$program is not built"
		return 127
	fi
	rm -rf "$dir"
	mkdir -p "$dir/tmp"
	# A file instead of a pipe: a process that outlives the test must not delay us. And nothing may be
	# written to the cache of the user who runs the tests.
	: > "$dir/log"
	(cd "$dir/tmp" && TMPDIR=$dir/tmp XDG_CACHE_HOME=$dir/cache exec setsid timeout -k 10 "$limit" "$program") \
		> "$dir/log" 2>&1 < /dev/null &
	session=$!
	# Redirected, because bash would report a crash that report.pl reports anyway.
	{
		tail -n +1 -s 0.1 -f --pid=$session "$dir/log" | sed -u 's/^/out\t/'
		wait $session
		status=$?
	} 2> /dev/null
	kill_session
	# An incomplete last line would join with the next frame.
	[ -z "$(tail -c 1 "$dir/log")" ] || echo
	if overdue $status $((SECONDS - started)) "$limit"; then
		frame error "no end within $limit s"
	fi
	[ $status -ne 0 ] || rm -rf "$dir"
	return $status
}

run_host() {
	local limit
	limit=$(setting "$1" 3 $default_limit)
	frame test "host/$1"
	run "$1" "$limit" "$MASSIF_BUILD/selftests/tmp/host-$1"
	frame end $?
}

loaded() {
	[ -d /sys/module/massif ]
}

load() {
	local module said
	module=$MASSIF_BUILD/kmod/$(uname -r)/massif.ko
	if ! said=$(insmod "$module" 2>&1); then
		frame error "insmod $module: $said"
		return 1
	fi
}

# A test program that is being killed may use the module for a moment longer.
unload() {
	local said
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		said=$(rmmod massif 2>&1) && return
		sleep 0.5
	done
	frame error "rmmod after the test: $said"
	return 1
}

# Prints the kernel's log since the test began, without lines that do not come from massif.ko.
log_of() {
	dmesg | sed -n "/massif-selftest: $1\$/,\$p" |
		grep -v -E -f <(grep -v '^#' "$MASSIF_SRC/selftests/vm/known-lines")
}

bad_lines() {
	log_of "$1" | grep -E -f "$MASSIF_SRC/selftests/vm/bad-lines"
}

# The lines that belong to a bad line follow it: a call trace, a lock's history.
show_bad_lines() {
	local line
	log_of "$1" |
		grep -E -A 60 -f "$MASSIF_SRC/selftests/vm/bad-lines" | head -n 200 |
		while IFS= read -r line; do frame kernel "$line"; done
}

# On kernels with kmemleak: memory that was allocated since the test began and is not referenced any more
# gives a bad line. kmemleak does not report memory younger than five seconds, nor in its first scan.
kmemleak=/sys/kernel/debug/kmemleak

# Turns off the kernel's own scans, every ten minutes. With CONFIG_PREEMPT, their thread does not sleep during a scan, which
# takes minutes on a busy machine. Until it sleeps, no grace period of RCU tasks ends, and the module cannot be unloaded.
stop_own_scans() {
	[ ! -w $kmemleak ] || echo scan=off > $kmemleak
}

forget_leaks() {
	[ ! -w $kmemleak ] || echo clear > $kmemleak
}

look_for_leaks() {
	local line
	[ -w $kmemleak ] || return 0
	sleep 6
	echo scan > $kmemleak
	echo scan > $kmemleak
	head -n 200 $kmemleak | while IFS= read -r line; do frame kernel "$line"; done
}

# The factor for timeouts: KASAN and similar checks make all code many times slower, especially in QEMU.
# Multiplies the factor in the environment, which is for a busy machine.
patience() {
	if grep -q ' kasan_quarantine_put$' /proc/kallsyms; then echo 8; else echo 1; fi
}

run_guest() {
	local name=$1 limit needs status=0 suspect=0 started=$SECONDS
	limit=$(($(setting "$name" 3 $default_limit) * MASSIF_PATIENCE))
	needs=$(setting "$name" 2 yes)

	frame test "guest/$name"
	echo "begin $name" >> "$MASSIF_RESULTS/progress"
	echo "massif-selftest: $name" > /dev/kmsg
	forget_leaks
	if [ "$needs" != yes ] || load; then
		run "$name" "$limit" "/run/tmp/$name"
		status=$?
	else
		status=126
	fi
	if loaded && [ "$needs" = stays ]; then
		suspect=1
	elif loaded; then
		[ "$needs" = yes ] || frame error "the test left the module loaded"
		unload || suspect=1
	elif [ "$needs" = yes ] && [ $status -ne 126 ]; then
		frame error "the test took the module away that it said it needs"
	fi
	look_for_leaks
	if bad_lines "$name" > /dev/null; then
		show_bad_lines "$name"
		suspect=1
	fi
	if overdue $status $((SECONDS - started)) "$limit"; then
		suspect=1
	fi
	frame end $status
	echo "end $name" >> "$MASSIF_RESULTS/progress"
	[ $suspect -eq 0 ] || exit $fresh_guest
}

export MASSIF_PATIENCE=${MASSIF_PATIENCE:-1}
if [ "$kind" = guest ]; then
	MASSIF_PATIENCE=$((MASSIF_PATIENCE * $(patience)))
	stop_own_scans
fi
for name; do
	"run_$kind" "$name"
done

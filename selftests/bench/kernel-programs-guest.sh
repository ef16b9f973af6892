#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs in the guest of kernel.sh: measures real programs, alternately native and in each mode, and then under Valgrind.
# Prints lines "program PROGRAM HOW PROGRAM-NS OTHER-NS", with the CPU time of the program and that of all other processes
# of the command, in nanoseconds.
#
# massif-ctl has other children than the program, for example those that read names. So the program enters a control group
# of its own before it is executed, and is followed there (--trace-children).
set -eu
unset CDPATH # with CDPATH, cd may change to another directory, and print it

build=${MASSIF_BUILD:-build}
own=$build/selftests/bench/own
pairs=${PAIRS:-3}
work=$(mktemp -d)
cd "$work"
mkdir groups
mount -t cgroup2 none groups
cat > enter <<'WORDS'
echo $$ > "$1"/cgroup.procs
shift
exec "$@"
WORDS

python="import json; d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)}; json.loads(json.dumps(d))"
sqlite="create table t(a integer primary key, b);
with recursive c(x) as (select 1 union all select x+1 from c where x<20000)
insert into t select x, hex(x)||'abcdefghijklmnop' from c; create index i on t(b);"

run() {
	program=$1 how=$2
	shift 2
	mkdir groups/program
	set -- "$@" /bin/sh enter groups/program
	case $program in
	python3) set -- "$@" /usr/bin/python3 -c "$python" ;;
	sqlite3) set -- "$@" /usr/bin/sqlite3 :memory: "$sqlite" ;;
	esac
	"$own" result "$@" > out 2>&1
	read -r itself below status < result
	[ "$status" = 0 ] || { cat out >&2; exit 1; }
	inside=$(sed -n 's/^usage_usec //p' groups/program/cpu.stat)
	rmdir groups/program
	rm -f massif.out.* recording
	echo "program $program $how $((inside * 1000)) $((itself + below - inside * 1000))"
}

insmod "${MASSIF_KO:-$build/kmod/$(uname -r)/massif.ko}"
for program in python3 sqlite3; do
	# A first run reads the files into the page cache.
	run $program warm
	for ((i = 0; i < pairs; i++)); do
		run $program native
		run $program pages "$build/massif-ctl" --trace-children=yes --pages-as-heap=yes
		run $program native
		run $program resident "$build/massif-ctl" --trace-children=yes --pages=resident
		run $program heap "$build/massif-ctl" record --trace-children=yes --record=recording
		run $program rss "$build/massif-ctl" record --trace-children=yes --record=recording --rss=module
	done
	run $program valgrind valgrind --trace-children=yes --tool=massif --pages-as-heap=yes
done
rmmod massif
umount groups
cd /
rm -r "$work"

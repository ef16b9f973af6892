#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs in the guest of kernel.sh: measures real programs, alternately native and in pages mode, and then under Valgrind.
# Prints lines "program PROGRAM HOW OWN BELOW". OWN is the CPU time of the command in nanoseconds, BELOW that of its
# children.
set -eu
unset CDPATH # with CDPATH, cd may change to another directory, and print it

build=${MASSIF_BUILD:-build}
own=$build/selftests/bench/own
pairs=${PAIRS:-3}
work=$(mktemp -d)
cd "$work"

python="import json; d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)}; json.loads(json.dumps(d))"
sqlite="create table t(a integer primary key, b);
with recursive c(x) as (select 1 union all select x+1 from c where x<20000)
insert into t select x, hex(x)||'abcdefghijklmnop' from c; create index i on t(b);"

run() {
	program=$1 how=$2
	shift 2
	case $program in
	python3) set -- "$@" /usr/bin/python3 -c "$python" ;;
	sqlite3) set -- "$@" /usr/bin/sqlite3 :memory: "$sqlite" ;;
	esac
	"$own" result "$@" > out 2>&1
	read -r itself below status < result
	[ "$status" = 0 ] || { cat out >&2; exit 1; }
	echo "program $program $how $itself $below"
}

insmod "${MASSIF_KO:-$build/kmod/$(uname -r)/massif.ko}"
for program in python3 sqlite3; do
	# A first run reads the files into the page cache.
	run $program warm
	for ((i = 0; i < pairs; i++)); do
		run $program native
		run $program pages "$build/massif-ctl" --pages-as-heap=yes
		run $program native
		run $program resident "$build/massif-ctl" --pages=resident
	done
	run $program valgrind valgrind --tool=massif --pages-as-heap=yes
done
rmmod massif

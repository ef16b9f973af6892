#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest of kernel.sh: real programs, native and in pages mode in turn, and with Valgrind.
# Prints lines "program PROGRAM HOW OWN BELOW", nanoseconds: of the command, and of what it started.
set -eu
unset CDPATH # or cd may go elsewhere, and print where

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
	# The first reads the files.
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

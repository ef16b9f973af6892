#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Shows what massif is for: the heap of a real program here, its pages in a QEMU guest with massif.ko
set -eu

tools=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$tools/../.." && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$source/build}
out=$MASSIF_BUILD/demo
cd "$source"

# A document of twenty thousand records: made, written as JSON, read back. Python's malloc'ed
# objects are asked of the C library one by one only with PYTHONMALLOC=malloc.
program='
import json
records = [{"id": i, "name": "record %d" % i, "tags": ["even", "odd"][i % 2:]} for i in range(20000)]
text = json.dumps(records)
copy = json.loads(text)
assert copy == records
'

step() {
	printf '\n== %s\n' "$*"
}

# The two lines that say what follows.
explain() {
	printf '\n%s\n%s\n\n' "$1" "$2"
}

mkdir -p "$out"
rm -f "$out"/*.out

step "heap mode, on this machine: massif-ctl --time-unit=B python3 (a JSON document)"
PYTHONMALLOC=malloc "$MASSIF_BUILD/massif-ctl" --time-unit=B \
	--massif-out-file="$out/heap.out" /usr/bin/python3 -c "$program"

release=$(selftests/vm/kernel.sh release)
step "pages mode, in QEMU with Linux $release: insmod massif.ko; massif-ctl --pages-as-heap python3"
# shellcheck disable=SC2016 # the guest's shell expands these
selftests/vm/run.sh --results "$out" --timeout 300 -- bash -euc '
	insmod "$0/kmod/$(uname -r)/massif.ko"
	"$0/massif-ctl" --pages-as-heap=yes --massif-out-file="$MASSIF_RESULTS/pages.out" \
		/usr/bin/python3 -c "$1"
	rmmod massif
' "$MASSIF_BUILD" "$program"

explain 'What malloc gave python3, byte by byte: how its heap grew while the document was built, and at the' \
	'marked snapshots which calls had asked for it. @ is a snapshot with such a tree, # the peak.'
"$MASSIF_BUILD/ms_print" "$out/heap.out"

explain 'The same program seen by the kernel: every page it mapped, by mmap, brk, its stack and the loader,' \
	'as massif.ko recorded it in the guest; the tree says which calls asked the kernel for them.'
"$MASSIF_BUILD/ms_print" "$out/pages.out"

step "the reports' data: $out/heap.out and $out/pages.out; print them again with build/ms_print"

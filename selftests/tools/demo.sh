#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Demonstrates massif: the heap of a real program on this machine, and its pages in a QEMU guest with
# massif.ko
set -eu
unset CDPATH # or cd may go elsewhere, and print where

tools=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$tools/../.." && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$source/build}
out=$MASSIF_BUILD/demo
# Perl, because nearly all of its functions have names; the text files are on every Debian machine.
program=(/usr/bin/perl selftests/targets/words.pl /usr/share/common-licenses)
# For a report of a few pages: fewer snapshots, and trees without small contexts.
brief=(--threshold=5 --max-snapshots=30 --peak-inaccuracy=5)
cd "$source"

step() {
	printf '\n== %s\n\n' "$*"
}

# Prints two lines about the next step.
explain() {
	printf '\n%s\n%s\n' "$1" "$2"
}

mkdir -p "$out"
rm -f "$out"/*.out

step "heap mode, on this machine: massif-ctl run ${program[*]}"
"$MASSIF_BUILD/massif-ctl" run --time-unit=B "${brief[@]}" --massif-out-file="$out/heap.out" \
	"${program[@]}"

release=$(selftests/vm/kernel.sh release)
step "pages mode, in QEMU with Linux $release: insmod massif.ko; massif-ctl --pages-as-heap=yes ${program[*]}"
# shellcheck disable=SC2016 # the guest's shell expands these
selftests/vm/run.sh --results "$out" --timeout 300 -- bash -euc '
	insmod "$MASSIF_BUILD/kmod/$(uname -r)/massif.ko"
	"$MASSIF_BUILD/massif-ctl" --massif-out-file="$MASSIF_RESULTS/pages.out" "$@"
	rmmod massif
' demo --pages-as-heap=yes --time-unit=ms "${brief[@]}" "${program[@]}"

explain 'What malloc gave to perl: how its heap grew while it made an index of words. Snapshots drawn with @' \
	'and # (the peak) come with a tree: the calls that had asked for the memory, the largest first.'
"$MASSIF_BUILD/ms_print" --threshold=5 "$out/heap.out"

explain 'The same program as the kernel sees it: all the pages it mapped, by mmap, brk and exec, as massif.ko' \
	'recorded them in the guest. The trees say which calls had asked the kernel for them.'
"$MASSIF_BUILD/ms_print" --threshold=5 "$out/pages.out"

step "to print them again: build/ms_print ${out#"$source"/}/heap.out (and pages.out)"

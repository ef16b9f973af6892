#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures the cost of massif.ko in guest instructions. Prints three tables for each kernel: kernel.sh [KERNEL...]
#
# With -icount, QEMU's time stamp counter counts instructions. Without address randomisation, the results of two runs
# differ by at most 0.3 %. A rep movs counts once for each element. vm/run.sh disables erms and fsrm, so the kernel
# copies words: with bytes, clearing a page would count as 4,096 instructions. The guest's clock jumps ahead whenever
# the guest is idle, so a time limit in guest seconds is meaningless.
set -eu
unset CDPATH # with CDPATH, cd may change to another directory, and print it

here=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$source/build}

table() {
	awk -v release="$1" '
		{ median[$1, $2] = $3 }
		END {
			print ""
			print "Linux " release ": guest instructions, median; + what is added to the first column"
			printf "%-34s %9s", "", "unloaded"
			states = split("loaded open bare traced known r-open r-bare r-traced r-known closed", state, " ")
			for (s = 1; s <= states; s++)
				printf " %9s", state[s]
			print ""
			paths = split("pair|mmap+munmap|merged|mmap+munmap, merged with neighbours|" \
				      "fault|anonymous page fault|syscall|system call", path, "|")
			for (p = 1; p < paths; p += 2) {
				base = median["unloaded", path[p]]
				printf "%-34s %9d", path[p + 1], base
				for (s = 1; s <= states; s++)
					printf " %+9d", median[state[s], path[p]] - base
				print ""
			}
		}'
	cat <<'WORDS'
loaded: no session. open: a session, and another process in it. bare: this process traced, without
stacks. traced: with stacks, 2 KiB deep, that are captured each time. known: with stacks that are known,
by 36 words, as those of some twenty frames are. r-: the same, and told what is resident. closed:
after the last session.
WORDS
}

programs() {
	awk -v release="$1" '
		function median(list, sorted, n, i, j, word) {
			n = split(list, sorted, " ")
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && sorted[j - 1] + 0 > sorted[j] + 0; j--) {
					word = sorted[j]
					sorted[j] = sorted[j - 1]
					sorted[j - 1] = word
				}
			return sorted[int((n + 1) / 2)] / 1e6
		}
		$1 == "program" {
			program[$2, $3] = program[$2, $3] " " $4
			others[$2, $3] = others[$2, $3] " " $5
			if (!seen[$2]++)
				order[++n] = $2
		}
		END {
			print ""
			print "Linux " release ": CPU time of programs, millions of guest instructions, median"
			printf "%-10s %8s  %-26s %-26s %-18s\n", "", "native", "massif-ctl --pages-as-heap", \
			       "massif-ctl --pages=resident", "valgrind massif"
			printf "%-10s %8s  %8s %6s %10s %9s %6s %10s %9s %7s\n", "", "", "program", "ratio", \
			       "massif-ctl", "program", "ratio", "massif-ctl", "program", "ratio"
			for (i = 1; i <= n; i++) {
				name = order[i]
				native = median(program[name, "native"])
				pages = median(program[name, "pages"])
				resident = median(program[name, "resident"])
				valgrind = median(program[name, "valgrind"])
				printf "%-10s %8.1f  %8.1f %6.3f %10.1f %9.1f %6.3f %10.1f %9.1f %7.1f\n", name, \
				       native, pages, pages / native, median(others[name, "pages"]), resident, \
				       resident / native, median(others[name, "resident"]), valgrind, \
				       valgrind / native
			}
			print ""
			print "The same: heap mode, without and with --rss=module"
			printf "%-10s %8s  %-26s %-26s %9s\n", "", "native", "massif-ctl record", \
			       "and --rss=module", "sum"
			printf "%-10s %8s  %8s %6s %10s %8s %6s %10s %9s\n", "", "", "program", "ratio", \
			       "massif-ctl", "program", "ratio", "massif-ctl", "program"
			for (i = 1; i <= n; i++) {
				name = order[i]
				native = median(program[name, "native"])
				heap = median(program[name, "heap"])
				rss = median(program[name, "rss"])
				printf "%-10s %8.1f  %8.1f %6.3f %10.1f %8.1f %6.3f %10.1f %9.1f\n", name, native, \
				       heap, heap / native, median(others[name, "heap"]), rss, rss / native, \
				       median(others[name, "rss"]), \
				       heap + median(program[name, "resident"]) - native
			}
		}'
	cat <<'WORDS'
native and each of the ways of massif-ctl in turn, three times. program: from its execution on; massif-ctl: all
its processes, beside the program. valgrind: --tool=massif --pages-as-heap=yes, in which the two are one process.
sum: the program with massif-ctl record, and what --pages=resident adds to the program.
WORDS
}

guest() {
	"$source/selftests/vm/run.sh" --kernel "$release" --smp 1 --timeout 100000 --append 'nokaslr norandmaps' \
		--qemu '-icount shift=0,sleep=off' --console "$MASSIF_BUILD/guest/bench-console.log" \
		-- "$@"
}

[ $# -gt 0 ] || set -- 6.1 6.12
for release; do
	guest selftests/bench/kernel-guest.sh > "$MASSIF_BUILD/guest/bench-$release"
	table "$release" < "$MASSIF_BUILD/guest/bench-$release"
	guest selftests/bench/kernel-programs-guest.sh > "$MASSIF_BUILD/guest/bench-programs-$release"
	programs "$release" < "$MASSIF_BUILD/guest/bench-programs-$release"
done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What massif.ko costs, in guest instructions: a table a kernel: kernel.sh [KERNEL...]
#
# Under -icount QEMU's time stamp counter counts instructions, and without address randomisation two
# runs agree to 0.3 %. A rep movs counts once for each element, so the kernel is told (no erms, no
# fsrm) to copy words and not bytes: by bytes, a page to clear would count as 4,096. The guest's clock
# leaps whenever it waits, so a limit in its seconds means nothing.
set -eu

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

[ $# -gt 0 ] || set -- 6.1 6.12
for release; do
	"$source/selftests/vm/run.sh" --kernel "$release" --smp 1 --timeout 100000 --append 'nokaslr norandmaps' \
		--qemu '-cpu max,-erms,-fsrm -icount shift=0,sleep=off' --console "$MASSIF_BUILD/guest/bench-console.log" \
		-- selftests/bench/kernel-guest.sh > "$MASSIF_BUILD/guest/bench-$release"
	table "$release" < "$MASSIF_BUILD/guest/bench-$release"
done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs fuzzers that were built before, JOBS at a time, and prints what they found: fuzz.sh SECONDS [FUZZER...]
#
# In $MASSIF_BUILD/fuzz, inputs/FUZZER/ has the first inputs (seeds.sh); corpus/FUZZER/ keeps the inputs that reached new code,
# for later runs. found/FUZZER/ contains the inputs on which the fuzzer failed, and FUZZER.log the messages.
set -u

here=$(cd "$(dirname "$0")" && pwd -P)
fuzz=${MASSIF_BUILD:-$(cd "$here/../.." && pwd -P)/build}/fuzz
seconds=$1
shift
if [ ! -e "$fuzz/inputs/made" ]; then
	echo "fuzz.sh: there are no inputs in $fuzz; make fuzzers makes them" >&2
	exit 2
fi

names=("$@")
if [ $# -eq 0 ]; then
	for file in "$here"/*.c; do
		file=${file##*/}
		names+=("${file%.c}")
	done
fi

# AddressSanitizer usually keeps 256 MB of freed memory, which makes fuzzers that allocate much several times slower.
export ASAN_OPTIONS=quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# The time limit for one input is 25 seconds. That is a thousand times what the slowest one takes on an idle machine.
run_one() {
	local name=$1 status
	mkdir -p "$fuzz/corpus/$name" "$fuzz/found/$name"
	"$fuzz/$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -keep_seed=1 -print_final_stats=1 \
		-artifact_prefix="$fuzz/found/$name/" "$fuzz/corpus/$name" "$fuzz/inputs/$name" > "$fuzz/$name.log" 2>&1
	status=$?
	awk -v name="$name" -v status=$status '
		/cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
		/^stat::number_of_executed_units/ { runs = $2 }
		/^SUMMARY: / && !why { why = substr($0, 10) }
		END {
			result = status ? (why ? why : "status " status) : "nothing"
			printf "%-10s %12s %8s   %s\n", name, runs ? runs : "-", edges ? edges : "-", result
		}' "$fuzz/$name.log"
	return $status
}

printf '%-10s %12s %8s   %s\n' fuzzer inputs edges found
failed=0 running=0
for name in "${names[@]}"; do
	if [ ! -x "$fuzz/$name" ]; then
		echo "fuzz.sh: there is no fuzzer $name; those there are: $(cd "$here" && echo *.c | sed 's/\.c//g')" >&2
		exit 2
	fi
	if [ $running -ge "${JOBS:-$(nproc)}" ]; then
		wait -n || failed=1
		running=$((running - 1))
	fi
	run_one "$name" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || failed=1
	running=$((running - 1))
done
if [ $failed -ne 0 ]; then
	echo "the inputs are in $fuzz/found: run $fuzz/FUZZER with one of them"
fi
exit $failed

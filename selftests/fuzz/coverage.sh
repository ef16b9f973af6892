#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prints how much of each source file the collected inputs of fuzzers reach, in lines: coverage.sh FUZZER...
#
# The fuzzers in $MASSIF_BUILD/fuzz-coverage/fuzz must have been compiled with -fprofile-instr-generate -fcoverage-mapping.
# The inputs are the seeds, and those of corpus/FUZZER/ in $MASSIF_BUILD/fuzz. What was never reached is in
# $MASSIF_BUILD/fuzz-coverage/FUZZER.missed: each line of the sources that was compiled and never run, with its number.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
build=${MASSIF_BUILD:-$(cd "$here/../.." && pwd -P)/build}
covered=$build/fuzz-coverage

# Prints the files of a report of llvm-cov of which something was reached: lines, reached lines, share, name.
reached() {
	awk 'NF == 13 && $8 > $9 { printf "%6d %6d %4d %%  %s\n", $8, $8 - $9, 100 * ($8 - $9) / $8, $1 }'
}

printf '%6s %6s %6s  %s\n' lines reached share file
for name; do
	fuzzer=$covered/fuzz/$name profile=$covered/$name.prof
	rm -f "$covered/$name".*.profraw
	mkdir -p "$build/fuzz/corpus/$name"
	LLVM_PROFILE_FILE=$covered/$name.%p.profraw "$fuzzer" -runs=0 "$build/fuzz/corpus/$name" "$covered/fuzz/inputs/$name" \
		> "$covered/$name.log" 2>&1 || { tail -n 20 "$covered/$name.log"; exit 1; }
	llvm-profdata merge -o "$profile" "$covered/$name".*.profraw
	printf '%s\n' "$name:"
	llvm-cov report "$fuzzer" -instr-profile="$profile" | reached
	llvm-cov show "$fuzzer" -instr-profile="$profile" | grep -E '^/|\|      0\|' > "$covered/$name.missed" || :
done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the tests that were built and reports; those of the guest run in one guest for each kernel:
# run-tests.sh
#
# JOBS is how many jobs (the host, each kernel) run side by side; the default is the number of processors.
#
# TESTS selects tests by shell patterns, each of which is matched with "host/NAME", "guest/NAME" and NAME.
#
# KERNELS are the kernels to boot, as named by vm/kernel.sh. All except the first run only the tests for which
# selftests/guest/tests.conf requires all kernels, unless EVERYWHERE is set. MASSIF_GUEST_APPEND has words for
# their command lines.
#
# OUTPUT=yes prints the output of tests that passed, too.
#
# A guest that died or can no longer be trusted is replaced by a fresh one.
set -u
unset CDPATH # or cd may go elsewhere, and print where

tools=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$tools/../.." && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$source/build}
cd "$source" || exit 1
mkdir -p "$MASSIF_BUILD/selftests" "$MASSIF_BUILD/guest"
results=$(mktemp -d "$MASSIF_BUILD/guest/tests.XXXXXX") || exit 1
trap 'rm -rf "$results"' EXIT
# A cache of an older version must not hide faults of this one.
export XDG_CACHE_HOME=$results/cache
mkdir "$XDG_CACHE_HOME"
trap 'exit 130' INT
trap 'exit 143' TERM HUP

frame() {
	printf '%s\t%s\n' "$1" "${2-}"
}

# Prints the names of the selected tests of a kind.
selected() {
	local kind=$1 file name pattern patterns=()
	read -ra patterns <<< "${TESTS:-*}"
	for file in "selftests/$kind"/*.c; do
		[ -e "$file" ] || continue
		name=${file##*/}
		name=${name%.c}
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # patterns are wanted
			if [[ $name == $pattern || $kind/$name == $pattern ]]; then
				printf '%s\n' "$name"
				break
			fi
		done
	done
}

console_frames() {
	local line
	tail -n 80 "$1" | tr -d '\r' | while IFS= read -r line; do frame kernel "$line"; done
}

# Prints how many tests have ended, and the test that has begun but not ended, if any.
progress() {
	awk '$1 == "begin" { open = $2 } $1 == "end" { open = ""; ended++ }
	     END { print ended + 0, open }' "$1"
}

# Prints the kernels that tests.conf requires for a test.
kernels_of() {
	awk -v name="$1" '$1 == name { kernels = $4 } END { print kernels == "" ? "first" : kernels }' \
		selftests/guest/tests.conf
}

# Prints those of the given tests that are required on all kernels.
everywhere() {
	local name
	for name; do
		[ "$(kernels_of "$name")" != all ] || printf '%s\n' "$name"
	done
}

# Prints those of the given tests that do not need a debug kernel.
without_debug() {
	local name
	for name; do
		[ "$(kernels_of "$name")" = debug ] || printf '%s\n' "$name"
	done
}

run_guests() {
	local kernel=$1 remaining=("${@:2}") status ended open release patience=1 append=${MASSIF_GUEST_APPEND-}
	local shared=$results/${kernel//\//_}
	local console=$shared/console.log log=$shared/vm.log
	mkdir -p "$shared"
	release=$(selftests/vm/kernel.sh release "$kernel") || release=unknown
	frame boot "${kernel##*/} $release"
	# A kernel given as a directory may be a debug kernel: allow for its slowness, and stop at the first
	# warning.
	case $kernel in
	*/*) patience=8 append+=" panic_on_warn=1 slub_debug=P" ;;
	*) mapfile -t remaining < <(without_debug "${remaining[@]}") ;;
	esac
	while [ ${#remaining[@]} -gt 0 ]; do
		frame note "booting Linux $release in QEMU, for ${#remaining[@]} guest tests"
		: > "$shared/progress"
		# The guest ends with its tests, each of which has a time limit.
		selftests/vm/run.sh --kernel "$kernel" \
			--timeout $((${MASSIF_LIMIT:-600} * patience * ${#remaining[@]})) --results "$shared" --console "$console" \
			--append "$append" \
			-- selftests/tools/run-batch.sh guest "${remaining[@]}" \
			2> "$log"
		status=$?
		read -r ended open < <(progress "$shared/progress")
		if [ -n "$open" ]; then
			frame test "guest/$open"
			console_frames "$console"
			frame error "the guest died, or hung, during this test"
			frame end 125
			ended=$((ended + 1))
		elif [ "$ended" -eq 0 ]; then
			frame test guest/boot
			while IFS= read -r line; do frame out "$line"; done < "$log"
			frame error "no guest test could start (status $status)"
			frame end 125
			return
		elif [ $status -ne 0 ] && [ $status -ne 75 ]; then
			frame test guest/runner
			while IFS= read -r line; do frame out "$line"; done < "$log"
			frame error "the guest ended with status $status between two tests"
			frame end $status
		fi
		remaining=("${remaining[@]:$ended}")
	done
}

mapfile -t host < <(selected host)
mapfile -t guest < <(selected guest)
read -ra kernels <<< "${KERNELS:-${GUEST_KERNEL:-6.1}}"
mapfile -t rest < <([ -n "${EVERYWHERE:-}" ] && printf '%s\n' "${guest[@]}" || everywhere "${guest[@]}")

# Runs one job: "host" or a kernel.
run_job() {
	case $1 in
	host)
		frame host
		selftests/tools/run-batch.sh host "${host[@]}"
		;;
	"${kernels[0]}") run_guests "$1" "${guest[@]}" ;;
	*) run_guests "$1" "${rest[@]}" ;;
	esac
}

# Runs jobs that no other lane has begun, until there are none.
run_lane() {
	local next
	while next=$(take_job) && [ "$next" -lt ${#jobs[@]} ]; do
		run_job "${jobs[next]}"
	done 2>&1
}

take_job() {
	local next
	{
		flock 9
		next=$(cat "$results/next")
		echo $((next + 1)) > "$results/next"
		echo "$next"
	} 9> "$results/lock"
}

# The longest job first.
jobs=()
[ ${#guest[@]} -eq 0 ] || jobs+=("${kernels[0]}")
[ ${#host[@]} -eq 0 ] || jobs+=(host)
[ ${#rest[@]} -eq 0 ] || jobs+=("${kernels[@]:1}")
echo 0 > "$results/next"

lanes=()
for ((i = 0; i < ${JOBS:-$(nproc)}; i++)); do
	exec {lane}< <(run_lane)
	lanes+=("/dev/fd/$lane")
done
"$tools/report.pl" "$MASSIF_BUILD/selftests/summary" "${lanes[@]}"

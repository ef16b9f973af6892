#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of check-rules.sh that runs in the guest: runs the tests in MASSIF_RESULTS/list with components
# that lack a rule
#
# Each line of the list has: the name of the log; a directory with files to use instead of those in the build
# directory (-: none); the test; its cases.
set -u

place() {
	local file
	[ "$1" != - ] || return 0
	while IFS= read -r file; do
		/bin/busybox mount -o bind "$1/$file" "$MASSIF_BUILD/$file" || exit 1
		placed+=("$MASSIF_BUILD/$file")
	done < <(cd "$1" && find . -type f)
}

tools=$(cd "$(dirname "$0")" && pwd -P)
while read -r name files test cases; do
	placed=()
	place "$files"
	echo "begin $name" >> "$MASSIF_RESULTS/rules"
	MASSIF_CASES=$cases
	export MASSIF_CASES
	[ -n "$cases" ] || unset MASSIF_CASES
	"$tools/run-batch.sh" guest "${test#guest/}" > "$MASSIF_RESULTS/$name.log" 2>&1 < /dev/null
	status=$?
	echo "end $name" >> "$MASSIF_RESULTS/rules"
	[ ${#placed[@]} -eq 0 ] || /bin/busybox umount "${placed[@]}"
	# The test runner's status if the kernel can no longer be trusted: the remaining tests need a fresh
	# guest.
	[ $status -ne 75 ] || exit 75
done < "$MASSIF_RESULTS/list"

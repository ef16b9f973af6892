#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest, for check-rules.sh: runs tests with parts of massif that lack a rule, as MASSIF_RESULTS/list says
#
# A line of the list: the name of the log, a directory whose files are to be used in place of those in the build
# directory (-: none), the test, its cases.
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
	# What it says when the kernel is not to be trusted any more: the rest is for a fresh guest.
	[ $status -ne 75 ] || exit 75
done < "$MASSIF_RESULTS/list"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prints a table (in RST) of the results of check-programs.sh: table.sh DIRECTORY
set -u
results=$1

sets() {
	[ ! -f "$results/$1.result" ] || awk -F'\t' '$2 ~ /^[a-z]+$/ && $2 != "peak" && $2 != "syscalls" { printf "%s%s", sep, $2; sep = " " }' "$results/$1.result"
}

peak() {
	[ ! -f "$results/$1.result" ] || awk -F'\t' '
		$2 == "default" { ours = $4; sub(/.*peak /, "", ours) }
		$2 == "peak" && $3 == "equal" { split($4, part, ", "); theirs = part[3] }
		END { printf "%.1f MB\t%s", ours / 1e6, theirs ? theirs : "-" }' "$results/$1.result"
}

line() {
	printf '%-15s  %-28s  %-8s  %-5s  %-44s  %10s  %9s\n' "$@"
}

rule() {
	line =============== ============================ ======== ===== ============================================ ========== =========
}

echo "Date: $(date +%Y-%m-%d), $(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r), $(nproc) processors"
echo
rule
line program version result run 'sets of options' peak 'Valgrind'
rule
while IFS=$'\t' read -r name version verdict date _; do
	IFS=$'\t' read -r ours theirs < <(peak "$name"; echo)
	line "$name" "$version" "$verdict" "$date" "$(sets "$name")" "${ours:--}" "${theirs:--}"
done < "$results/table"
rule

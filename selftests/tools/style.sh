#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks the form of the sources: style.sh [RULE...]
#
# Prints what breaks a rule, as FILE:LINE: text, and exits with 1 if there is any. Without RULE, all rules are checked.
set -u
unset CDPATH # or cd may go elsewhere, and print where

cd "$(dirname "$0")/../.." || exit 2

# Tabs count as eight. Aim at 120: a name or a string that does not fit must not lead to ugly code.
readonly COLUMNS_MAX=128
readonly LINES_MAX=800

# Name, what is checked. The functions check_NAME below do it.
rules='
licence|each source begins with its SPDX identifier
columns|lines have at most 128 columns
blanks|no blanks at the ends of lines; C is indented with tabs
length|a file has at most 800 lines
guards|the guard of a header is its path
layout|the top level has only the folders and kinds of files that are listed here
versions|what depends on the version of the kernel is in kmod/compat
overview|overview.rst names each file of the module, the shim, userland and ms_print in one table
scripts|shellcheck finds nothing
spelling|codespell finds nothing
patches|the patches of selftests/rules apply to the sources
'

files() {
	# Also in somebody else's clone.
	git -c safe.directory='*' ls-files -- "$@"
}

sources() {
	files '*.c' '*.h' '*.S' '*.cc'
}

check_licence() {
	local file
	{ sources; files '*.sh' '*.mk' '*.py' '*.rst' Makefile Kbuild; } | while IFS= read -r file; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file:1: no SPDX-License-Identifier"
	done
}

check_columns() {
	local file
	sources | while IFS= read -r file; do
		expand -t 8 "$file" | awk -v file="$file" -v most="$COLUMNS_MAX" '
			length($0) > most { print file ":" FNR ": " length($0) " columns" }'
	done
}

check_blanks() {
	local list
	mapfile -t list < <(sources)
	grep -nE '[[:blank:]]+$' "${list[@]}"
	# The continuation of a comment begins with one blank.
	grep -nE '^ {8}' "${list[@]}" | grep -v '^[^:]*:[0-9]*: *\*'
}

check_length() {
	local list
	mapfile -t list < <(sources)
	awk -v most="$LINES_MAX" 'FNR == most + 1 { print FILENAME ":" FNR ": more than " most " lines" }' "${list[@]}"
}

# MASSIF_PRELOAD_STEP_H for preload/stack/step.h: the first folder, or below userland the second, and the name.
check_guards() {
	local header path name folder expected
	files 'kmod/*.h' 'preload/*.h' 'userland/*.h' 'msprint/*.h' 'selftests/*.h' | while IFS= read -r header; do
		path=${header%/*} name=${header##*/}
		case $header in
		kmod/include/* | preload/massif.h) continue ;; # installed, under names of their own
		kmod/compat/*) folder=COMPAT_ ;;
		kmod/*) folder='' ;;
		userland/*) path=${path#userland/} folder=${path%%/*}_ ;;
		*) folder=${path%%/*}_ ;;
		esac
		expected=$(printf 'MASSIF_%s%s_H' "$folder" "${name%.h}" | tr 'a-z-' 'A-Z_')
		grep -q "^#ifndef $expected\$" "$header" || echo "$header:1: its guard is to be $expected"
	done
}

# A recording that a test run by hand had left there was committed once.
check_layout() {
	files | sed 's,/.*,,' | sort -u | grep -vxE '\.[a-z]+|[A-Z]+\.(md|rst)|Documentation|Kbuild|LICENSES|Makefile|debian' |
		grep -vxE 'kmod|msprint|preload|selftests|userland' | sed 's,$,: does not belong to the top level,'
}

check_versions() {
	files 'kmod/*.c' 'kmod/*.h' | grep -v '^kmod/compat/' | xargs grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION'
}

# A row begins with the file's name, of a C file without its ending: that stands for NAME.c and NAME.h.
check_overview() {
	{ sources; files '*.sh' '*.mk'; } | grep -E '^(kmod|preload|userland|msprint)/' |
		awk -v table=Documentation/overview.rst '
		BEGIN {
			while ((getline line < table) > 0) {
				if (line ~ /^(kmod|preload|userland|msprint|selftests)\/$/) { top = line; state = 0 }
				if (line ~ /^=+ =+/) { state = (state + 1) % 3; continue }
				if (state == 1) {
					split(line, word, " ")
					folder = top
					if (line ~ /^file in /) { folder = top word[3]; if (folder !~ /\/$/) folder = folder "/" }
				}
				if (state == 2 && line ~ /^[^ ]/) { split(line, word, " "); named[folder word[1]]++ }
			}
		}
		{
			stem = $0
			sub(/\.[ch]$/, "", stem)
			n = named[$0] + (stem != $0 ? named[stem] : 0)
			if (n != 1) print $0 ":1: is in " n + 0 " tables of " table
		}'
}

# Not: files that are not followed, variables that another file sets, functions that are called by their name in one.
check_scripts() {
	command -v shellcheck >/dev/null || { echo 'shellcheck is not installed'; return; }
	files '*.sh' .ci/run | xargs shellcheck -f gcc --exclude=SC1091,SC2154,SC2034,SC2015,SC2016,SC2317
}

check_spelling() {
	command -v codespell >/dev/null || { echo 'codespell is not installed'; return; }
	# ms_print(1) writes "\fBu\fR", C strings have "\nNumber": no words. The rest are names.
	files | grep -vE '^(LICENSES|selftests/search/inputs|selftests/rules)/|\.1$|dev_massif\.txt$' |
		xargs codespell -q 3 --ignore-words-list=emptyy,inout,childs,befores,nin,ths \
			--ignore-regex='\\[a-z][A-Za-z]*|\b[a-z]*%[a-z0-9]+' | sed 's/$/ (codespell)/'
}

# With the options of check-rules.sh.
check_patches() {
	for patch in selftests/rules/*.patch; do
		patch -p1 --dry-run --silent --force --fuzz=2 < "$patch" >/dev/null || echo "$patch:1: does not apply"
	done
}

status=0
[ $# -gt 0 ] || mapfile -t all < <(awk -F'|' 'NF == 2 { print $1 }' <<< "$rules")
for rule in "${@:-${all[@]}}"; do
	if ! declare -F "check_$rule" >/dev/null; then
		printf 'style: there is no rule %s; the rules are:\n%s' "$rule" "${rules#?}" >&2
		exit 2
	fi
	found=$("check_$rule")
	[ -z "$found" ] || { printf '%s\n' "$found"; status=1; }
done
exit $status

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs an apt command on the package lists of given Debian suites, kept apart from the machine's own lists
#
#	suite.sh run DIRECTORY SUITE... -- apt-get|apt-cache ARGUMENT...
#
# The archive is the one in the machine's own sources. This apt considers no package installed, and changes
# nothing outside the directory. SUITE_KIND=deb-src selects source packages.
set -euo pipefail
unset CDPATH # or cd may go elsewhere, and print where

say() {
	printf 'suite: %s\n' "$*" >&2
}

usage() {
	say 'usage: suite.sh run DIRECTORY SUITE... -- COMMAND ARGUMENT...'
	exit 2
}

[ "${1-}" = run ] && [ $# -ge 2 ] || usage
mkdir -p "$2"
dir=$(cd "$2" && pwd -P)
shift 2
suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	suites+=("$1")
	shift
done
[ ${#suites[@]} -gt 0 ] && [ $# -ge 2 ] || usage
shift

options=(-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=-
	 -o Dir::Etc::preferences=- -o "Dir::Etc::preferencesparts=$dir/cache"
	 -o "Dir::State=$dir" -o Dir::State::status=/dev/null -o "Dir::Cache=$dir/cache"
	 -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false)
# Without this, root's apt warns that its sandbox user cannot write to our directory.
[ "$(id -u)" -ne 0 ] || options+=(-o APT::Sandbox::User=root)

# Prints the address of the machine's Debian archive, or of its security archive ($1: -security).
archive() {
	apt-get indextargets --no-release-info --format '$(RELEASE)|$(REPO_URI)' 'Created-By: Packages' |
		sed -E -n "s/^($codenames)$1\|//p" | head -n 1 | grep . && return
	say "apt's sources name no Debian archive"
	return 1
}

codenames='bullseye|bookworm|trixie|forky|sid|oldoldstable|oldstable|stable|testing|unstable'

sources() {
	local suite kind
	for suite in "${suites[@]}"; do
		kind=
		case $suite in *-security) kind=-security ;; esac
		printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
			"${SUITE_KIND:-deb}" "$(archive "$kind")" "$suite"
	done
}

# apt needs a folder for temporary files; /tmp may be read-only.
mkdir -p "$dir/tmp"
export TMPDIR="$dir/tmp"

# Refresh old lists: the archive removes packages that they name.
if [ -z "$(find "$dir/updated" -mtime -1 2>/dev/null)" ]; then
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	sources > "$dir/sources.list"
	apt-get -q -q "${options[@]}" update >&2
	: > "$dir/updated"
fi
"$1" "${options[@]}" "${@:2}"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Provides the compiler and tools of another Debian suite, in a directory tree, for headers that need them
#
#	toolchain.sh fetch TREE LISTS SUITE...	unpack it; LISTS is suite.sh's directory
#	toolchain.sh run TREE DIR... -- COMMAND ARGUMENT...
#
# `run` runs the command with the tree as its root directory. Each DIR of this machine is visible in it at the
# same path. Only the command sees this: it has its own mounts (and, without root, its own users).
set -euo pipefail
unset CDPATH # or cd may go elsewhere, and print where

here=$(cd "$(dirname "$0")" && pwd -P)

# The compiler with which Debian compiles the suite's kernel; the commands that a kernel's make calls; the
# libraries of the programs of linux-kbuild.
packages='gcc-16-for-host make dash bash coreutils sed grep findutils mawk pahole libelf1t64 libssl3t64
	zlib1g base-files dpkg'

say() {
	printf 'toolchain: %s\n' "$*" >&2
}

usage() {
	say 'usage: toolchain.sh fetch TREE LISTS SUITE... | run TREE DIR... -- COMMAND ARGUMENT...'
	exit 2
}

fetch() {
	local tree=$1 lists=$2 work names deb
	shift 2
	[ ! -e "$tree/bin/sh" ] || return 0
	work=$(mktemp -d "$tree.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$work'" EXIT
	trap 'exit 1' INT TERM HUP

	say "downloading the compiler of Debian $* (not installed on this machine)"
	# shellcheck disable=SC2086 # lists of words
	names=$("$here/suite.sh" run "$lists" "$@" -- apt-get -s -q --no-install-recommends install \
		$packages | awk '$1 == "Inst" { print $2 }')
	# shellcheck disable=SC2086
	(cd "$work" && "$here/suite.sh" run "$lists" "$@" -- apt-get -q -q download $names >&2)
	say "unpacking it into $tree"
	mkdir -p "$work"/tree/usr/{bin,sbin,lib,lib64} "$work"/tree/{proc,dev,tmp}
	for deb in bin sbin lib lib64; do
		ln -s "usr/$deb" "$work/tree/$deb"
	done
	for deb in "$work"/*.deb; do
		# Not dpkg -x: it may replace our links by directories.
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$work/tree"
	done
	# Do what the packages' installation scripts would have done.
	ln -sf mawk "$work/tree/usr/bin/awk"
	rm -rf "$tree"
	mv "$work/tree" "$tree"
}

run() {
	local tree dirs=() user=()
	tree=$(cd "$1" && pwd -P)
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		dirs+=("$1")
		shift
	done
	[ $# -ge 2 ] || usage
	shift
	[ "$(id -u)" -eq 0 ] || user=(--user --map-root-user)
	# shellcheck disable=SC2016 # for the other shell
	exec unshare "${user[@]}" --mount bash -euc '
		tree=$1 count=$2
		shift 2
		for dir in "${@:1:count}"; do
			mkdir -p "$tree$dir"
			mount --rbind "$dir" "$tree$dir"
		done
		mount --rbind /proc "$tree/proc"
		mount --rbind /dev "$tree/dev"
		shift "$count"
		exec chroot "$tree" /usr/bin/env PATH=/usr/sbin:/usr/bin HOME=/ "$@"
	' toolchain "$tree" ${#dirs[@]} "${dirs[@]}" "$@"
}

case ${1-} in
fetch) [ $# -ge 4 ] || usage ;;
run) [ $# -ge 4 ] || usage ;;
*) usage ;;
esac
"$@"

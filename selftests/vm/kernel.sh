#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The guest's kernel, from Debian's own packages: kernel.sh release | fetch
#
# `release` prints the release to use; `fetch` also unpacks its image and modules into
# build/guest/<release>/. The package is downloaded and unpacked, never installed, so that the
# machine's own /boot and boot loader stay as they are.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${MASSIF_BUILD:-$(cd "$here/../.." && pwd)/build}
store=$build/guest
series=${GUEST_SERIES:-6.1}

say() {
	printf 'guest kernel: %s\n' "$*" >&2
}

image() {
	printf '%s\n' "$store/$1/boot/vmlinuz-$1"
}

# The newest release that is here already with its headers; it stays in use until it is removed
# (make distclean), so that a new kernel in the archive does not turn every run into a download.
kept_release() {
	[ -d "$store" ] || return 1
	for dir in "$store"/"$series".*-amd64; do
		release=${dir##*/}
		if [ -s "$(image "$release")" ] && [ -d "/lib/modules/$release/build" ]; then
			printf '%s\n' "$release"
		fi
	done | sort -V | tail -n 1 | grep .
}

# The release that the archive's newest kernel of the series has. The metapackages name no
# series, so the choice is among the packages; -cloud-, -rt- and the like have other names.
archive_release() {
	apt-cache pkgnames "linux-image-$series" |
		sed -n 's/^linux-image-\([0-9.]*-[0-9]*-amd64\)$/\1/p' | sort -V | tail -n 1 | grep .
}

release() {
	if [ -n "${GUEST_KERNEL:-}" ]; then
		printf '%s\n' "$GUEST_KERNEL"
		return
	fi
	kept_release && return
	archive_release && return
	say "apt knows no linux-image-$series.*-amd64; is Debian 12 in its sources?"
	return 1
}

fetch() {
	release=$(release)
	[ ! -s "$(image "$release")" ] || return 0
	mkdir -p "$store"
	work=$(mktemp -d "$store/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP

	say "downloading linux-image-$release, to boot it in QEMU (not installed on this machine)"
	sandbox=
	[ "$(id -u)" -ne 0 ] || sandbox='-o APT::Sandbox::User=root'
	# shellcheck disable=SC2086 # a list of words
	if ! (cd "$work" && apt-get -q -q $sandbox download "linux-image-$release" >&2); then
		say "cannot download it: is the machine online, and is 'apt-get update' done?"
		return 1
	fi
	say "unpacking it into $store/$release"
	dpkg -x "$work/linux-image-$release"_*.deb "$work/tree"
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$work/tree" "$release"
	rm -rf "${store:?}/$release"
	mv "$work/tree" "$store/$release"
}

case ${1-} in
release) release ;;
fetch) fetch ;;
*) say 'usage: kernel.sh release | fetch'; exit 2 ;;
esac

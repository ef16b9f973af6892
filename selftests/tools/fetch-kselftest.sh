#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Extracts the two kselftest headers from Debian's kernel source package: fetch-kselftest.sh DIRECTORY
#
# The package is 130 MB and unpacks to 1.4 GB, and we need two files of it. So it is downloaded without being
# installed, read as a stream, and deleted.
set -eu
unset CDPATH # or cd may go elsewhere, and print where

package=${KSELFTEST_PACKAGE:-linux-source-6.1}
headers='kselftest.h kselftest_harness.h'
dir=${1:?usage: fetch-kselftest.sh DIRECTORY}

say() {
	printf 'kselftest: %s\n' "$*" >&2
}

present() {
	for header in $headers; do
		[ -s "$dir/$header" ] || return 1
	done
}

if present; then
	exit 0
fi

mkdir -p "$dir"
work=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# Without this, root's apt warns that its sandbox user cannot write to our directory.
as_root=
[ "$(id -u)" -ne 0 ] || as_root='-o APT::Sandbox::User=root'

say "downloading $package (130 MB) for two headers: $headers"
# apt needs a folder for temporary files; /tmp may be read-only.
# shellcheck disable=SC2086 # as_root is a list of words
if ! (cd "$work" && TMPDIR=$PWD apt-get -q -q $as_root download "$package" >&2); then
	say "cannot download $package: is the machine online, and is 'apt-get update' done?"
	exit 1
fi

say 'unpacking them'
members=
for header in $headers; do
	members="$members $package/tools/testing/selftests/$header"
done
# shellcheck disable=SC2086 # members is a list of words
dpkg-deb --fsys-tarfile "$work/$package"_*.deb |
	tar -xO "./usr/src/$package.tar.xz" |
	tar -xJ -C "$work" --strip-components=4 $members
for header in $headers; do
	mv "$work/$header" "$dir/$header"
done
present || { say "$package does not hold them"; exit 1; }

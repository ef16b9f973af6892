#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Creates the guest's initrd: initrd.sh OUTPUT [RELEASE MODULE-ROOT]
#
# Without a release, it contains no modules: for a kernel that has everything built in.
set -eu
unset CDPATH # or cd may go elsewhere, and print where

here=$(cd "$(dirname "$0")" && pwd)
output=${1:?usage: initrd.sh OUTPUT [RELEASE MODULE-ROOT]}
release=${2-}
root=${3-}
PATH=$PATH:/sbin:/usr/sbin

# The modules that the kernel needs to mount the host's root; modprobe knows their dependencies.
modules='virtio_pci 9pnet_virtio 9p overlay'

work=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$work"/tree/{bin,proc,sys,dev,control,lower,upper,root,modules}
cp "$here/init" "$work/tree/init"
chmod 755 "$work/tree/init" "$work/tree"
busybox=$(command -v busybox) || { echo 'initrd: busybox (package busybox-static) is missing' >&2; exit 1; }
cp "$busybox" "$work/tree/bin/busybox"
for applet in sh mount mkdir chmod insmod switch_root sleep; do
	ln -s busybox "$work/tree/bin/$applet"
done

list=$work/tree/modules/list
: > "$list"
if [ -n "$release" ]; then
	# shellcheck disable=SC2086 # a list of words
	modprobe -a -d "$root" -S "$release" --show-depends $modules > "$work/depends"
	awk '$1 == "insmod" && !seen[$2]++ { print $2 }' "$work/depends" | while read -r file; do
		name=${file##*/}
		case $name in
		*.xz) xz -dc "$file" > "$work/tree/modules/${name%.xz}" ;;
		*) cp "$file" "$work/tree/modules/" ;;
		esac
		printf '%s\n' "${name%.xz}" >> "$list"
	done
fi

# Not compressed: the guest would take longer to unpack it than to load it.
(cd "$work/tree" && find . | cpio -o -H newc --quiet) > "$work/initrd"
mv "$work/initrd" "$output"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds the debug kernel, and prints its directory for run.sh --kernel: debug-kernel.sh
#
# The source is Debian's linux-source-6.12; the configuration is a tinyconfig plus debug.config, which has
# everything that the guest tests use, KASAN, lockdep, kmemleak and similar checks. The kernel is built once,
# in build/guest/debug-6.12, which takes 2 GB.
set -euo pipefail
unset CDPATH # or cd may go elsewhere, and print where

here=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
store=${MASSIF_BUILD:-$source/build}/guest
name=6.12
suite=bookworm-backports
tree=$store/debug-$name
jobs=${JOBS:-$(nproc)}

say() {
	printf 'debug kernel: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# Runs the kernel's make without the variables of our own make.
build() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$tree" -j"$jobs" "$@" >&2
}

# Unpacks the source package. It may be newer than the one of an earlier run, which does not matter.
fetch() {
	local work
	mkdir -p "$store"
	work=$(mktemp -d "$store/fetch.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$work'" EXIT
	trap 'exit 1' INT TERM HUP
	say "downloading linux-source-$name"
	(cd "$work" && "$here/suite.sh" run "$store/apt/$name" "$suite" -- \
		apt-get -q -q download "linux-source-$name" >&2) ||
		die "cannot download linux-source-$name: is the machine online?"
	dpkg -x "$work"/*.deb "$work/deb"
	tar -xJf "$work/deb/usr/src/linux-source-$name.tar.xz" -C "$work"
	mv "$work/linux-source-$name" "$tree"
	rm -rf "$work"
	trap - EXIT
}

# Kconfig silently drops options that it cannot satisfy. The options that were requested are saved and
# compared; file times cannot tell, because the files of a clone are as new as the clone.
configure() {
	local line missing=
	rm -f "$tree/.config.asked"
	build tinyconfig
	# Kconfig warns about options that occur twice.
	sed -n 's/^\(CONFIG_.*\)=.*/\1/p' "$here/debug.config" > "$tree/.config.named"
	grep -vwFf "$tree/.config.named" "$tree/.config" > "$tree/.config.rest"
	cat "$tree/.config.rest" "$here/debug.config" > "$tree/.config"
	build olddefconfig
	while read -r line; do
		case $line in
		CONFIG_*=n) ! grep -q "^${line%=n}=" "$tree/.config" || missing+=" $line" ;;
		CONFIG_*) grep -qx "$line" "$tree/.config" || missing+=" $line" ;;
		esac
	done < "$here/debug.config"
	[ -z "$missing" ] || die "this source has no$missing"
	cp "$here/debug.config" "$tree/.config.asked"
}

[ -s "$tree/Makefile" ] || fetch
if ! cmp -s "$here/debug.config" "$tree/.config.asked"; then
	configure
fi
# make modules creates Module.symvers; this kernel has no modules.
if [ ! -s "$tree/Module.symvers" ] || [ "$tree/Module.symvers" -ot "$tree/.config" ]; then
	say "building it in $tree, on $jobs processors"
	build bzImage modules || die "it cannot be built"
fi
printf '%s\n' "$tree"

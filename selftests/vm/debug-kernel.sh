#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds a debug kernel, and prints its directory for run.sh --kernel: debug-kernel.sh [VERSION [CHECKS]]
#
# VERSION is 6.12 (the default) or 6.1; the source is Debian's linux-source-VERSION. The configuration is a
# tinyconfig plus debug.config, which has everything that the guest tests use, plus debug-CHECKS.config:
#
#	memory	KASAN, lockdep, kmemleak and similar checks, fault injection, coverage (the default)
#	races	KCSAN, which excludes KASAN
#
# Each kernel is built once, in build/guest/debug-VERSION or build/guest/debug-VERSION-races, which takes 2 GB.
set -euo pipefail
unset CDPATH # or cd may go elsewhere, and print where

here=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
store=${MASSIF_BUILD:-$source/build}/guest
name=${1:-6.12}
checks=${2:-memory}
tree=$store/debug-$name
jobs=${JOBS:-$(nproc)}

say() {
	printf 'debug kernel: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

case $name in
6.1) suites=(bookworm bookworm-security) ;;
6.12) suites=(bookworm-backports) ;;
*) die "no debug kernel $name; there are 6.1 and 6.12" ;;
esac
# Options of make for the kernel itself, not for massif.ko.
options=()
case $checks in
memory) ;;
races) tree+=-races options=(KCSAN_SANITIZE=n) ;;
*) die "no checks '$checks'; there are memory and races" ;;
esac

# Runs the kernel's make without the variables of our own make.
build() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$tree" -j"$jobs" "${options[@]}" "$@" >&2
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
	(cd "$work" && "$here/suite.sh" run "$store/apt/$name" "${suites[@]}" -- \
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
	sed -n 's/^\(CONFIG_.*\)=.*/\1/p' "$asked" > "$tree/.config.named"
	grep -vwFf "$tree/.config.named" "$tree/.config" > "$tree/.config.rest"
	cat "$tree/.config.rest" "$asked" > "$tree/.config"
	build olddefconfig
	while read -r line; do
		case $line in
		CONFIG_*=n) ! grep -q "^${line%=n}=" "$tree/.config" || missing+=" $line" ;;
		CONFIG_*) grep -qx "$line" "$tree/.config" || missing+=" $line" ;;
		esac
	done < "$asked"
	[ -z "$missing" ] || die "this source has no$missing"
	cp "$asked" "$tree/.config.asked"
}

[ -s "$tree/Makefile" ] || fetch
asked=$tree/.config.wanted
cat "$here/debug.config" "$here/debug-$checks.config" > "$asked"
if ! cmp -s "$asked" "$tree/.config.asked"; then
	configure
fi
# make modules creates Module.symvers; this kernel has no modules.
if [ ! -s "$tree/Module.symvers" ] || [ "$tree/Module.symvers" -ot "$tree/.config" ]; then
	say "building it in $tree, on $jobs processors"
	build bzImage modules || die "it cannot be built"
fi
printf '%s\n' "$tree"

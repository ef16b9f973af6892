#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Provides the guests' kernels, from Debian's packages: kernel.sh list | VERB [KERNEL]
#
#	list     print the names of all Debian kernels that can be used
#	release  print the release of KERNEL: a name of the list, a release, or the directory in which
#		 a kernel was built (default: $GUEST_KERNEL, or 6.1)
#	fetch    make sure that its image, modules and headers are in build/guest/RELEASE
#	image    print the file to boot
#	modules  print the directory that contains its lib/modules; nothing if it needs none to boot
#	headers  print the directory for KDIR=
#	module   build massif.ko for it, and the modules that the tests load
#	massif   build massif.ko only; with the results of the probes in MASSIF_HAVE, if that is set
#
# Packages are downloaded when they are first needed, and unpacked but not installed, so that the machine's
# own kernels, compilers and package lists do not change.
set -euo pipefail
unset CDPATH # or cd may go elsewhere, and print where

here=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
build=${MASSIF_BUILD:-$source/build}
store=$build/guest

# Fields: name; suites that have the kernel, of which the last may be missing; where its modules are compiled:
# here, or in a tree of the suite's own packages, if the tools of its headers run only there (toolchain.sh).
kernels='
5.10|bullseye bullseye-security|here
6.1|bookworm bookworm-security|here
6.12|bookworm-backports|here
7.2|sid|toolchain
'

say() {
	printf 'guest kernel: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

field() {
	printf '%s\n' "$kernels" | awk -F '|' -v name="$1" -v field="$2" '$1 == name { print $field }'
}

list() {
	printf '%s\n' "$kernels" | sed -n 's/|.*//p'
}

image_of() {
	printf '%s\n' "$store/$1/boot/vmlinuz-$1"
}

headers_of() {
	printf '%s\n' "$store/$1/usr/src/linux-headers-$1"
}

complete() {
	[ -s "$(image_of "$1")" ] && [ -s "$(headers_of "$1")/include/generated/autoconf.h" ]
}

# Prints the newest release that is unpacked already. It is used until it is removed (make distclean), so that
# a new kernel in the archive does not cause a download in each run.
kept_release() {
	local dir
	for dir in "$store/$name".*-amd64 "$store/$name".*+*-amd64; do
		! is_trixie "$dir" || continue
		! complete "${dir##*/}" || printf '%s\n' "${dir##*/}"
	done | sort -uV | tail -n 1 | grep .
}

# Succeeds if the archive has a package, and not only other packages that depend on it.
in_archive() {
	apt apt-cache madison "$1" | grep -q .
}

# Prints the newest release in the archive that can be booted: the headers of a new one come some hours before its signed
# image. The metapackages name no series, so the choice is made among the packages; -cloud-, -rt- and similar kernels have
# other names.
archive_release() {
	local release releases
	releases=$(apt apt-cache pkgnames "linux-headers-$name." |
		sed -n 's/^linux-headers-\([0-9][0-9.]*\(-[0-9]*\|+[a-z0-9.]*\)-amd64\)$/\1/p' | sort -rV)
	for release in $releases; do
		if in_archive "linux-headers-$release" && in_archive "linux-image-$release"; then
			printf '%s\n' "$release"
			return
		fi
	done
	return 1
}

# The list of kernels has none of trixie's: check-packages.sh asks for them by their whole names.
is_trixie() {
	case $1 in *+deb13-*) ;; *) return 1 ;; esac
}

# Runs an apt command with package lists of our own.
apt() {
	local suites kept=$store/apt/$name
	suites=$(field "$name" 2)
	! is_trixie "$asked" || suites='trixie trixie-security trixie-backports' kept+=-trixie
	# shellcheck disable=SC2086 # a list of words
	"$here/suite.sh" run "$kept" $suites -- "$@"
}

release() {
	if [ -n "$tree" ]; then
		sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' "$tree/include/generated/utsrelease.h" | grep . ||
			die "no kernel was built in $tree"
		return
	fi
	[ "$asked" = "$name" ] || { printf '%s\n' "$asked"; return; }
	kept_release && return
	archive_release && return
	die "Debian's $(field "$name" 2) have no linux-headers-$name.*-amd64"
}

# Prints the packages of a release: its own, and their dependencies that have the series in their names.
packages() {
	local wanted=("linux-image-$1" "linux-headers-$1")
	{
		printf '%s\n' "${wanted[@]}"
		apt apt-cache depends "${wanted[@]}" |
			sed -n "s/^ *|\?Depends: \(linux-[a-z]*-${name//./\\.}[^ ]*\)\$/\1/p"
	} | grep -v -e -unsigned | sort -u
}

fetch() {
	local release work list
	[ -z "$tree" ] || return 0
	release=$(release)
	! complete "$release" || return 0
	list=$(packages "$release")
	mkdir -p "$store"
	work=$(mktemp -d "$store/fetch.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$work'" EXIT
	trap 'exit 1' INT TERM HUP

	say "downloading Linux $release, to boot it in QEMU (not installed on this machine)"
	# shellcheck disable=SC2086 # a list of words
	(cd "$work" && apt apt-get -q -q download $list >&2) ||
		die "cannot download $list: is the machine online?"
	say "unpacking it into $store/$release"
	for list in "$work"/*.deb; do
		dpkg -x "$list" "$work/tree"
	done

	# Move everything to one place: kernels before 7 are in /boot and /lib.
	mkdir -p "$work/tree/boot"
	[ ! -d "$work/tree/usr/lib/modules" ] || ln -s usr/lib "$work/tree/lib"
	[ -s "$work/tree/boot/vmlinuz-$release" ] ||
		ln -s "../lib/modules/$release/vmlinuz" "$work/tree/boot/vmlinuz-$release"
	# The makefiles name the other half of the headers by its installed path.
	sed -i -e "s|^include /usr/src/|include ../|" -e "s|^KBUILD_OUTPUT=.*|KBUILD_OUTPUT=.|" \
		"$work/tree/usr/src/linux-headers-$release/Makefile"
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$work/tree" "$release"
	rm -rf "${store:?}/$release"
	mv "$work/tree" "$store/$release"
}

# Prints the make to use for the kernel, as words for MODULE_MAKE=.
compiler() {
	local cc
	if [ "$(field "$name" 3)" = toolchain ]; then
		# shellcheck disable=SC2046 # a list of words
		"$here/toolchain.sh" fetch "$store/toolchain-$name" "$store/apt/$name" $(field "$name" 2)
		printf '%s\n' "$here/toolchain.sh run $store/toolchain-$name $source $build -- make"
		return
	fi
	cc=$(sed -n 's/^CC = .*)\(gcc-[0-9]*\)$/\1/p' "$(headers)/.kernelvariables")
	command -v "$cc" > /dev/null || printf 'make CC=gcc\n'
}

image() {
	local release
	release=$(release)
	if [ -n "$tree" ]; then
		printf '%s\n' "$tree/arch/x86/boot/bzImage"
	else
		image_of "$release"
	fi
}

modules() {
	[ -n "$tree" ] || printf '%s\n' "$store/$(release)"
}

headers() {
	local release
	release=$(release)
	if [ -n "$tree" ]; then
		printf '%s\n' "$tree"
	else
		headers_of "$release"
	fi
}

# build_module GOAL...
build_module() {
	local make=
	fetch
	[ -n "$tree" ] || make=$(compiler)
	# Do not mistake an older module for the one of this source.
	make -C "$source" --no-print-directory "$@" O="$build" KDIR="$(headers)" \
		${make:+MODULE_MAKE="$make"} ${MASSIF_HAVE:+massif-have="$MASSIF_HAVE"} || { rm -f "$build/kmod/$(release)/massif.ko"; exit 1; }
}

module() {
	build_module modules test-modules
}

massif() {
	build_module modules
}

verb=${1-}
asked=${2:-${GUEST_KERNEL:-6.1}}
tree='' name=''
case $verb in
list) list; exit ;;
release | fetch | image | modules | headers | module | massif) ;;
*) say 'usage: kernel.sh list | release|fetch|image|modules|headers|module|massif [KERNEL]'; exit 2 ;;
esac
case $asked in
*/*) tree=$(cd "$asked" && pwd -P) ;;
*)
	name=$(printf '%s\n' "$asked" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
	[ -n "$(field "$name" 2)" ] || is_trixie "$asked" || die "unknown kernel $asked; there are $(list | tr '\n' ' ')"
	;;
esac
$verb

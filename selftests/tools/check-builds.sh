#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compiles massif.ko for many kernels, and boots none: check-builds.sh [WHAT...]. Needs root. WHAT is
#
#	RELEASE			the kernels of a Debian release, or of RELEASE-backports: compiled with their headers
#	RELEASE-source		the kernel source of a release, or of RELEASE-backports, with each of the configurations below
#
# Each WHAT has a system of its own, made by mmdebstrap, so that the compiler is the one that the release has. Prints a table
# of kernels; Documentation/testing.rst has the last one.
set -u
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd -P)
work=${MASSIF_BUILD:-$top/build}/builds
[ $# -gt 0 ] || set -- bookworm bookworm-backports trixie trixie-backports sid bookworm-source bookworm-backports-source trixie-source \
	trixie-backports-source
export LC_ALL=C
failed=0

# Configurations for mainline's source: name, target of make that they begin with, clang or gcc, and options. An option
# without a value is y. What every configuration needs is in $needed.
needed='64BIT MODULES KPROBES NET'
# A version of clang that bookworm and trixie have. CFI needs 16.
clang=19
configurations='
no direct calls	defconfig	gcc	FUNCTION_TRACER=n
direct calls, IBT	defconfig	gcc	FUNCTION_TRACER X86_KERNEL_IBT
KASAN	defconfig	gcc	FUNCTION_TRACER KASAN
UBSAN, KCOV, zeroed stacks	defconfig	gcc	FUNCTION_TRACER UBSAN KCOV INIT_STACK_ALL_ZERO
clang	defconfig	clang	FUNCTION_TRACER
clang, CFI	defconfig	clang	FUNCTION_TRACER CFI_CLANG
no MMU notifier	tinyconfig	gcc	MMU_NOTIFIER=n FTRACE FUNCTION_TRACER SMP
one processor, no tracepoints	tinyconfig	gcc	SMP=n MMU_NOTIFIER=n FTRACE=n TRACEPOINTS=n SWAP=n CGROUPS=n
no network	tinyconfig	gcc	NET=n IO_URING=n SECRETMEM=n
no kprobes	tinyconfig	gcc	KPROBES=n
PREEMPT_RT	defconfig	gcc	EXPERT PREEMPT_RT
32 bits	i386_defconfig	gcc	64BIT=n
'

# Runs a command in a system, as root, with processes of its own.
inside() {
	local tree=$1
	shift
	unshare --mount --pid --fork --kill-child --mount-proc="$tree/proc" -- chroot "$tree" /usr/bin/env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -euc "$*"
}

# Makes a system of RELEASE in the directory TREE, with the sources of the module in /massif.
make_system() {
	local release=$1 tree=$2 base=$work/$1
	# The mirror's list of sid is often older than it says it may be.
	if [ ! -s "$base.tar" ]; then
		mmdebstrap --variant=apt --include=ca-certificates --aptopt='Acquire::Check-Valid-Until "false"' "$release" \
			"$base.new.tar" >"$base.log" 2>&1 && mv "$base.new.tar" "$base.tar" || return
	fi
	rm -rf --one-file-system "$tree"
	mkdir -p "$tree/massif" && tar -C "$tree" -xf "$base.tar" && cp /etc/resolv.conf "$tree/etc/" &&
		cp -r "$top/kmod" "$top/Kbuild" "$tree/massif/"
}

install_packages() {
	local tree=$1
	shift
	inside "$tree" "apt-get -o Acquire::Check-Valid-Until=false update && apt-get install -y --no-install-recommends $*"
}

say_not_ok() {
	local what=$1 kernel=$2 reason=$3 log=$4
	printf '%-20s %-32s %s\n' "$what" "$kernel" "not ok: $reason  # $log"
	failed=1
}

# Compiles the module in system TREE for the kernel in DIRECTORY, with further words for make, and prints a row of the table.
compile() {
	local what=$1 tree=$2 kernel=$3 directory=$4 words=$5 log result
	log=$work/$what.${kernel//[ ,]/-}.log
	if inside "$tree" "rm -rf /tmp/m && cp -r /massif /tmp/m && make -C $directory $words M=/tmp/m modules" >"$log" 2>&1 &&
		[ -s "$tree/tmp/m/massif.ko" ]; then
		result=compiles
		! grep -q 'warning:' "$log" || result="compiles with warnings  # $log"
	elif grep -q '\*\*\* massif: \|#error "massif: ' "$log"; then
		result="refused: $(sed -n 's/.*\*\*\* massif: *\|.*#error "massif: *//p' "$log" | sed 's/\.  Stop\.$\|"$//' | head -n 1)"
	else
		say_not_ok "$what" "$kernel" "$(grep -m 1 'error:\|Error\|not found' "$log" | sed 's/.*error: *//')" "$log"
		return
	fi
	printf '%-20s %-32s %s\n' "$what" "$kernel" "$result"
}

# Adds backports to the package sources of the system TREE if WHAT is of them, and prints apt's option that prefers them.
add_backports() {
	local suite=${1%-source} tree=$2
	[ "$suite" != "${suite%-backports}" ] || return 0
	sed -n "s/ ${suite%-backports} / $suite /p" "$tree/etc/apt/sources.list" >"$tree/etc/apt/sources.list.d/backports.list"
	printf '%s\n' "-t $suite"
}

# The kernels whose headers the release has.
check_release() {
	local what=$1 tree=$2 log=$work/$1.log target kind kernel
	target=$(add_backports "$what" "$tree")
	install_packages "$tree" make binutils >"$log" 2>&1 || { say_not_ok "$what" make "cannot be installed" "$log"; return; }
	for kind in linux-headers-amd64 linux-headers-cloud-amd64 linux-headers-rt-amd64; do
		install_packages "$tree" "$target" "$kind" >>"$log" 2>&1 || say_not_ok "$what" "$kind" "cannot be installed" "$log"
	done
	for kernel in "$tree"/lib/modules/*/build; do
		# The link's target is in the system, not here.
		[ -L "$kernel" ] || continue
		kernel=${kernel%/build} kernel=${kernel##*/}
		compile "$what" "$tree" "$kernel" "/lib/modules/$kernel/build" ''
	done
}

# Configures the kernel source DIRECTORY in system TREE. Kconfig drops options that it cannot have without a word, so they
# are compared.
configure() {
	local tree=$1 directory=$2 words=$3 target=$4 option lines='' checks=''
	shift 4
	for option; do
		case $option in
		*=n) lines+=" -d ${option%=n}" checks+=" && ! grep '^CONFIG_${option%=n}=' .config" ;;
		*) lines+=" -e $option" checks+=" && grep '^CONFIG_$option=y' .config" ;;
		esac
	done
	inside "$tree" "cd $directory && make -s $words $target && scripts/config $lines && make -s $words olddefconfig $checks &&
		make -s -j2 $words modules_prepare"
}

# The source of the kernel with each of the configurations. Without the rest of the kernel, it is not known which functions
# it exports: modpost only warns.
check_source() {
	local what=$1 tree=$2 log=$work/$1.log target version directory name base compiler options words wanted option
	target=$(add_backports "$what" "$tree")
	if ! install_packages "$tree" make gcc libc6-dev flex bison bc libelf-dev libssl-dev xz-utils python3 >"$log" 2>&1; then
		say_not_ok "$what" gcc "cannot be installed" "$log"
		return
	fi
	version=$(inside "$tree" "apt-cache $target depends linux-source" | sed -n 's/.*Depends: linux-source-//p')
	if ! install_packages "$tree" "$target linux-source-$version clang-$clang lld-$clang llvm-$clang" >>"$log" 2>&1 ||
		! inside "$tree" "cd /usr/src && tar -xJf linux-source-$version.tar.xz" >>"$log" 2>&1; then
		say_not_ok "$what" linux-source "cannot be installed" "$log"
		return
	fi
	directory=/usr/src/linux-source-$version
	while IFS=$'\t' read -r name base compiler options; do
		[ -n "$name" ] || continue
		words=KBUILD_MODPOST_WARN=1 log=$work/$what.${name//[ ,]/-}.configure.log
		[ "$compiler" = gcc ] || words+=" LLVM=-$clang"
		[ "$base" != i386_defconfig ] || words+=" ARCH=i386"
		# An option of the row replaces the one in $needed.
		wanted=$options
		for option in $needed; do
			case " $options " in *" $option=n "*) ;; *) wanted+=" $option" ;; esac
		done
		# shellcheck disable=SC2086 # a list of options
		if configure "$tree" "$directory" "$words" "$base" $wanted >"$log" 2>&1; then
			compile "$what" "$tree" "$version, $name" "$directory" "$words"
		else
			say_not_ok "$what" "$version, $name" "cannot be configured" "$log"
		fi
	done <<<"$configurations"
}

[ "$(id -u)" -eq 0 ] || { echo "check-builds.sh needs root, for chroot" >&2; exit 1; }
mkdir -p "$work"
for what; do
	release=${what%-source} release=${release%-backports}
	if ! make_system "$release" "$work/$what"; then
		say_not_ok "$what" system "cannot be made" "$work/$release.log"
		continue
	fi
	case $what in
	*-source) check_source "$what" "$work/$what" ;;
	*) check_release "$what" "$work/$what" ;;
	esac
	rm -rf --one-file-system "${work:?}/$what"
done
exit $failed

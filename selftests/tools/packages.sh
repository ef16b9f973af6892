#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Installs the Debian packages that are missing: packages.sh GROUP... (build, guest, test, search, bench,
# debug, viewers, pictures, systems, packages)
#
# Prints what it installs and why, and nothing if everything is installed. The guests' kernels and their
# headers are not included: vm/kernel.sh unpacks them in the build directory.
set -eu

# One group in each line: name, purpose, packages.
groups='
build|to compile userland, shim, ms_print and tests (valgrind.h)|gcc g++ libc6-dev make pkg-config binutils libunwind-dev libdw-dev libelf-dev libiberty-dev liblzma-dev libdeflate-dev libzstd-dev zlib1g-dev libncurses-dev node-d3-axis node-d3-brush node-d3-scale node-d3-shape valgrind libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 xz-utils
guest|to boot a Debian kernel in QEMU and compile massif.ko for it|gcc make patch diffutils qemu-system-x86 busybox-static cpio kmod xz-utils libelf-dev pahole
test|to compare with Massif itself and to have real programs to profile|valgrind heaptrack sqlite3 python3 git perl xz-utils redis-server libxml2-utils jq fzf musl-tools luajit libpython3.11-testsuite nginx-light curl gocryptfs ripgrep clang libclang-rt-14-dev zstd golang-go faketime dwz libdebuginfod1 shellcheck codespell tmux chromium-headless-shell bash-completion zsh fish
search|to look for programs that massif harms|gcc g++ clang lld binutils strace valgrind procps
coverage|to see how much of the sources the inputs of fuzzers reach|llvm
debug|to build the kernel for debugging|gcc make flex bison bc libelf-dev xz-utils
viewers|to open exports in the programs that they are for|massif-visualizer kcachegrind dbus-bin dbus-daemon xvfb imagemagick chromium perl
pictures|to make the pictures of the documentation|g++ tmux perl chromium-headless-shell fonts-dejavu-core pngquant optipng
systems|to make systems of other releases|mmdebstrap util-linux
packages|to try the Debian packages in clean systems, and those for RPM|mmdebstrap util-linux git rpm cpio piuparts autopkgtest
bench|to measure beside other profilers and to have real programs to measure|valgrind heaptrack sqlite3 python3 git perl gcc jq libxml2-utils
'

say() {
	printf 'packages: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

group_field() {
	printf '%s\n' "$groups" | awk -F '|' -v name="$1" -v field="$2" '$1 == name { print $field }'
}

group_names() {
	printf '%s\n' "$groups" | sed -n 's/|.*//p' | paste -s -d ' '
}

# Prints those of the given packages that are not installed. dpkg does not know virtual packages, so the table
# above must name real ones.
missing() {
	dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | awk -v want="$*" '
		$2 == "installed" { have[$1] = 1 }
		END {
			count = split(want, names, " ")
			for (i = 1; i <= count; i++)
				if (!(names[i] in have)) {
					have[names[i]] = 1
					printf "%s ", names[i]
				}
		}'
}

need_root() {
	[ "$(id -u)" -ne 0 ] && [ -z "$sudo_said" ] || return 0
	command -v sudo >/dev/null ||
		die "neither root nor sudo here; please run as root: selftests/tools/packages.sh $requested"
	say "using sudo for apt-get"
	sudo_said=yes
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -- "$@"
	fi
}

# With a lock timeout, because another apt may be running, such as unattended-upgrades on a new machine.
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# Runs a command, and prints its output only if it fails.
quietly() {
	said=$("$@" 2>&1) || { printf '%s\n' "$said" >&2; return 1; }
}

known() {
	for package in "$@"; do
		apt-cache show "$package" >/dev/null 2>&1 || return 1
	done
}

update() {
	need_root
	say "the package lists are missing or too old: apt-get update"
	quietly apt_get update || die "apt-get update failed: is the machine online?"
	updated=yes
}

[ $# -gt 0 ] || die "usage: packages.sh GROUP... ($(group_names))"
requested=$*
updated='' sudo_said='' wanted=''

for group; do
	packages=$(group_field "$group" 3)
	[ -n "$packages" ] || die "no group '$group'; there are $(group_names)"
	wanted="$wanted $packages"
done

# shellcheck disable=SC2086 # a list of words
absent=$(missing $wanted | sed 's/ *$//')
[ -n "$absent" ] || exit 0

command -v apt-get >/dev/null ||
	die "this is no Debian (no apt-get); please install what your system calls: $absent"

for group; do
	reason=$(group_field "$group" 2)
	list=
	for package in $absent; do
		case " $(group_field "$group" 3) " in
		*" $package "*) list="$list $package" ;;
		esac
	done
	[ -z "$list" ] || say "installing, $reason:$list"
done

need_root
# shellcheck disable=SC2086
[ -n "$updated" ] || known $absent || update
# shellcheck disable=SC2086
if ! quietly apt_get install -y --no-install-recommends $absent; then
	# An old list names versions that the archive no longer has.
	[ -z "$updated" ] || die "apt-get could not install: $absent"
	update
	quietly apt_get install -y --no-install-recommends $absent ||
		die "apt-get could not install: $absent; is the machine online?"
fi

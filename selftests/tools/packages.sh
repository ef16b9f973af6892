#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Installs the Debian packages that are missing: packages.sh GROUP... (build, guest, test)
#
# It says what it installs and why, and nothing when there is nothing to do. The one thing that is
# no package of the archive's name list is the headers of the guest's kernel: their name carries
# the kernel's release, which vm/kernel.sh knows.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

# One group a line: name, what it is for, packages.
groups='
build|to compile userland, shim and ms_print|gcc g++ libc6-dev make pkg-config binutils libunwind-dev libdw-dev libelf-dev libiberty-dev liblzma-dev zlib1g-dev libzstd-dev
guest|to boot a Debian kernel in QEMU and compile massif.ko for it|gcc make qemu-system-x86 busybox-static cpio kmod xz-utils linux-headers-@guest@
test|to compare with Massif itself and to have real programs to profile|valgrind sqlite3 python3 git perl xz-utils
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

# Names of those given that dpkg does not have installed. It knows virtual packages by no name,
# so the table above must hold real ones.
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

# Headers count as present when their tree is, since a user may have built a kernel of his own.
headers_missing() {
	[ -e "/lib/modules/$1/build/include/generated/autoconf.h" ] || printf 'linux-headers-%s ' "$1"
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

# A lock timeout, because another apt may be at work, as unattended-upgrades is on a fresh machine.
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# A command's hundreds of lines matter only when it fails.
quietly() {
	"$@" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
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

[ $# -gt 0 ] || die "usage: packages.sh GROUP... (build, guest, test)"
requested=$*
log=$(mktemp)
trap 'rm -f "$log"' EXIT
updated='' sudo_said='' wanted='' absent_headers=''

for group; do
	packages=$(group_field "$group" 3)
	[ -n "$packages" ] || die "no group '$group'; there are build, guest, test"
	for package in $packages; do
		case $package in
		linux-headers-@guest@)
			# Without package lists the newest kernel's name is unknown until after an update.
			release=$("$here/../vm/kernel.sh" release 2>/dev/null) || {
				update
				release=$("$here/../vm/kernel.sh" release) || exit 1
			}
			headers=$(headers_missing "$release") ;;
		*) headers='' wanted="$wanted $package" ;;
		esac
		absent_headers="$absent_headers$headers"
	done
done

# shellcheck disable=SC2086 # all of these are lists of words
absent=$(printf '%s' "$(missing $wanted)$absent_headers" | sed 's/ *$//')
[ -n "$absent" ] || exit 0

command -v apt-get >/dev/null ||
	die "this is no Debian (no apt-get); please install what your system calls: $absent"

for group; do
	reason=$(group_field "$group" 2)
	list=
	for package in $absent; do
		case " $(group_field "$group" 3) " in
		*" $package "*) list="$list $package" ;;
		*" linux-headers-@"*)
			case $package in linux-headers-*) list="$list $package" ;; esac ;;
		esac
	done
	[ -z "$list" ] || say "installing, $reason:$list"
done

need_root
# shellcheck disable=SC2086
[ -n "$updated" ] || known $absent || update
# shellcheck disable=SC2086
if ! quietly apt_get install -y --no-install-recommends $absent; then
	# An old list names versions that the archive no longer holds.
	[ -z "$updated" ] || die "apt-get could not install: $absent"
	update
	quietly apt_get install -y --no-install-recommends $absent ||
		die "apt-get could not install: $absent; is the machine online?"
fi

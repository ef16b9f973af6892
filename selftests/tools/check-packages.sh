#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds the Debian packages of HEAD in clean systems, and installs, uses, upgrades and removes them there, also by piuparts
# and autopkgtest: check-packages.sh [RELEASE...] (bookworm). Needs root. Each step is a line "ok" or "not ok". Before that,
# RPM packages are built from the tarball on this system, unpacked and used.
#
# The older version, from which the packages are upgraded, is the last commit before the one that changed the release's
# number (kmod/release.h).
#
# A clean system is a directory that mmdebstrap has made and unshare(1) enters, with its own mounts and processes. It is
# cached in $MASSIF_BUILD/packages. Pages mode is tried with the modules that dkms has built there, in the virtual machine
# of the guest tests, which boots the system's own kernel, and then the second one, which is that of backports.
set -u
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd -P)
work=${MASSIF_BUILD:-$top/build}/packages
releases=${*:-bookworm}
passed=0 failed=0
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

say() {
	printf '%s\n' "$*"
}

# step RELEASE NAME COMMAND...: runs the command, whose output is in a log, and says how it went.
step() {
	local release=$1 name=$2 log
	shift 2
	log=$work/log/$release.${name// /-}
	if "$@" >"$log" 2>&1 </dev/null; then
		say "ok     $release: $name"
		passed=$((passed + 1))
		return 0
	fi
	say "not ok $release: $name  # $log"
	tail -n 15 "$log" | sed 's/^/    /'
	failed=$((failed + 1))
	return 1
}

# Runs a shell command in the system TREE, as root unless the command says otherwise.
inside() {
	local tree=$1
	shift
	unshare --mount --pid --fork --kill-child --mount-proc="$tree/proc" -- chroot "$tree" /usr/bin/env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		"${SOURCE_DATE_EPOCH:+SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH}" sh -euc "$*"
}

# Counts a failure, because a step failed that later ones need, or a command between the steps, which no step reports.
unfinished() {
	say "not ok $1: not all steps were run"
	failed=$((failed + 1))
}

make_system() {
	local release=$1
	[ -s "$work/$release.tar" ] && return
	mmdebstrap --variant=apt --include=ca-certificates "$release" "$work/$release.new.tar" && # not half of one
		mv "$work/$release.new.tar" "$work/$release.tar"
}

# Makes a new system in $work/tree.NAME and prints the directory.
unpack() {
	local release=$1 tree=$work/tree.$2
	remove_tree "$tree"
	mkdir -p "$tree" && tar -C "$tree" -xf "$work/$release.tar" && cp /etc/resolv.conf "$tree/etc/" && printf '%s\n' "$tree"
}

remove_tree() {
	rm -rf --one-file-system "$1"
}

# Builds the sources in the archive /build/ARCHIVE of system TREE. WHAT: see dpkg-buildpackage.
build() {
	local tree=$1 archive=$2 what=$3
	inside "$tree" "
		rm -rf /build/massif && mkdir -p /build/massif && tar -C /build/massif -xf /build/$archive
		cd /build/massif
		dpkg-buildpackage $what -us -uc
	"
}

# Builds all packages of a release in one system, twice, and an older version.
build_all() {
	local release=$1 tree
	tree=$(unpack "$release" "$release.build") || return
	mkdir -p "$tree/build" "$work/$release"
	git -C "$top" archive HEAD -o "$tree/build/massif.tar"
	git -C "$top" archive "$older" -o "$tree/build/older.tar" || return
	step "$release" "build dependencies" inside "$tree" "apt-get update && apt-get install -y --no-install-recommends \
		build-essential fakeroot lintian && mkdir -p /build/massif && tar -C /build/massif -xf /build/massif.tar &&
		cd /build/massif && apt-get build-dep -y ./" || return
	step "$release" "older version" build "$tree" older.tar -b && mv "$tree"/build/*.deb "$work/$release/older/"
	step "$release" "build" build "$tree" massif.tar --build=full || return
	step "$release" "lintian" inside "$tree" "cd /build && lintian --allow-root --fail-on error,warning massif_${version}_*.changes"
	mv "$tree"/build/*.deb "$work/$release/new/"
	step "$release" "architecture independent alone" build "$tree" massif.tar -A
	step "$release" "build again" build "$tree" massif.tar -b
	step "$release" "reproducible" same "$work/$release/new" "$tree/build"
	remove_tree "$tree"
}

same() {
	local deb
	for deb in "$1"/*.deb; do
		cmp "$deb" "$2/${deb##*/}" || return
	done
}

# Every file outside of what package management itself keeps.
list_files() {
	inside "$1" "find / -xdev \( -path /proc -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log \
		-o -path /packages -o -path /tmp -o -path /run -o -path /root -o -path /etc/.pwd.lock \) -prune -o -print | sort"
}

# What a package leaves: files that are there now but were not before, and are neither dkms's own, nor depmod's, nor copies
# that the programs for users and groups keep.
leaves_nothing() {
	local tree=$1
	list_files "$tree" >"$tree/packages/after" || return
	! comm -13 "$tree/packages/before" "$tree/packages/after" | grep -v '^/var/lib/dkms\|^/usr/lib/modules/\|^/etc/\(group\|passwd\|gshadow\|shadow\|subuid\|subgid\)-$\|\.cache$\|^/var/lib/systemd'
}

# piuparts compares a system before installing with one after purging. It begins with systemd-sysusers, which massif-dkms
# depends on: otherwise, apt chooses the whole of systemd, and what that leaves behind is not ours. /etc/.pwd.lock is made by the first
# program that changes the list of users or groups (lckpwdf), and stays.
piuparts_of() {
	local release=$1 tree mirror base=$work/$1.piuparts.tar.gz
	tree=$(unpack "$release" "$release.piuparts") &&
		mirror=$(sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' "$tree/etc/apt/sources.list" | head -n 1) &&
		inside "$tree" "apt-get update && apt-get install -y --no-install-recommends systemd-standalone-sysusers && apt-get clean" &&
		tar -C "$tree" -czf "$base" . && remove_tree "$tree" && mkdir -p "$work/tmp" &&
		piuparts --basetgz="$base" --distribution="$release" --mirror="$mirror main" --tmpdir="$work/tmp" --ignore=/etc/.pwd.lock \
			"$work/$release"/new/*.deb && rm "$base"
}

# The test of pages mode needs a machine of its own, so autopkgtest skips it here, and says so with status 2.
autopkgtest_of() {
	local release=$1 tree status
	tree=$(unpack "$release" "$release.autopkgtest") || return
	remove_tree "$work/autopkgtest" && mkdir "$work/autopkgtest" && git -C "$top" archive HEAD | tar -x -C "$work/autopkgtest" || return
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child --mount-proc -- sh -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
		shift && exec "$@"' sh "$tree" autopkgtest --apt-upgrade "$work/$release"/new/*.deb "$work/autopkgtest/" -- chroot "$tree"
	status=$?
	remove_tree "$tree" && remove_tree "$work/autopkgtest" && { [ $status -eq 0 ] || [ $status -eq 2 ]; }
}

heap_as_user() {
	inside "$1" "
		id user >/dev/null 2>&1 || useradd -m user
		su user -c 'mkdir -p /tmp/heap && cd /tmp/heap && AUTOPKGTEST_TMP=/tmp/heap sh /packages/tests/heap'
	"
}

# dkms has installed the module of VERSION for COUNT kernels, where modprobe finds it, and has no other version.
has_module() {
	local tree=$1 version=$2 count=$3
	inside "$tree" "
		dkms status massif
		[ \$(dkms status massif | wc -l) -eq $count ]
		[ \$(dkms status massif | grep -c '^massif/$version,.*: installed\$') -eq $count ]
		for module in \$(find /lib/modules/*/updates /lib/modules/*/extra -name 'massif.ko*'); do modinfo -F version \$module; done |
			tee /dev/stderr | grep -cx '$version' | grep -x $count
	"
}

# Pages mode in the virtual machine, which boots KERNEL, with the programs and the module of system TREE. udevd sets who may
# open the device.
pages_in_guest() {
	local tree=$1 kernel=$2
	"$top/selftests/vm/kernel.sh" fetch "$kernel" && "$top/selftests/vm/run.sh" --kernel "$kernel" --timeout 300 -- sh -c "
		mkdir -p /tmp/root /tmp/upper && mount -t tmpfs none /tmp/upper && mkdir /tmp/upper/up /tmp/upper/work &&
		mount -t overlay overlay -o lowerdir='$tree',upperdir=/tmp/upper/up,workdir=/tmp/upper/work /tmp/root &&
		mount -t proc none /tmp/root/proc && mount -t sysfs none /tmp/root/sys && mount --rbind /dev /tmp/root/dev &&
		mount -t tmpfs none /tmp/root/run && mkdir -p /tmp/root/tmp/pages && chroot /tmp/root uname -r | grep -Fx '$kernel' &&
		chroot /tmp/root /lib/systemd/systemd-udevd --daemon &&
		exec chroot /tmp/root env AUTOPKGTEST_TMP=/tmp/pages sh /packages/tests/pages"
}

# Installs the kernel of backports beside the system's own, as dkms builds for a kernel that comes later. The headers alone have no
# list of modules on trixie.
install_second_kernel() {
	local tree=$1 release=$2 kernel=$3
	[ -n "$kernel" ] || { echo "$release-backports has no linux-headers-amd64"; return 1; }
	inside "$tree" "apt-get install -y --no-install-recommends -t $release-backports linux-image-$kernel linux-headers-$kernel"
}

# Prints the release of the kernel in backports, or nothing.
second_kernel() {
	local tree=$1 release=$2
	sed -n "s/ $release / $release-backports /p" "$tree/etc/apt/sources.list" >"$tree/etc/apt/sources.list.d/backports.list"
	inside "$tree" "apt-get update >&2; apt-cache show linux-headers-amd64/$release-backports" |
		sed -n 's/^Depends:.* linux-headers-\([0-9][^ ,]*\).*/\1/p' | head -n 1
}

# If the module cannot be built, one line of apt's output says why.
failed_build_says_why() {
	inside "$1" "
		echo '#error \"this kernel is not for massif\"' >>/usr/src/massif-$version/kmod/main.c
		if dpkg-reconfigure massif-dkms >/packages/failed 2>&1; then exit 1; fi
		cat /packages/failed
		grep '^massif-dkms: .*main.c.*this kernel is not for massif' /packages/failed
	"
}

install() {
	inside "$1" "apt-get install -y --no-install-recommends $2"
}

use_all() {
	local release=$1 tree kernel second
	tree=$(unpack "$release" "$release.use") || return
	mkdir -p "$tree/packages"
	cp -r "$work/$release/new" "$work/$release/older" "$top/debian/tests" "$tree/packages/"
	inside "$tree" "apt-get update" >"$work/log/$release.update" 2>&1
	step "$release" "dependencies" install "$tree" "linux-headers-amd64 dkms passwd udev systemd-standalone-sysusers libncursesw6 libunwind8 libdw1 \
		libdeflate0 libzstd1 zlib1g gcc libc6-dev pkgconf perl make" || return
	list_files "$tree" >"$tree/packages/before"
	step "$release" "install" install "$tree" "/packages/older/massif_*.deb /packages/older/massif-dkms_*.deb /packages/older/libmassif-dev_*.deb"
	step "$release" "heap mode as a plain user" heap_as_user "$tree"
	kernel=$(cd "$tree/lib/modules" && printf '%s\n' *-amd64)
	step "$release" "module by dkms" has_module "$tree" "$older_version" 1
	step "$release" "upgrade" install "$tree" "/packages/new/massif_*.deb /packages/new/massif-dkms_*.deb /packages/new/libmassif-dev_*.deb"
	step "$release" "heap mode after the upgrade" heap_as_user "$tree"
	step "$release" "module after the upgrade" has_module "$tree" "$version" 1
	step "$release" "pages mode" pages_in_guest "$tree" "$kernel"
	inside "$tree" "userdel -r user" >"$work/log/$release.tidy" 2>&1
	step "$release" "remove" inside "$tree" "apt-get remove -y massif massif-dkms libmassif-dev && ! command -v massif-ctl"
	step "$release" "install again" install "$tree" "/packages/new/massif_*.deb /packages/new/massif-dkms_*.deb"
	step "$release" "purge" inside "$tree" "apt-get purge -y massif massif-dkms && ! getent group massif"
	step "$release" "nothing is left" leaves_nothing "$tree"
	# Another kernel leaves files of its own, so this comes last.
	step "$release" "install before a second kernel" install "$tree" "/packages/new/massif_*.deb /packages/new/massif-dkms_*.deb"
	second=$(second_kernel "$tree" "$release" 2>>"$work/log/$release.update")
	step "$release" "second kernel" install_second_kernel "$tree" "$release" "$second" &&
		step "$release" "modules for both" has_module "$tree" "$version" 2 &&
		step "$release" "pages mode with the second" pages_in_guest "$tree" "$second"
	step "$release" "headers of a realtime kernel" install "$tree" linux-headers-rt-amd64 &&
		step "$release" "no module for that" has_module "$tree" "$version" 2
	step "$release" "failed build says why" failed_build_says_why "$tree"
	step "$release" "install over a failed build" inside "$tree" "apt-get install -y --reinstall /packages/new/massif-dkms_*.deb"
	step "$release" "modules for both again" has_module "$tree" "$version" 2
	step "$release" "purge with two kernels" inside "$tree" "apt-get purge -y massif massif-dkms && ! find /lib/modules -name 'massif*' | grep ."
	remove_tree "$tree"
	step "$release" "piuparts" piuparts_of "$release"
	step "$release" "autopkgtest" autopkgtest_of "$release"
	return 0
}

# No RPM distribution is at hand: Debian's rpmbuild must accept the tarball, and what it builds must work.
use_rpm() {
	local top_dir=$work/rpm
	remove_tree "$top_dir"
	mkdir -p "$top_dir/root" || return
	step rpm "tarball" make -s -C "$top" O="$top_dir" dist || return
	step rpm "build" rpmbuild -ta --nodeps --define "_topdir $top_dir" "$top_dir"/massif-*.tar.xz || return
	step rpm "unpack" unpack_rpms "$top_dir" || return
	step rpm "heap mode" sh -euc "cd '$top_dir' && root/usr/bin/massif-ctl run --massif-out-file=out /usr/bin/perl -e 1 &&
		root/usr/bin/massif-print out | grep 'Number of snapshots'"
	step rpm "sources for dkms" test -s "$top_dir"/root/usr/src/massif-*/dkms.conf -a -s "$top_dir/root/usr/src/massif-"*/Kbuild
	remove_tree "$top_dir"
}

unpack_rpms() {
	local package
	cd "$1/root" || return
	for package in "$1"/RPMS/*/*.rpm; do
		rpm2cpio "$package" | cpio --quiet -idm || return
	done
}

older_commit() {
	local changed
	changed=$(git -C "$top" log -1 --format=%H -G'define MASSIF_RELEASE' -- kmod/release.h) &&
		git -C "$top" rev-parse --quiet --verify "$changed^"
}

[ "$(id -u)" -eq 0 ] || { say "check-packages.sh needs root, to install packages in a system of its own" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top/debian/changelog")
older=$(older_commit) || { say "check-packages.sh: git knows no release before $version, to upgrade from" >&2; exit 1; }
older_version=$(git -C "$top" show "$older:debian/changelog" | sed -n '1s/.*(\(.*\)).*/\1/p')
mkdir -p "$work/log"
use_rpm || unfinished rpm
for release in $releases; do
	rm -rf "${work:?}/$release"
	mkdir -p "$work/$release/new" "$work/$release/older"
	if ! { step "$release" "clean system" make_system "$release" && build_all "$release" && use_all "$release"; }; then
		unfinished "$release"
	fi
done
say "$passed passed, $failed failed"
[ $failed -eq 0 ]

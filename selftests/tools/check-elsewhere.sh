#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs every test in several unusual environments: check-elsewhere.sh [ENVIRONMENT...]
#
# For each environment, `make check` runs in a fresh clone in a directory of its own. TESTS selects tests, as
# for make check. Needs root, to become another user and to mount.
set -u
unset CDPATH # or cd may go elsewhere, and print where

tools=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$tools/../.." && pwd -P)
build=${MASSIF_BUILD:-$source/build}
where=${ELSEWHERE:-$build/elsewhere}

# Name and difference of each environment, which the function enter_NAME below creates.
environments='
hostile|a clone named massif, umask 077, a Turkish locale, no HOME, /tmp read-only, a full environment
user|another user, a clone in a folder that only this user can read, no home directory, two descriptors left open
'

say() {
	printf 'elsewhere: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

[ "$(id -u)" -eq 0 ] || die "this takes root, to become another user and to mount over /tmp"

# Clones into $1, and copies the downloaded files, by hard links if possible: no test writes to them.
clone() {
	local part
	rm -rf "$1"
	mkdir -p "$(dirname "$1")" && git clone -q "$source" "$1" && mkdir -p "$1/build/guest" || return
	for part in kselftest python; do
		[ ! -d "$build/$part" ] || cp -r "$build/$part" "$1/build/" || return
	done
	for part in "$build"/guest/[0-9]* "$build"/guest/apt; do
		[ ! -d "$part" ] || cp -al "$part" "$1/build/guest/" 2>/dev/null ||
			cp -r "$part" "$1/build/guest/" || return
	done
}

# A locale with another case conversion of "i", and with a decimal comma.
turkish() {
	mkdir -p "$where/locales"
	[ -d "$where/locales/tr_TR.UTF-8" ] || localedef -i tr_TR -f UTF-8 "$where/locales/tr_TR.UTF-8" ||
		say "no Turkish locale here: the C locale is used (Debian's package locales has it)"
}

enter_hostile() {
	clone "$where/massif" || return
	turkish
	# Variables that shell start-up files often set, and that change the behaviour of programs.
	unshare --mount --propagation private sh -c '
		umask 077
		mount -t tmpfs -o ro,noexec none /tmp || exit 1
		cd "$1" || exit 1
		exec env -u HOME LOCPATH="$2" LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 LANGUAGE=tr CDPATH=.:.. \
			POSIXLY_CORRECT=1 MALLOC_PERTURB_=85 PYTHONDONTWRITEBYTECODE=1 GIT_CONFIG_NOSYSTEM=1 \
			GREP_COLORS=mt=01 LS_COLORS= MASSIF_OPTS=--depth=3 VALGRIND_OPTS=--massif:depth=3 \
			LD_BIND_NOW=1 XDG_CACHE_HOME=/nonexistent TERM=dumb COLUMNS=20 BASH_ENV= ENV= \
			make check TESTS="$3"
	' sh "$where/massif" "$where/locales" "${TESTS-}"
}

enter_user() {
	local home=$where/user uid=54321
	clone "$home/massif" || return
	# Not hard links: they are shared with other clones.
	find "$home" \( -type d -o -links 1 \) -exec chown -h $uid:$uid {} + && chmod 700 "$home" || return
	# The user needs access to the directories above.
	setpriv --reuid=$uid --regid=$uid --clear-groups --inh-caps=-all test -r "$home/massif/Makefile" ||
		die "a user other than root cannot read below $where; name another folder by ELSEWHERE="
	(cd "$home/massif" && exec env -i PATH=/usr/bin:/bin HOME=/nonexistent \
		setpriv --reuid=$uid --regid=$uid --clear-groups --inh-caps=-all \
		make check TESTS="${TESTS-}" 8</dev/null 9</dev/null)
}

mapfile -t wanted < <(printf '%s\n' "${@:-$(printf '%s\n' "$environments" | sed -n 's/|.*//p')}")
failed=0
for name in "${wanted[@]}"; do
	what=$(printf '%s\n' "$environments" | awk -F '|' -v name="$name" '$1 == name { print $2 }')
	[ -n "$what" ] || die "no environment is called $name"
	say "$name: $what"
	# Print a summary of our own after the output of make check.
	if (trap - EXIT; "enter_$name"); then
		say "$name: all passed"
	else
		say "$name: failed"
		failed=$((failed + 1))
	fi
done
[ "$failed" -eq 0 ] || die "$failed of ${#wanted[@]} environments failed"

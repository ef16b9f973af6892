#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Checks that the tree can be tagged as a release, and prints the commands for the tag: release-check.sh
#
# The version is in kmod/release.h. Files that name it, too, must name the same one.
set -u
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd -P) && cd "$top" || exit 1
wrong=0
version=$(sed -n 's/^#define MASSIF_RELEASE[[:space:]]*"\(.*\)"/\1/p' kmod/release.h)

complain() {
	echo "release-check: $*" >&2
	wrong=1
}

# same FILE FOUND: a file's version must be that of the release.
same() {
	[ "$2" = "$version" ] || complain "$1 has version '$2', kmod/release.h has '$version'"
}

# is_only_version TEXT: digits and dots, because packages compare versions, and tags are named after them.
is_only_version() {
	printf '%s\n' "$1" | grep -qx '[0-9][0-9]*\(\.[0-9][0-9]*\)*'
}

is_only_version "$version" || complain "kmod/release.h has version '$version', which is not a number like 1.2"
same debian/changelog "$(sed -n '1s/^massif (\(.*\)) .*/\1/p' debian/changelog)"
! sed -n 1p debian/changelog | grep -q UNRELEASED || complain "debian/changelog says that the version is not released"
same CHANGELOG.md "$(sed -n 's/^## //p' CHANGELOG.md | sed -n 1p)"
# "make dist" writes the version in its place.
[ "$(sed -n 's/^Version:[[:space:]]*//p' Documentation/massif.spec.in)" = @VERSION@ ] ||
	complain "Documentation/massif.spec.in has a version of its own, not @VERSION@"

changes=$(git status --porcelain) || complain "this is not a git repository"
[ -z "$changes" ] || complain "not everything is committed:
$changes"
! git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null || complain "tag v$version exists already"

[ $wrong -eq 0 ] || exit 1
cat <<END
The tree can be released as $version. After make check, make check-kernels and make check-packages:

    git tag -a v$version -m 'massif $version'
    git push origin v$version
    make dist
END

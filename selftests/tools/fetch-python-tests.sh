#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Extracts python3's own tests of its module sqlite3 from Debian's source package: fetch-python-tests.sh
# DIRECTORY
#
# No binary package contains them. The source is 26 MB, of which we need 350 KB. Nothing is built.
set -eu
unset CDPATH # or cd may go elsewhere, and print where

package=${PYTHON_PACKAGE:-python3.11}
tests=test_sqlite3
dir=${1:?usage: fetch-python-tests.sh DIRECTORY}
suite=$(cd "$(dirname "$0")/../vm" && pwd -P)/suite.sh

say() {
	printf 'python-tests: %s\n' "$*" >&2
}

[ ! -s "$dir/$tests/__init__.py" ] || exit 0
codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME-}")
mkdir -p "$dir"
work=$(mktemp -d "$dir/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

say "downloading the source of $package (26 MB) for $tests"
if ! (cd "$work" && SUITE_KIND=deb-src "$suite" run lists "$codename" -- \
	apt-get -q -q source --download-only --only-source --tar-only "$package" >log 2>&1); then
	say "cannot download it: $(tail -n 1 "$work/log")"
	exit 1
fi
mkdir "$work/out"
tar -xf "$work/$package"_*.orig.tar.* -C "$work/out" --strip-components=3 --wildcards "*/Lib/test/$tests"
rm -rf "${dir:?}/$tests"
mv "$work/out/$tests" "$dir/"
[ -s "$dir/$tests/__init__.py" ] || { say "$package does not hold them"; exit 1; }

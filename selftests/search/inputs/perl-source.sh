#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Creates a directory "source" with perl's own tests, for the installed version of perl. No binary package contains
# them, so the source package (13 MB) is downloaded once and kept in the cache.
set -e
cache=$XDG_CACHE_HOME/perl
mkdir -p "$cache" source
if ! ls "$cache"/perl_*.orig.tar.xz; then
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	(cd "$cache" && SUITE_KIND=deb-src "$SEARCH/../vm/suite.sh" run lists "$codename" -- \
		apt-get -q -q source --download-only --only-source --tar-only perl)
fi
tar -xf "$cache"/perl_*.orig.tar.xz -C source --strip-components=1 --wildcards --no-wildcards-match-slash \
	'perl-*/t' 'perl-*/TestInit.pm' 'perl-*/MANIFEST'
# The tests expect the modules that they test in source/lib.
mkdir -p source/lib
perl -e 'print "$_\n" for grep { -f "$_/Config.pm" || -f "$_/strict.pm" || -f "$_/Test/More.pm" } @INC' |
	while read -r folder; do cp -rsn "$folder/." source/lib/; done
ln -s "$(command -v perl)" source/t/perl

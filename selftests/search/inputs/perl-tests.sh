#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perl's own tests of its core (t/op and t/re), from Debian's source package; -B: what they print is its TAP.
set -e
source=${MASSIF_PERL_SOURCE:-/var/cache/massif-check-programs/perl}
[ -d "$source/t" ] || exit 1
cp -r "$source/t" "$source/lib" .

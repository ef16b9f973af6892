#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Opens what massif-ctl exports in the programs that it is for: massif-visualizer and KCachegrind under Xvfb, speedscope
# in Chromium. Prints whether each of them shows the profile, and leaves pictures in $MASSIF_BUILD/viewers.
#
# speedscope is fetched by npm, which is Debian's or another, unless $SPEEDSCOPE is the folder with its index.html.
set -u
unset CDPATH # or cd may go elsewhere, and print where

build=${MASSIF_BUILD:?the build directory}
ctl=$build/massif-ctl
work=$build/viewers
passed=0 failed=0

mkdir -p "$work/home" && cd "$work" || exit 1
# The programs write into the home directory, and want a folder for sockets.
export HOME=$work/home XDG_RUNTIME_DIR=$work/home LC_ALL=C.UTF-8 QT_QPA_PLATFORM=xcb
chmod 700 "$work/home"

# Prints the result of test $1, with the reason $3, if $2 is not 0.
result() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok     viewers: $1"
	else
		failed=$((failed + 1))
		echo "not ok viewers: $1  # $3"
	fi
}

# Waits up to 30 seconds until the file $1 has the text $2.
wait_for() {
	local i
	for ((i = 0; i < 300; i++)); do
		grep -q -s -F -- "$2" "$1" && return 0
		sleep 0.1
	done
	return 1
}

picture() {
	import -window root "$work/$1.png" 2>/dev/null || :
}

# The peak, as ms_print's reader sees it: the snapshot's number.
peak_of() {
	awk -F = '/^snapshot=/ { n = $2 } /^heap_tree=peak/ { peak = n } END { print peak }' "$1"
}

"$ctl" record -q --record=perl.rec --massif-out-file=perl.out --time-unit=B /usr/bin/perl -e '
	my %h; $h{$_} = $_ . ("x" x ($_ % 100)) for 1 .. 3000; delete $h{$_} for 1 .. 1000;' || exit 1
for export in massif:massif.exported callgrind:callgrind.out.1 speedscope:perl.speedscope.json; do
	"$ctl" export --to="${export%%:*}" -o "${export#*:}" perl.rec || exit 1
done

exec 3> display
Xvfb -displayfd 3 -screen 0 1280x900x24 > xvfb.log 2>&1 3> display &
xvfb=$!
trap 'kill $xvfb 2>/dev/null' EXIT
for ((i = 0; i < 100; i++)); do
	[ ! -s display ] || break
	sleep 0.1
done
DISPLAY=:$(cat display)
export DISPLAY

echo 'massif-visualizer: opening the massif.out file'
timeout 60 massif-visualizer massif.exported > visualizer.log 2>&1 &
wait_for visualizer.log "peak: snapshot # $(peak_of massif.exported) "
result 'massif-visualizer finds the peak' $? "see $work/visualizer.log"
wait_for visualizer.log "snapshots: $(grep -c '^snapshot=' massif.exported)"
result 'massif-visualizer has all snapshots' $? "see $work/visualizer.log"
picture visualizer
kill %+ 2>/dev/null

echo 'KCachegrind: opening the execution tree'
timeout 60 dbus-run-session -- kcachegrind callgrind.out.1 > kcachegrind.log 2>&1 &
wait_for kcachegrind.log 'Selected  "main"'
result 'KCachegrind selects main' $? "see $work/kcachegrind.log"
picture kcachegrind
kill %+ 2>/dev/null

echo 'speedscope: drawing the flame graph in Chromium'
if [ -z "${SPEEDSCOPE-}" ]; then
	[ -d package ] || { npm pack speedscope > npm.log 2>&1 && tar xzf speedscope-*.tgz; }
	SPEEDSCOPE=$work/package/dist/release
fi
{
	printf 'speedscope.loadFileFromBase64("perl.speedscope.json", "'
	base64 -w 0 perl.speedscope.json
	printf '")'
} > profile.js
chrome=(timeout 120 chromium --headless --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader
	--allow-file-access-from-files --virtual-time-budget=10000 '--window-size=1280,900')
address=file://$SPEEDSCOPE/index.html#localProfilePath=$work/profile.js
"${chrome[@]}" --dump-dom "$address" > speedscope.html 2> chromium.log
grep -q '<title>/usr/bin/perl -e' speedscope.html
result 'speedscope shows the profile' $? "see $work/speedscope.html"
"${chrome[@]}" --screenshot="$work/speedscope.png" "$address" > /dev/null 2>> chromium.log

echo "$passed passed, $failed failed; the pictures are in $work"
[ $failed -eq 0 ]

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Makes the pictures of the documentation from real runs: pictures.sh [PICTURE...]
#
# Documentation/pictures/pictures.table says which, and how. All rows are run; with PICTURE, only these are kept.
set -eu
unset CDPATH # or cd may go elsewhere, and print where

tools=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$tools/../.." && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$source/build}
pictures=$source/Documentation/pictures
table=$pictures/pictures.table
work=$MASSIF_BUILD/pictures

# A picture is at most so large, in bytes.
readonly PICTURE_MAX=102400
readonly WATCH_SECONDS=20
# Of a terminal's character, and around the text: as terminal.pl has them.
readonly CHARACTER=8 MARGIN=14

say() {
	printf 'pictures: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

terminal() {
	tmux -S "$work/.tmux" -f /dev/null -u "$@"
}

stop() {
	terminal kill-server 2>/dev/null || :
	# shellcheck disable=SC2046 # numbers
	kill $(jobs -p) 2>/dev/null || :
}

# draw URL WIDTH HEIGHT PNG: what a browser shows.
draw() {
	rm -f "$4"
	chromium-headless-shell --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
		--user-data-dir="$work/.browser" --virtual-time-budget=5000 --window-size="$2,$3" --screenshot="$4" "$1" \
		>"$work/.browser.log" 2>&1 || :
	[ -s "$4" ] || { cat "$work/.browser.log" >&2; die "the browser has drawn nothing of $1"; }
}

# keep PNG NAME: makes it small, and puts it where the documentation has it.
keep() {
	pngquant --force --strip --speed 1 --output "$1.small" 128 "$1"
	optipng -quiet -o2 "$1.small"
	[ "$(stat -c %s "$1.small")" -le "$PICTURE_MAX" ] ||
		die "$2 has $(stat -c %s "$1.small") bytes, of at most $PICTURE_MAX"
	[ -z "$wanted" ] || [[ " $wanted " == *" $2 "* ]] || return 0
	mv "$1.small" "$pictures/$2"
	say "$2: $(stat -c %s "$pictures/$2") bytes"
}

# capture NAME COLUMNS: makes a picture of what the terminal shows.
capture() {
	local height
	terminal capture-pane -e -p >"$work/.screen"
	height=$("$tools/terminal.pl" "$2" <"$work/.screen" 2>&1 >"$work/.screen.html")
	draw "file://$work/.screen.html" "$(($2 * CHARACTER + 2 * MARGIN))" "$height" \
		"$work/.picture.png"
	keep "$work/.picture.png" "$1"
}

# Opens a terminal of size $1 with the commands in .command.
open_terminal() {
	terminal new-session -d -x "${1%x*}" -y "${1#*x}" \
		"cd '$work' && exec env -u TMUX -u NO_COLOR LC_ALL=C.UTF-8 bash .command"
}

take_run() {
	# In this shell, so that what runs in the background can be ended.
	eval "$3" </dev/null >>"$work/.log" 2>&1 || die "failed: $3 (see $work/.log)"
}

take_guest() {
	stop
	# shellcheck disable=SC2016 # the guest's shell expands these
	"$source/selftests/vm/run.sh" --results "$work" --timeout 300 -- bash -euc '
		insmod "$MASSIF_BUILD/kmod/$(uname -r)/massif.ko"
		cd "$MASSIF_RESULTS" && PATH=$MASSIF_BUILD:$PATH && eval "$1"' guest "$3" >>"$work/.log" 2>&1 ||
		die "failed in the guest: $3 (see $work/.log)"
}

take_terminal() {
	local i
	rm -f .done
	# shellcheck disable=SC2016
	printf "printf '%%s\\\\n' %q\n%s\ntouch .done\nexec sleep 1000\n" "\$ $3" "$3" >.command
	open_terminal "$2"
	for ((i = 0; i < 600; i++)); do
		[ ! -e .done ] || break
		sleep 0.1
	done
	[ -e .done ] || die "has not ended within a minute: $3"
	sleep 0.5
	capture "$1" "${2%x*}"
	stop_terminal
}

stop_terminal() {
	terminal kill-server 2>/dev/null || :
	sleep 0.5
}

take_screen() {
	printf 'exec %s\n' "$3" >.command
	open_terminal "$2"
	sleep "$WATCH_SECONDS"
	capture "$1" "${2%x*}"
	terminal send-keys q
	sleep 1
	stop_terminal
}

# The page is within another, which shows it from the wanted element on, in the wanted colours.
take_page() {
	local page=${3%% @*} from='' theme=${4:-light}
	[ "$page" = "$3" ] || from=${3##* @}
	cat >.frame.html <<FRAME
<!doctype html><meta charset="utf-8">
<style>html, body { margin: 0; overflow: hidden } iframe { border: 0; width: ${2%x*}px; height: 4000px; display: block }</style>
<iframe src="$page"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
	const page = frame.contentDocument;
	page.documentElement.dataset.theme = "$theme";
	setTimeout(() => { frame.style.marginTop = "$from" ?
		12 - page.querySelector("$from").getBoundingClientRect().top + "px" : 0; }, 500);
});
</script>
FRAME
	draw "file://$work/.frame.html" "${2%x*}" "${2#*x}" "$work/.picture.png"
	keep "$work/.picture.png" "$1"
}

take_page-dark() {
	take_page "$@" dark
}

wanted=$*
for tool in tmux chromium-headless-shell pngquant optipng g++; do
	command -v "$tool" >/dev/null || die "$tool is missing; selftests/tools/packages.sh pictures installs it"
done
rm -rf "$work"
mkdir -p "$work"
cp "$source"/Documentation/shop/* "$work"
cd "$work"
export PATH=$MASSIF_BUILD:$PATH LC_ALL=C.UTF-8
unset MASSIF_OPTS
trap stop EXIT
while read -r name how size what <&3; do
	[[ -n $name && $name != '#'* ]] || continue
	declare -F "take_$how" >/dev/null || die "$table: there is no '$how'"
	"take_$how" "$name" "$size" "$what"
done 3<"$table"

# SPDX-License-Identifier: GPL-2.0
# What the scripts of servers share. Each is called with what stands before the server: massif-ctl or nothing.
# shellcheck shell=sh

# A port that is probably free; the servers of two checks side by side are to have different ones.
port=$((20000 + $$ % 12000))

# until_it_works SECONDS COMMAND...: runs the command until it succeeds.
until_it_works() {
	left=$(($1 * 5))
	shift
	until "$@" > /dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || {
			echo "never worked: $*"
			return 1
		}
		sleep 0.2
	done
}

# ended PID NAME: waits, prints how it ended.
ended() {
	wait "$1"
	echo "$2 ended with $?"
}

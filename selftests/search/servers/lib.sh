# SPDX-License-Identifier: GPL-2.0
# Shared by the servers' scripts. The arguments of each script (massif-ctl or nothing) are put before the server's
# command.
# shellcheck shell=sh

# A port that is probably free. It depends on the pid, so that concurrent checks use different ports.
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

# ended PID NAME: waits for the process, and prints its exit status.
ended() {
	wait "$1"
	echo "$2 ended with $?"
}

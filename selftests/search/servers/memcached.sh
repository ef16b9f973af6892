#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# memcached with 64 threads and 200 clients at once.
. "${0%/*}/lib.sh"
"$@" memcached -u nobody -l 127.0.0.1 -p "$port" -U 0 -t 64 -m 64 > server.log 2>&1 &
server=$!
talk() { printf 'set k%s 0 0 5\r\nhello\r\nget k%s\r\nquit\r\n' "$1" "$1" | timeout 20 bash -c "exec 9<>/dev/tcp/127.0.0.1/$port; cat >&9; cat <&9"; }
until_it_works 30 bash -c ": > /dev/tcp/127.0.0.1/$port"
clients=
for i in $(seq 200); do
	talk "$i" > "answer.$i" &
	clients="$clients $!"
done
# shellcheck disable=SC2086 # a list
wait $clients
cat answer.* | sort | uniq -c | sort | tail -3
kill -TERM "$(pgrep -P $server memcached || echo $server)"
ended $server memcached
rm -f answer.* server.log

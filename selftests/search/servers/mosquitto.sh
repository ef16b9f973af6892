#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# An MQTT broker with 50 subscribers.
. "${0%/*}/lib.sh"
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$port" > conf
"$@" mosquitto -c conf > server.log 2>&1 &
server=$!
until_it_works 30 mosquitto_pub -p "$port" -t probe -m x
clients=
for i in $(seq 50); do
	mosquitto_sub -p "$port" -t topic -C 20 -W 30 > "sub.$i" &
	clients="$clients $!"
done
sleep 2
for i in $(seq 20); do mosquitto_pub -p "$port" -t topic -q 1 -m "message $i"; done
# shellcheck disable=SC2086 # a list
wait $clients
cat sub.* | cksum
kill -TERM "$(pgrep -P $server mosquitto || echo $server)"
ended $server mosquitto
rm -f sub.* server.log conf

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A name server with a zone of 2000 names, and queries for some hundreds of them.
. "${0%/*}/lib.sh"
{
	printf '$TTL 60\n@ SOA ns root 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\n'
	seq 2000 | sed 's/.*/h& A 10.0.0.1/'
} > zone
cat > conf <<EOF
options { directory "$PWD"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; }; pid-file "$PWD/pid"; recursion no; session-keyfile "$PWD/key"; };
controls { };
zone "example" { type primary; file "$PWD/zone"; };
EOF
"$@" named -f -n 8 -c "$PWD/conf" > server.log 2>&1 &
server=$!
ask() { dig +short +time=5 -p "$port" @127.0.0.1 "$@"; }
until_it_works 30 sh -c "dig +short +time=1 -p $port @127.0.0.1 ns.example | grep -qx 127.0.0.1"
# The server answers queries before it has written its pid file.
until_it_works 30 test -s pid
for i in $(seq 200); do echo "h$((i * 7)).example"; done > names
ask +retry=5 -f names | sort | uniq -c
kill -TERM "$(cat pid)"
ended $server named
rm -f names conf zone server.log key managed-keys*

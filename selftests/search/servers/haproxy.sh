#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# HAProxy with 16 threads in front of an nginx that is not profiled: 200 connections at once.
. "${0%/*}/lib.sh"
mkdir html
seq 1000 > html/index.txt
cat > nginx.conf <<EOF
daemon off;
pid $PWD/nginx.pid;
events { worker_connections 512; }
http { access_log off; client_body_temp_path $PWD/tmp/b; proxy_temp_path $PWD/tmp/p; fastcgi_temp_path $PWD/tmp/f; uwsgi_temp_path $PWD/tmp/u; scgi_temp_path $PWD/tmp/s;
server { listen 127.0.0.1:$((port + 1)); root $PWD/html; } }
EOF
cat > haproxy.conf <<EOF
global
	nbthread 16
defaults
	mode http
	timeout connect 5s
	timeout client 30s
	timeout server 30s
frontend f
	bind 127.0.0.1:$port
	default_backend b
backend b
	compression algo gzip
	server s 127.0.0.1:$((port + 1))
EOF
chmod 755 . html
nginx -e "$PWD/error.log" -c "$PWD/nginx.conf" &
back=$!
"$@" haproxy -f haproxy.conf > server.log 2>&1 &
server=$!
until_it_works 30 curl -sf "http://127.0.0.1:$port/index.txt"
ab -q -c 200 -n 4000 "http://127.0.0.1:$port/index.txt" 2>&1 | grep -E 'Complete|Failed|Non-2xx'
curl -s "http://127.0.0.1:$port/index.txt" | cksum
kill -TERM "$(pgrep -P $server haproxy || echo $server)"
ended $server haproxy
kill $back
wait $back
rm -rf ./*.log ./*.conf tmp
mkdir tmp

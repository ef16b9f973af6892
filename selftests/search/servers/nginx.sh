#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# nginx: a master and two workers, 200 connections at once, and a reload of the configuration.
. "${0%/*}/lib.sh"
mkdir html
seq 1000 > html/index.txt
cat > conf <<EOF
daemon off;
worker_processes 2;
pid $PWD/pid;
error_log $PWD/error.log;
events { worker_connections 512; }
http {
	access_log off;
	gzip on;
	gzip_types *;
	client_body_temp_path $PWD/tmp/body;
	proxy_temp_path $PWD/tmp/proxy;
	fastcgi_temp_path $PWD/tmp/fastcgi;
	uwsgi_temp_path $PWD/tmp/uwsgi;
	scgi_temp_path $PWD/tmp/scgi;
	server { listen 127.0.0.1:$port; root $PWD/html; }
}
EOF
chmod 755 . html
"$@" nginx -e "$PWD/error.log" -c "$PWD/conf" &
server=$!
until_it_works 60 curl -s "http://127.0.0.1:$port/index.txt"
ab -q -c 200 -n 4000 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/index.txt" 2>&1 | grep -E 'Complete|Failed'
kill -HUP "$(cat pid)"
sleep 1
curl -s "http://127.0.0.1:$port/index.txt" | cksum
kill -QUIT "$(cat pid)"
ended $server nginx
rm -rf error.log conf tmp
mkdir tmp

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# PHP's FastCGI processes behind nginx, which is not profiled: 20 processes, 200 connections.
. "${0%/*}/lib.sh"
fpm=$(echo /usr/sbin/php-fpm*)
mkdir html
echo '<?php $a = range(1, 5000); shuffle($a); sort($a); echo array_sum($a), md5(implode(",", $a));' > html/index.php
cat > fpm.conf <<EOF
[global]
pid = $PWD/pid
error_log = $PWD/fpm.log
[www]
listen = $PWD/fpm.s
listen.mode = 0666
user = nobody
group = nogroup
pm = static
pm.max_children = 20
pm.max_requests = 50
EOF
cat > nginx.conf <<EOF
daemon off;
pid $PWD/nginx.pid;
events { worker_connections 512; }
http {
	access_log off;
	fastcgi_temp_path $PWD/tmp/f; client_body_temp_path $PWD/tmp/b; proxy_temp_path $PWD/tmp/p; uwsgi_temp_path $PWD/tmp/u; scgi_temp_path $PWD/tmp/s;
	server { listen 127.0.0.1:$port; location / { include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $PWD/html/index.php; fastcgi_pass unix:$PWD/fpm.s; } }
}
EOF
chmod 755 . html
"$@" "$fpm" -F -y "$PWD/fpm.conf" &
server=$!
nginx -e "$PWD/error.log" -c "$PWD/nginx.conf" &
front=$!
until_it_works 60 curl -sf "http://127.0.0.1:$port/"
ab -q -c 200 -n 2000 "http://127.0.0.1:$port/" 2>&1 | grep -E 'Complete|Failed|Non-2xx'
curl -s "http://127.0.0.1:$port/" | cksum
kill -QUIT "$(cat pid)"
ended $server php-fpm
kill $front
wait $front
grep -c 'signal' fpm.log
rm -rf ./*.log ./*.conf tmp
mkdir tmp

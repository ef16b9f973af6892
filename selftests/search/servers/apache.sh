#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Apache: one process with 200 threads, 200 connections at once.
. "${0%/*}/lib.sh"
modules=/usr/lib/apache2/modules
mkdir htdocs
seq 1000 > htdocs/index.txt
cat > conf <<EOF
ServerRoot $PWD
ServerName localhost
PidFile $PWD/pid
Listen 127.0.0.1:$port
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule deflate_module $modules/mod_deflate.so
LoadModule filter_module $modules/mod_filter.so
ServerLimit 1
StartServers 1
ThreadLimit 200
ThreadsPerChild 200
MaxRequestWorkers 200
User nobody
Group nogroup
DocumentRoot $PWD/htdocs
SetOutputFilter DEFLATE
ErrorLog $PWD/error.log
EOF
chmod 755 . htdocs
"$@" apache2 -f "$PWD/conf" -DFOREGROUND &
server=$!
until_it_works 60 curl -s "http://127.0.0.1:$port/index.txt"
ab -q -c 200 -n 4000 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/index.txt" 2>&1 | grep -E 'Complete|Failed|Document Length'
curl -s "http://127.0.0.1:$port/index.txt" | cksum
kill -TERM "$(cat pid)"
ended $server apache2
# Leave out the messages that all or nearly all threads are busy, because they depend on the speed of the machine.
sed 's/^.*\(AH[0-9]*\).*$/\1/' error.log | grep -v -e AH00484 -e AH10159 | sort | uniq -c
rm -f error.log conf

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# An LDAP server with 300 entries, and a client that searches for them.
. "${0%/*}/lib.sh"
mkdir db
modules=/usr/lib/ldap
cat > conf <<EOF
include /etc/ldap/schema/core.schema
pidfile $PWD/pid
modulepath $modules
moduleload back_mdb
database mdb
suffix "dc=example"
rootdn "cn=admin,dc=example"
rootpw secret
directory $PWD/db
maxsize 10485760
EOF
"$@" slapd -d 0 -f conf -h "ldap://127.0.0.1:$port" > server.log 2>&1 &
server=$!
url=ldap://127.0.0.1:$port
until_it_works 30 ldapsearch -x -H "$url" -b '' -s base
{
	printf 'dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\no: test\ndc: example\n\n'
	seq 300 | sed 's/.*/dn: cn=n&,dc=example\nobjectClass: person\ncn: n&\nsn: s&\n/'
} > data.ldif
ldapadd -x -H "$url" -D cn=admin,dc=example -w secret -f data.ldif | sort | uniq -c | wc -l
ldapsearch -x -LLL -H "$url" -b dc=example '(sn=s1*)' cn | grep -c ^cn
kill -TERM "$(cat pid)"
ended $server slapd
rm -rf db conf server.log data.ldif

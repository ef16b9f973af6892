#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A repository with 60 commits, always the same ones.
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
git init -q repository && cd repository || exit 1
git config user.name test
git config user.email test@example.org
for i in $(seq 60); do
	seq "$i" $((i * 50)) > "file$((i % 7))"
	git add .
	git commit -q -m "change $i"
done

# SPDX-License-Identifier: GPL-2.0
# Objects filtered, made anew, grouped and counted.
map(select(.size % 2 == 0) | { name, tags, size: (.size + .place.x) })
| group_by(.size % 50)
| map({ n: length, tags: (map(.tags[]) | unique | length) })

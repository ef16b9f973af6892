# SPDX-License-Identifier: GPL-2.0
"""What the programs of the benchmark are given to read: the same on every machine, made once."""

import json
import os
import subprocess


def numbers(seed):
    """An endless row of numbers that look random."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def words(row, count):
    return " ".join("w%x" % (next(row) % 5000) for _ in range(count))


def write_json(path):
    row = numbers(1)
    with open(path, "w") as out:
        json.dump([{"id": i, "name": words(row, 2), "size": next(row) % 100000,
                    "tags": words(row, 4).split(), "note": words(row, 6),
                    "place": {"x": next(row) % 100, "y": next(row) % 100}}
                   for i in range(60000)], out)


def write_xml(path):
    row = numbers(2)
    with open(path, "w") as out:
        out.write('<?xml version="1.0"?>\n<list>\n')
        for i in range(6000):
            out.write('<item id="i%d" kind="k%d"><name>%s</name><note lang="en">%s &amp; %s</note>'
                      '</item>\n' % (i, next(row) % 50, words(row, 2), words(row, 5), words(row, 2)))
        out.write("</list>\n")


def write_c(path, count=100):
    """Functions that a compiler has something to do with; preprocessed."""
    row = numbers(3)
    with open(path, "w") as out:
        out.write("typedef struct { int kind; long size; double weight; } thing;\n"
                  "extern int puts(const char *);\n")
        for i in range(count):
            a, b, c = (next(row) % 200 + 2 for _ in range(3))
            out.write("""
static int part_%d(thing *list, int n)
{
	int sum = %d;
	for (int i = 0; i < n; i++) {
		switch (list[i].kind %% %d) {
		case 0: sum += (int)(list[i].size / %d); break;
		case 1: sum ^= list[i].kind << (sum & 7); break;
		case 2: list[i].weight *= %d.5; break;
		default: sum -= list[i].size > %d ? list[i].kind : i; break;
		}
	}
	return sum;
}
int whole_%d(thing *list, int n)
{
	int best = 0;
	for (int i = 1; i < n; i++)
		for (int j = 0; j < %d; j++)
			best = best > part_%d(list + j, i) ? best : part_%d(list, i - j);
	if (best < 0)
		puts("whole %d");
	return best;
}
""" % (i, a, b % 7 + 3, c, a, b * c, i, a % 9 + 2, i, max(0, i - 1), i))


def write_repository(path):
    """A history of 900 commits over 40 files, each with some lines changed."""
    row = numbers(4)
    files = [[words(row, 8) for _ in range(400)] for _ in range(40)]
    stream = []
    for commit in range(900):
        changed = range(40) if commit == 0 else sorted({next(row) % 40 for _ in range(6)})
        stream.append("commit refs/heads/main\ncommitter A U Thor <a@example.org> %d +0000\n"
                      "data 10\nchange %03d\n" % (1600000000 + commit * 3600, commit))
        for number in changed:
            text = files[number]
            for _ in range(0 if commit == 0 else 25):
                text[next(row) % len(text)] = words(row, 8)
            data = "\n".join(text) + "\n"
            stream.append("M 100644 inline dir%d/file%d.txt\ndata %d\n%s\n"
                          % (number % 4, number, len(data), data))
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], check=True,
                   input="".join(stream).encode())


WRITERS = {
    "list.json": write_json,
    "list.xml": write_xml,
    "code.i": write_c,
    "history.git": write_repository,
}


def prepare(directory):
    """Makes what is missing in @directory."""
    os.makedirs(directory, exist_ok=True)
    for name, write in WRITERS.items():
        path = os.path.join(directory, name)
        if os.path.exists(path):
            continue
        write(path + ".new")
        os.rename(path + ".new", path)

#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Counts of massif beside those of Valgrind's memcheck and DHAT, and of heaptrack: exact.py [PROGRAM...]

Each program runs once under each tool. The table is for Documentation/exactness.rst. The status is 1 if massif's counts
differ from memcheck's for a program of which no reason for that is known.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ.get("MASSIF_BUILD") or os.path.join(os.path.dirname(__file__), "../../build")
HERE = os.path.dirname(os.path.abspath(__file__))
CTL = os.path.join(BUILD, "massif-ctl")
OURS = os.path.join(BUILD, "selftests/bench")


def compiler():
    return subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True).stdout.strip()


# Why counts may differ from memcheck's: "environment" for programs that copy theirs, which has variables of the tool;
# "threads", for each of which the dynamic linker allocates a block whose size depends on the libraries of the tool;
# "addresses" for programs that allocate by the order or the distance of addresses.
PROGRAMS = [
    ("sqlite3", ["/usr/bin/sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 "
                 "from c limit 20000) insert into t select x, hex(x) from c; create index i on t(b); select count(*) from t "
                 "where b > '5';"], ""),
    ("python3", ["/usr/bin/python3", "-S", "-c", "d = {i: str(i) * 3 for i in range(20000)}; print(sum(map(len, d.values())))"],
     "environment"),
    ("perl", ["/usr/bin/perl", "-e", "my %h; $h{$_ % 5003} .= \"x$_\" for 1 .. 50000; my $n = 0; $n += length for values %h; "
              "print \"$n\\n\""], "environment"),
    ("jq", ["/usr/bin/jq", "-n", "[range(5000)] | map({a: ., b: \"x\\(.)\"}) | length"], ""),
    ("git", ["/usr/bin/git", "-C", "repository", "log", "-p"], "environment"),
    ("xmllint", ["/usr/bin/xmllint", "--noout", "list.xml"], ""),
    ("cc1", [compiler(), "-quiet", "-O2", "-o", "/dev/null", "code.c"], "addresses"),
    ("C++ maps and strings", [os.path.join(OURS, "churn"), "1"], ""),
    ("C++ exceptions", [os.path.join(OURS, "exc"), "2000"], ""),
    ("two threads", [os.path.join(OURS, "mt"), "2", "20000"], "threads"),
    ("luajit", ["/usr/bin/luajit", "-e", "local t = {} for i = 1, 20000 do t[i] = {i} end print(#t)"], ""),
    ("awk", ["/usr/bin/awk", "BEGIN { for (i = 0; i < 5000; i++) a[i] = i \"x\"; print length(a) }"], ""),
    ("bash", ["/bin/bash", "-c", "declare -A a; for i in {1..2000}; do a[$i]=$((i * i)); done; echo ${#a[@]}"], "environment"),
    ("sed", ["/bin/sed", "-n", "s/a*b/\\0x/p", "/etc/services"], ""),
    ("grep", ["/bin/grep", "-c", "root\\|x", "/etc/passwd"], ""),
    ("sort", ["/usr/bin/sort", "/etc/services"], ""),
    ("find", ["/usr/bin/find", "/usr/share/common-licenses"], ""),
    ("tar", ["/bin/tar", "-cf", "/dev/null", "/etc/passwd"], ""),
    ("diff", ["/usr/bin/diff", "/etc/passwd", "/etc/group"], ""),
    ("ls", ["/bin/ls", "-l", "/"], ""),
    ("readelf", ["/usr/bin/readelf", "-a", "/bin/ls"], ""),
    ("xz", ["/usr/bin/xz", "-c", "-T1", "/etc/services"], ""),
    ("openssl", ["/usr/bin/openssl", "dgst", "-sha256", "/etc/services"], ""),
]


def prepare():
    """What the programs read, in the current directory."""
    with open("list.xml", "w") as out:
        out.write("<list>" + "".join("<row id='%d'><name>w%x</name></row>" % (i, i * 77) for i in range(3000)) + "</list>")
    with open("code.c", "w") as out:
        for i in range(200):
            out.write("int f%d(int a, int b) { int s = 0; for (int i = a; i < b; i++) s += i * %d; return s; }\n" % (i, i))
    script = "git init -q repository && cd repository && git config user.email a@b && git config user.name n && " \
             "for i in 1 2 3 4 5 6 7 8; do seq $i 300 >file$i; cp file$i file; git add . && git commit -q -m $i; done"
    subprocess.run(["sh", "-c", script], check=True, stdout=subprocess.DEVNULL, env=environment())


def environment():
    return {"PATH": "/usr/bin:/bin", "HOME": os.getcwd(), "LC_ALL": "C", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0",
            "PYTHONMALLOC": "malloc", "GIT_PAGER": "cat"}


def run(words):
    done = subprocess.run(["setarch", "-R"] + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment())
    return done.stderr.decode(errors="replace"), done.stdout


def ours(words):
    run([CTL, "record", "-q", "--record=counts.rec", "--massif-out-file=/dev/null"] + words)
    text = subprocess.run([CTL, "export", "--to=json", "counts.rec"], check=True, capture_output=True).stdout
    profile = json.loads(text)
    counts = profile["counts"]
    allocations = sum(row[1] for row in counts)
    live = sum(row[4] for row in counts)
    return {"allocations": allocations, "frees": allocations - live, "allocated": sum(row[2] for row in counts),
            "leaked": profile["snapshots"][-1]["heap_bytes"], "left": live, "temporary": sum(row[3] for row in counts)}


def numbers(text, pattern):
    found = re.search(pattern, text)
    return [int(number.replace(",", "")) for number in found.groups()] if found else None


def memcheck(words):
    text, _ = run(["/usr/bin/valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no"] + words)
    usage = numbers(text, r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes")
    left = numbers(text, r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks")
    return {"allocations": usage[0], "frees": usage[1], "allocated": usage[2], "leaked": left[0], "left": left[1]}


def dhat(words):
    text, _ = run(["/usr/bin/valgrind", "--tool=dhat", "--dhat-out-file=dhat.out", "--run-libc-freeres=no",
                   "--run-cxx-freeres=no"] + words)
    total = numbers(text, r"Total:\s+([\d,]+) bytes in ([\d,]+) blocks")
    left = numbers(text, r"At t-end:\s+([\d,]+) bytes in ([\d,]+) blocks")
    return {"allocations": total[1], "allocated": total[0], "leaked": left[0], "left": left[1]}


def heaptrack(words):
    for name in glob.glob("heaptrack.out*"):
        os.remove(name)
    run(["heaptrack", "-o", "heaptrack.out"] + words)
    text = run(["heaptrack_print", "-f", glob.glob("heaptrack.out*")[0]])[1].decode(errors="replace")
    # One call is of heaptrack itself.
    return {"allocations": numbers(text, r"calls to allocation functions: (\d+)")[0] - 1,
            "temporary": numbers(text, r"temporary memory allocations: (\d+)")[0]}


KEYS = ["allocations", "frees", "allocated", "left", "leaked"]


def row(name, words):
    result = {"massif": ours(words), "memcheck": memcheck(words), "dhat": dhat(words), "heaptrack": heaptrack(words)}
    result["name"] = name
    return result


def cell(result, key):
    """The number of massif, and the distances of those who have another."""
    text = "%d" % result["massif"][key]
    for tool in ("memcheck", "dhat", "heaptrack"):
        value = result[tool].get(key)
        if value is not None and value != result["massif"][key]:
            text += " (%s %+d)" % ({"memcheck": "M", "dhat": "D", "heaptrack": "h"}[tool], value - result["massif"][key])
    return text


def table(results):
    head = ["program", "allocations", "frees", "bytes allocated", "blocks left", "bytes left", "temporary"]
    rows = [[result["name"]] + [cell(result, key) for key in KEYS + ["temporary"]] for result in results]
    widths = [max(len(line[i]) for line in [head] + rows) for i in range(len(head))]
    rule = "  ".join("=" * width for width in widths)
    print(rule)
    print("  ".join(text.ljust(width) for text, width in zip(head, widths)).rstrip())
    print(rule)
    for line in rows:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    print(rule)


def main():
    results, failed = [], []
    chosen = [program for program in PROGRAMS if not sys.argv[1:] or program[0] in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        prepare()
        for name, words, reason in chosen:
            if not os.path.exists(words[0]):
                print("%s is not installed" % words[0], file=sys.stderr)
                continue
            results.append(row(name, words))
            same = all(results[-1]["massif"][key] == results[-1]["memcheck"][key] for key in KEYS)
            print("%-22s %s" % (name, "equal to memcheck" if same else "differs: " + (reason or "?")), file=sys.stderr, flush=True)
            if not same and not reason:
                failed.append(name)
        os.chdir("/")
    table(results)
    if failed:
        print("differ without a known reason: " + ", ".join(failed))
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())

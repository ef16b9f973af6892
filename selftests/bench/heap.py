#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""What heap mode costs: programs alone and under profilers, in pairs; a table and JSON.

heap.py [--rows NAME,...] [--tools NAME,...] [--pairs N]

CPU time is user and system time of the program and of everything that was started for it. A ratio
is that of a run to the run alone of the same round; of the rounds the median is shown, with the
least and the greatest. massif-ctl keeps unwind rules and names from one round to the next, as it does for
its users (options.rst, --unwind-cache): the first round is a first run, and TOOLS="massif first" has
nothing but such.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

import inputs
import machine
import table

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("MASSIF_BUILD") or os.path.join(HERE, "../../build")
BENCH = os.path.join(BUILD, "bench")
PROGRAMS = os.path.join(BUILD, "selftests/bench")
CTL = os.path.join(BUILD, "massif-ctl")
START_ROUNDS = 30

# What massif-ctl keeps between runs: nothing in the first round.
CACHE = os.path.join(BENCH, "cache")


def source(name):
    return os.path.join(HERE, name)


def built(name):
    return os.path.join(PROGRAMS, name)


def made(name):
    return os.path.join(BENCH, name)


def compiler():
    return subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True,
                          text=True).stdout.strip()


# Name, group, command; perhaps what it reads and variables that it needs.
ROWS = [
    ("sqlite3", "real", ["sqlite3", ":memory:"], {"stdin": source("sqlite.sql")}),
    ("python3", "real", ["/usr/bin/python3", source("words.py")],
     {"environment": {"PYTHONMALLOC": "malloc"}}),
    ("perl", "real", ["/usr/bin/perl", source("words.pl")], {}),
    ("jq", "real", ["jq", "-c", "-f", source("list.jq"), made("list.json")], {}),
    ("git", "real", ["git", "-C", made("history.git"), "log", "-p", "main"], {}),
    ("xmllint", "real", ["xmllint", "--noout", "--repeat", made("list.xml")], {}),
    ("cc1", "real", [compiler(), "-fpreprocessed", "-quiet", "-O2", "-o", "/dev/null",
                     made("code.i")], {}),
    ("churn", "real", [built("churn"), "10"], {}),
    ("deep", "stress", [built("deep"), "20000000"], {}),
    ("mt", "stress", [built("mt"), "2", "12000000"], {}),
    ("tree", "stress", [built("tree"), "8", "80"], {}),
    ("exc", "stress", [built("exc"), "300000"], {}),
    # Nothing but names to look up, in 47 MB of debug information, plain and compressed; each time.
    ("names", "names", [built("names")], {"environment": {"XDG_CACHE_HOME": "/dev/null"}}),
    ("names-z", "names", [built("names-z")], {"environment": {"XDG_CACHE_HOME": "/dev/null"}}),
]

# Name: how the table calls it, what stands before the program's words, whether that is ours.
TOOLS = {
    "massif": ("massif", [CTL, "-q", "--massif-out-file=" + made("massif.out")], True),
    "first": ("massif --unwind-cache=no", [CTL, "-q", "--unwind-cache=no",
                                           "--massif-out-file=" + made("first.out")], True),
    "exact": ("massif --peak-inaccuracy=0", [CTL, "-q", "--peak-inaccuracy=0",
                                             "--massif-out-file=" + made("exact.out")], True),
    "record": ("massif --record", [CTL, "-q", "--massif-out-file=" + made("record.out"),
                                   "--record=" + made("massif.rec")], True),
    "rss": ("massif --record --rss=yes", [CTL, "-q", "--rss=yes", "--massif-out-file=" + made("rss.out"),
                                          "--record=" + made("rss.rec")], True),
    "full": ("massif --record --record-detail=full",
             [CTL, "-q", "--record-detail=full", "--massif-out-file=" + made("full.out"),
              "--record=" + made("full.rec")], True),
    "threads": ("massif --record --separate-threads=yes",
                [CTL, "-q", "--separate-threads=yes", "--massif-out-file=" + made("threads.out"),
                 "--record=" + made("threads.rec")], True),
    "valgrind": ("Valgrind's Massif", ["valgrind", "-q", "--tool=massif",
                                       "--massif-out-file=" + made("valgrind.out")], False),
    "heaptrack": ("heaptrack", ["heaptrack", "-o", made("heaptrack")], False),
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(words, options, below):
    """Runs @words once. What measure.c tells of it."""
    result = made("result")
    environment = {k: v for k, v in os.environ.items() if k not in ("MASSIF_OPTS", "VALGRIND_OPTS")}
    environment.update(LC_ALL="C.UTF-8", HOME="/dev/null", XDG_CACHE_HOME=CACHE)
    environment.update(options.get("environment", {}))
    with open(options.get("stdin", os.devnull)) as stdin:
        subprocess.run([built("measure")] + (["--below"] if below else []) + [result] + words,
                       stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=environment, cwd=BENCH, check=True)
    with open(result) as text:
        return json.load(text)


def count_events(words, options):
    """How many allocations, reallocations and frees the program makes."""
    log = made("stats.log")
    run([CTL, "-q", "--stats=yes", "--massif-out-file=/dev/null", "--log-file=" + log] + words,
        options, True)
    with open(log) as text:
        return sum(int(line.rsplit(None, 1)[1]) for line in text
                   if any(word in line for word in (": heap allocs:", ": heap reallocs:",
                                                    ": heap frees:")))


def measure_round(rows, tools, number, pairs):
    """Runs each program of @rows once more, alone and with all @tools."""
    for row in rows:
        say("round %d of %d: %s" % (number + 1, pairs, row["name"]))
        native = run(row["words"], row["options"], False)
        row["runs"].setdefault("native", []).append(native)
        for tool in tools:
            _, before, ours = TOOLS[tool]
            measured = run(before + row["words"], row["options"], ours)
            if measured["status"] != native["status"] and not ours:
                say("%s ended with %d under %s, not %d: left out" % (
                    row["name"], measured["status"], tool, native["status"]))
                measured = None
            elif measured["status"] != native["status"]:
                sys.exit("%s ended with %d under %s, not %d" % (row["name"], measured["status"],
                                                                tool, native["status"]))
            row["runs"].setdefault(tool, []).append(measured)
        if "events" not in row:
            row["events"] = count_events(row["words"], row["options"])


def ratio(runs, tool, figure):
    """None: another's tool has failed each time."""
    values = [with_it[figure] / without[figure]
              for with_it, without in zip(runs[tool], runs["native"]) if with_it]
    if not values:
        return None
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def judge_row(row, tools):
    """The figures of a row that the table shows."""
    runs = row["runs"]
    row["native_cpu"] = statistics.median(run["cpu"] for run in runs["native"])
    row["cpu"] = {tool: ratio(runs, tool, "cpu") for tool in tools}
    row["peak"] = {tool: ratio(runs, tool, "peak") for tool in tools if TOOLS[tool][2]}
    for tool in row["peak"]:
        added = [with_it["cpu"] - without["cpu"]
                 for with_it, without in zip(runs[tool], runs["native"])]
        row.setdefault("ns_per_event", {})[tool] = (
            statistics.median(added) * 1e9 / max(1, row["events"]))
        for figure in ("after", "after_cpu", "tool_peak"):
            values = [run[figure] for run in runs[tool] if figure in run]
            row.setdefault(figure, {})[tool] = statistics.median(values) if values else None


def measure_start(tools):
    """Wall seconds of /bin/true, alone and under our tools."""
    walls = {"native": []}
    for _ in range(START_ROUNDS):
        walls["native"].append(run(["/bin/true"], {}, False)["wall"])
        for tool in (tool for tool in tools if TOOLS[tool][2]):
            walls.setdefault(tool, []).append(run(TOOLS[tool][1] + ["/bin/true"], {}, False)["wall"])
    return {tool: statistics.median(values) for tool, values in walls.items()}


def names(text, known):
    wanted = text.replace(",", " ").split() or known
    for name in wanted:
        if name not in known:
            sys.exit("%s: there is none; there are %s" % (name, " ".join(known)))
    return wanted


def write_result(result, path):
    """After each round: who has no more time has something. Returns the table."""
    text = table.render(result, {tool: TOOLS[tool][0] for tool in result["tools"]})
    with open(path + ".json", "w") as out:
        json.dump(result, out, indent=1)
    with open(path + ".md", "w") as out:
        out.write(text)
    return text


def main():
    parser = argparse.ArgumentParser(description="What heap mode costs.")
    parser.add_argument("--rows", default="", help="programs to run")
    parser.add_argument("--tools", default="massif,valgrind,heaptrack", help="profilers")
    parser.add_argument("--pairs", type=int, default=5, help="rounds")
    parser.add_argument("--output", default=made("heap"), help="name of the files, without .md")
    arguments = parser.parse_args()
    rows = names(arguments.rows, [row[0] for row in ROWS])
    tools = names(arguments.tools, list(TOOLS))
    for tool in tools:
        if not shutil.which(TOOLS[tool][1][0]):
            sys.exit("%s is not there" % TOOLS[tool][1][0])

    inputs.prepare(BENCH)
    shutil.rmtree(CACHE, ignore_errors=True)
    os.mkdir(CACHE, 0o700)
    result = {"machine": machine.describe(), "tools": tools, "start": measure_start(tools),
              "rows": [{"name": name, "group": group, "words": words, "options": options, "runs": {}}
                       for name, group, words, options in ROWS if name in rows]}
    for number in range(arguments.pairs):
        measure_round(result["rows"], tools, number, arguments.pairs)
        result["pairs"] = number + 1
        for row in result["rows"]:
            judge_row(row, tools)
        text = write_result(result, arguments.output)
    print(text)


if __name__ == "__main__":
    main()

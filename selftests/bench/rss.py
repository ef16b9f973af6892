#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""What --rss adds: the real programs of heap.py under massif-ctl record, without and with --rss, in turns.

rss.py [--rows NAME,...] [--pairs N]

The samples are taken by massif-ctl, so its own CPU time (user and system, without its children's, which look up names) is what
they cost. It varies less from run to run than the time of the program. The table has medians, in seconds, with the least and the
greatest; the last column is what --rss adds to the sum of program and massif-ctl without it.
"""

import argparse
import os
import shutil
import statistics

import heap
import inputs


def spread(values, form):
    return (form + " (" + form + "–" + form + ")") % (statistics.median(values), min(values), max(values))


def main():
    parser = argparse.ArgumentParser(description="What --rss adds.")
    parser.add_argument("--rows", default="", help="programs to run")
    parser.add_argument("--pairs", type=int, default=10, help="rounds")
    arguments = parser.parse_args()
    rows = [row for row in heap.ROWS if row[1] == "real"]
    wanted = heap.names(arguments.rows, [row[0] for row in rows])

    inputs.prepare(heap.BENCH)
    shutil.rmtree(heap.CACHE, ignore_errors=True)
    os.mkdir(heap.CACHE, 0o700)
    print("%-10s %-22s %-22s %-22s %s" % ("program", "both, s", "massif-ctl", "with --rss", "adds"))
    for name, _, words, options in (row for row in rows if row[0] in wanted):
        runs = {"record": [], "rss": []}
        for _ in range(arguments.pairs + 1):
            for tool in runs:
                runs[tool].append(heap.run(heap.TOOLS[tool][1] + words, options, True))
        # The first round looks up names that later ones know.
        whole = [run["cpu"] for run in runs["record"][1:]]
        without, with_it = ([run["own_cpu"] for run in runs[tool][1:]] for tool in ("record", "rss"))
        added = statistics.median(with_it) - statistics.median(without)
        print("%-10s %-22s %-22s %-22s %+.1f %%" % (
            name, spread(whole, "%.2f"), spread(without, "%.3f"), spread(with_it, "%.3f"),
            100 * added / statistics.median(whole)), flush=True)


main()

#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""What heap mode adds to one pair of malloc and free, and what threads gain: micro.py [--pairs N]

Of the rounds the median is shown, with the least and the greatest. Where more runs than the machine
has processors for, the clock tells nothing about threads; their CPU time tells what they cost each
other while they do run at the same time.
"""

import argparse
import json
import os
import statistics
import subprocess

import machine
import table

BUILD = os.environ.get("MASSIF_BUILD") or os.path.join(os.path.dirname(__file__), "../../build")
MICRO = os.path.join(BUILD, "selftests/bench/micro")
CTL = [os.path.join(BUILD, "massif-ctl"), "-q", "--massif-out-file=/dev/null"]
PAIRS = "10000000"

STACKS = [
    ("stack14", "one stack of 14 frames"),
    ("stack64", "one stack of 64 frames"),
    ("stacks16", "16 stacks of 14 frames in turn"),
]
GAINS = [
    ("separate", "each thread has its own place"),
    ("shared", "both allocate at one place"),
]


def run(before, row):
    done = subprocess.run(before + [MICRO, row, PAIRS], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def measure(rounds):
    """What micro.c prints, by row: (alone, profiled) of each round."""
    rows = [name for name, _ in STACKS] + ["one"] + [name for name, _ in GAINS]
    return {row: [(run([], row), run(CTL, row)) for _ in range(rounds)] for row in rows}


def spread(values, form):
    return "%s (%s–%s)" % tuple(form % value for value in
                                (statistics.median(values), min(values), max(values)))


def gains(runs, row, which, time):
    """Events a second of two threads against those of one, by the clock (0) or CPU time (1)."""
    return [2 * one[which][time] / two[which][time] for one, two in zip(runs["one"], runs[row])]


def render(runs, about):
    stacks = [[title, "%.1f" % statistics.median(alone for (alone,), _ in runs[row]),
               spread([profiled - alone for (alone,), (profiled,) in runs[row]], "%.1f")]
              for row, title in STACKS]
    threads = []
    for row, title in GAINS:
        for time, clock in enumerate(["by the clock", "by CPU time"]):
            alone, profiled = gains(runs, row, 0, time), gains(runs, row, 1, time)
            threads.append(["%s, %s" % (title, clock), spread(alone, "%.2f×"),
                            spread(profiled, "%.2f×"), "%.0f %%" % (
                                100 * statistics.median(profiled) / statistics.median(alone))])
    return "\n".join([
        "Nanoseconds for one pair of malloc and free, median, least and greatest of %d rounds. %s, "
        "%d processors; load %.1f at the start." % (
            len(runs["one"]), about["processor"], about["processors"], about["load_before"]), "",
        table.grid(["", "alone, ns", "added, ns"], stacks),
        table.grid(["pairs a second of 2 threads against 1", "alone", "massif", "of it kept"],
                   threads)])


def main():
    parser = argparse.ArgumentParser(description="What heap mode adds to malloc and free.")
    parser.add_argument("--pairs", type=int, default=7, help="rounds")
    arguments = parser.parse_args()
    about = machine.describe()
    runs = measure(arguments.pairs)
    directory = os.path.join(BUILD, "bench")
    os.makedirs(directory, exist_ok=True)
    text = render(runs, about)
    with open(os.path.join(directory, "micro.json"), "w") as out:
        json.dump({"machine": about, "rows": runs}, out, indent=1)
    with open(os.path.join(directory, "micro.md"), "w") as out:
        out.write(text)
    print(text)


main()

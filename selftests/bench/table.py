# SPDX-License-Identifier: GPL-2.0
"""The results of heap.py as Markdown."""

import statistics


def times(ratio):
    if not ratio:
        return "–"
    return "%.2f× (%.2f–%.2f)" % (ratio["median"], ratio["least"], ratio["greatest"])


def against(row, tool):
    """How many times as much as ours @tool adds."""
    ours = row["cpu"]["massif"]["median"] - 1
    other = row["cpu"][tool]
    return (other["median"] - 1) / ours if other and ours > 0 else None


def number(value, form):
    return "–" if value is None else form % value


def line(cells):
    return "| " + " | ".join(cells) + " |"


def grid(head, rows):
    return "\n".join([line(head), line(["---"] + ["--:"] * (len(head) - 1))] +
                     [line(row) for row in rows]) + "\n"


# What massif itself is called in heap.py's table of profilers, with different options.
OURS = ("massif", "first", "exact", "record", "threads")


def cpu_table(result, titles):
    others = [tool for tool in result["tools"] if tool not in OURS]
    compares = "massif" in result["tools"]
    head = ["program", "alone, s"] + [titles[tool] for tool in result["tools"]]
    if compares:
        head += ["%s adds" % titles[tool] for tool in others]
    rows = []
    for row in result["rows"]:
        if row["group"] == "names":
            continue
        cells = [row["name"], "%.2f" % row["native_cpu"]]
        cells += [times(row["cpu"][tool]) for tool in result["tools"]]
        if compares:
            cells += [number(against(row, tool), "%.0f×") for tool in others]
        rows.append(cells)
    real = [row for row in result["rows"] if row["group"] == "real"]
    if len(real) > 1:
        cells = ["**median of real programs**", ""]
        for tool in result["tools"]:
            values = [row["cpu"][tool]["median"] for row in real if row["cpu"][tool]]
            cells.append("**%s**" % number(statistics.median(values) if values else None, "%.2f×"))
        if compares:
            for tool in others:
                values = [value for value in (against(row, tool) for row in real) if value]
                cells.append("**%s**" % number(statistics.median(values) if values else None,
                                               "%.0f×"))
        rows.append(cells)
    return grid(head, rows)


def ours_table(result):
    rows = []
    # Where the program does nothing the figures of its run mean nothing.
    blank = lambda row, text: "" if row["group"] == "names" else text
    for row in result["rows"]:
        for tool in row["peak"]:
            rows.append([
                row["name"] if tool == "massif" else "%s, %s" % (row["name"], tool),
                blank(row, "%.1f" % (row["events"] / 1e6)),
                blank(row, "%.0f" % row["ns_per_event"][tool]),
                "%.1f" % (statistics.median(run["peak"] for run in row["runs"]["native"]) / 1024),
                blank(row, times(row["peak"][tool])),
                number(row["tool_peak"][tool] and row["tool_peak"][tool] / 1024, "%.0f"),
                number(row["after"][tool], "%.3f"),
                number(row["after_cpu"][tool], "%.3f"),
            ])
    return grid(["program", "million events", "added ns an event", "peak alone, MiB", "peak",
                 "massif-ctl, MiB", "end to file, s", "CPU in that, s"], rows)


def render(result, titles):
    machine = result["machine"]
    text = ["CPU time, user and system, of everything that is started; median of %d pairs, least and "
            "greatest." % result["pairs"],
            "%s, %d processors, %s, Linux %s, glibc %s, %s, %s; load %.1f at the start." % (
                machine["processor"], machine["processors"], machine["system"], machine["kernel"],
                machine["glibc"], machine["valgrind"], machine["heaptrack"],
                machine["load_before"]),
            "", cpu_table(result, titles)]
    if any(row["peak"] for row in result["rows"]):
        text += [ours_table(result)]
    text.append("Start and end, `/bin/true`, wall: " + ", ".join(
        "%s %.1f ms" % ("alone" if tool == "native" else titles[tool], wall * 1000)
        for tool, wall in result["start"].items()) + ".")
    return "\n".join(text) + "\n"

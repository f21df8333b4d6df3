# SPDX-License-Identifier: GPL-2.0
"""What perftest's programs print: the numbers, and whether they can be true.

perftest counts cycles, and finds out how long one takes by comparing with the time of day. Under emulation that
fails at times: it then says so, ends well, and prints zeros, or numbers of another scale.
"""

import math
import re

SIZE, ITERATIONS = 0, 1
LATENCY_COLUMNS = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99%", "99.9%")
BANDWIDTH_COLUMNS = ("peak", "average", "message rate")
# No device sends 100 GiB in a second, or a message to another process in 0.1 microseconds.
MOST_MIB_PER_SECOND = 100 * 1024
LEAST_MICROSECONDS = 0.1


class Impossible(Exception):
    """Numbers that cannot be true, or none."""


def results(said, seconds):
    """The rows that a program printed which ran for so many seconds, as words. Impossible if they are no results."""
    rows = [line.split() for line in said.splitlines() if re.match(r"\s*\d+\s+\d+(\s|$)", line)]
    if not rows:
        raise Impossible("no results")
    for row in rows:
        if why := wrong(row, seconds):
            raise Impossible(f"{why}: {' '.join(row)}")
    return rows


def wrong(row, seconds):
    """What is wrong with a row; None if it can be true."""
    columns = {len(names) + 2: names for names in (LATENCY_COLUMNS, BANDWIDTH_COLUMNS)}.get(len(row))
    if columns is None:
        return f"{len(row)} columns"
    try:
        values = dict(zip(columns, map(float, row[2:])))
    except ValueError:
        return "a number that is none"
    for name, value in values.items():
        if not math.isfinite(value) or value < 0 or (value == 0 and name != "t_stdev"):
            return f"{name} of {value}"
    judge = wrong_latency if columns is LATENCY_COLUMNS else wrong_bandwidth
    return judge(values, int(row[SIZE]), int(row[ITERATIONS]), seconds)


def wrong_latency(values, _size, iterations, seconds):
    if not LEAST_MICROSECONDS <= values["t_min"] <= values["t_typical"] <= values["t_max"]:
        return "the latencies are in no order, or too small"
    if values["t_avg"] * iterations > seconds * 1e6:
        return f"more time than the {seconds:.1f} s that the program ran"
    return None


def wrong_bandwidth(values, size, iterations, seconds):
    if values["average"] > MOST_MIB_PER_SECOND:
        return "more than any device can send"
    if size * iterations / 2**20 / values["average"] > seconds:
        return f"more time than the {seconds:.1f} s that the program ran"
    return None

# SPDX-License-Identifier: GPL-2.0
"""Read what the tools wrote in the guests."""

import json
import re
from pathlib import Path


class BadOutput(Exception):
    """A tool's output is not what is expected."""


def find(pattern, text, path):
    """The groups of the only match, as numbers."""
    match = re.search(pattern, text, re.M)
    if not match:
        raise BadOutput(f"{path}: no {pattern!r}")
    return [float(group) for group in match.groups()]


def parse_dma(path):
    """Average latencies of dma_map_benchmark, in us.

    It prints 0.1 us at best; its sums, in units of 100 ns, are finer.
    """
    text = path.read_text()
    printed = find(r"^average map latency\(us\):([0-9.]+)", text, path) + \
        find(r"^average unmap latency\(us\):([0-9.]+)", text, path)
    *sums, loops = find(r"^map=(\d+) unmap=(\d+) loops=(\d+)", text, path)
    mapped, unmapped = (total / loops / 10 for total in sums)
    for mean, rough in zip((mapped, unmapped), printed):
        if not -0.01 < mean - rough < 0.11:
            raise BadOutput(f"{path}: sums of {mean} us, but printed {rough}; "
                            "has struct map_benchmark_data changed?")
    return {"map": mapped, "unmap": unmapped, "sum": mapped + unmapped}


def parse_instructions(path):
    """The same, where an instruction takes a nanosecond."""
    return {name: mean * 1000 for name, mean in parse_dma(path).items()}


def parse_fio(path):
    """Read requests per second."""
    text = path.read_text()
    job = json.loads(text[text.index("{"):])["jobs"][0]
    if job["error"]:
        raise BadOutput(f"{path}: fio's error {job['error']}")
    return {"rate": job["read"]["iops"]}


def parse_iperf3(path):
    """Mbit/s that arrived."""
    end = json.loads(path.read_text())["end"]
    return {"rate": end["sum_received"]["bits_per_second"] / 1e6}


def parse_memcslap(path):
    """Requests per second."""
    text = path.read_text()
    gets, seconds = find(r"^Time to get +(\d+) keys by +\d+ threads: +"
                         r"([0-9.]+) seconds", text, path)
    return {"rate": gets / seconds}


def numbers(path):
    """NAME VALUE, NAME:VALUE lines as a dictionary."""
    found = {}
    for name, value in re.findall(r"^(\w+):? *([0-9.]+)\b", path.read_text(),
                                  re.M):
        found[name] = float(value)
    return found


def parse_search(path):
    """Mean and worst allocation of iova_bench, in us."""
    found = numbers(path)
    return {"mean": found["mean_ns"] / 1e3, "worst": found["worst_ns"] / 1e3}


def parse_counts(path):
    """Calls per 100,000 maps; locks without those of the series' trimming."""
    found = numbers(path)
    maps = found["alloc_iova_fast"] / 1e5
    locks = found.get("tree_lock", 0) - found["trim_lock"]
    # The series counts all its searches, those of alloc_iova() included.
    searches = found["tree_search"] or found.get("alloc_iova", 0)
    # A search takes the lock: if none was seen, it was not looked for there.
    if searches >= found["alloc_iova_fast"] and not locks > 0:
        raise BadOutput(f"{path}: searches, and no tree lock")
    return {"searches": searches / maps,
            "tree_locks": max(locks, 0) / maps,
            "invalidations": found["submissions"] / maps}


def parse_flushes(path):
    """Commands to the remapping unit per 10,000 unmaps."""
    found = numbers(path)
    return {"flushes":
            found["submissions"] / found["iommu_unmap_fast"] * 1e4}


def parse_vfio(path):
    """Times of vfio_type1_bench, in ms."""
    found = numbers(path)
    return {"map": found["map_us"] / 1e3, "unmap": found["unmap_us"] / 1e3}


def parse_vfio_counts(path):
    """Calls in one unmap, and us of it without a reschedule point."""
    found = numbers(path)
    counted = {name: found[name]
               for name in ("walks", "unmaps", "syncs", "unpins")}
    return counted | {"longest": found["longest_us"]}


def parse_memory(path):
    """Memory that the kernel cannot give back, in kB."""
    found = numbers(path)
    if (found["groups"], found["cpus"]) not in ((8, 16), (0, 16)):
        raise BadOutput(f"{path}: not 8 groups and 16 CPUs")
    return {"unreclaimable": found["SUnreclaim"] + found["Percpu"],
            "magazines": found["magazines"]}


PARSERS = {name[len("parse_"):]: parser for name, parser in globals().items()
           if name.startswith("parse_")}


def collect(run, cells):
    """Yield (workload, case, metric, value) of all that RUN's guest wrote."""
    for cell in cells:
        for path in Path(run, "out").glob(f"{cell.workload}-{cell.case}.*"):
            try:
                values = PARSERS[cell.workload](path)
            except (ValueError, KeyError, IndexError) as error:
                raise BadOutput(f"{path}: {error!r}") from error
            for metric, value in values.items():
                yield cell.workload, cell.case, metric, value


def read_facts(run):
    """The guest's KEY=VALUE facts."""
    lines = Path(run, "out", "facts").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)

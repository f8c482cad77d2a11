# SPDX-License-Identifier: GPL-2.0
"""What was measured: cells, configurations, samples, medians, ratios."""

import statistics
from dataclasses import dataclass

# Of each workload: unit, which direction is better, metrics, and the
# configurations it is measured in (None: all of the rounds).
LAZY = ("stock-lazy", "series-lazy")
COUNTED = ("stock-lazy", "series-lazy", "series-tuned")


@dataclass(frozen=True)
class Workload:
    """A benchmark and what its figures mean."""

    title: str
    unit: str
    better: str             # "less" or "more"
    metrics: tuple
    configs: tuple = None   # None: every configuration of the rounds
    rounds: bool = True     # measured once per round, else once


WORKLOADS = {
    "dma": Workload("dma_map_benchmark, average", "us", "less",
                    ("map", "unmap", "sum")),
    "fio": Workload("fio randread, NVMe on a null disk, 4 jobs x 32 deep",
                    "IOPS", "more", ("rate",)),
    "iperf3": Workload("between two NICs and namespaces", "Mbit/s", "more",
                       ("rate",)),
    "memcslap": Workload("memcached behind the second NIC", "gets/s", "more",
                         ("rate",)),
    "search": Workload("alloc_iova of 2 pages, 32-bit limit, fragmented",
                       "us", "less", ("mean", "worst"), LAZY),
    "counts": Workload("per 100,000 maps, 4 threads, not timed", "calls",
                       "less", ("searches", "tree_locks", "invalidations"),
                       COUNTED, rounds=False),
    "instructions": Workload("a map and an unmap, counted by -icount",
                             "instructions", "less", ("map", "unmap", "sum"),
                             ("stock-lazy", "series-lazy", "series-tuned",
                              "stock-strict", "series-strict"), rounds=False),
    "flushes": Workload("per 10,000 unmaps by fio, not timed", "commands",
                        "less", ("flushes",), LAZY, rounds=False),
    "vfio": Workload("vfio type1, a region for a pci-testdev", "ms", "less",
                     ("map", "unmap"), LAZY),
    "vfio_counts": Workload("vfio type1, one unmap", "calls, us", "less",
                            ("walks", "unmaps", "syncs", "unpins", "longest"),
                            LAZY, rounds=False),
    "memory": Workload("idle guest", "kB", "less",
                       ("unreclaimable", "magazines"), ("off",) + LAZY,
                       rounds=False),
}


@dataclass(frozen=True)
class Config:
    """A column of the table."""

    name: str
    kernel: str
    append: str
    knob: str
    reference: str
    title: str


@dataclass(frozen=True)
class Cell:
    """A row of the table; metrics are rows of it."""

    workload: str
    case: str
    title: str


@dataclass(frozen=True)
class Value:
    """The samples of one metric of one cell in one configuration."""

    median: float
    low: float
    high: float
    count: int


def read_table(path):
    """Yield the rows of a tab-separated file with comments."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def read_cells(path):
    """The cells of guest/bench/cells."""
    return [Cell(row[0], row[1], row[3]) for row in read_table(path)]


def read_configs(path, names=None):
    """The configurations of guest/bench/configs, or those in names."""
    return [Config(*row[:6]) for row in read_table(path)
            if names is None or row[0] in names]


@dataclass(frozen=True)
class Pair:
    """A figure of the userspace build, of stock's iova.c and the series'."""

    stock: float
    series: float
    unit: str


def read_userspace(path):
    """What `make -C tools/testing/iova bench` wrote, by name."""
    return {row[0]: Pair(float(row[1]), float(row[2]), row[4])
            for row in list(read_table(path))[1:]}


class Results:
    """All samples, by (workload, case, metric, config)."""

    def __init__(self, cells, configs, samples, userspace):
        self.cells = cells
        self.configs = configs
        self.userspace = userspace
        self.values = {key: Value(statistics.median(values), min(values),
                                  max(values), len(values))
                       for key, values in samples.items()}

    def config_names(self, workload):
        """The configurations that a workload is measured in."""
        names = [config.name for config in self.configs]
        only = WORKLOADS[workload].configs
        return [name for name in names if only is None or name in only]

    def get(self, workload, case, metric, config):
        """A Value, or None."""
        return self.values.get((workload, case, metric, config))

    def missing(self, rounds):
        """What should have been measured and was not, as lines of text."""
        faults = []
        for cell in self.cells:
            work = WORKLOADS[cell.workload]
            want = rounds if work.rounds else 1
            for metric in work.metrics:
                for config in self.config_names(cell.workload):
                    value = self.get(cell.workload, cell.case, metric, config)
                    have = value.count if value else 0
                    if have != want:
                        faults.append(f"{cell.workload} {cell.case} {metric} "
                                      f"in {config}: {have} of {want} samples")
        return faults

    def speed(self, cell, metric, config, reference):
        """How many times better than reference is config; None if unknown."""
        value = self.get(cell.workload, cell.case, metric, config)
        base = self.get(cell.workload, cell.case, metric, reference)
        if value is None or base is None:
            return None
        return ratio(value.median, base.median,
                     WORKLOADS[cell.workload].better)


def ratio(value, base, better):
    """How many times better than base is value; None where that is void."""
    over, under = (base, value) if better == "less" else (value, base)
    return over / under if under else None

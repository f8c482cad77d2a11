# SPDX-License-Identifier: GPL-2.0
"""The measures that the series is held against, computed from the data."""

from dataclasses import dataclass

FASTER, RATES, COST, COUNT = "faster", "rate", "cost", "count"


@dataclass(frozen=True)
class Measure:
    """One row: what is compared, how, and what is wanted.

    kind says how the figure is made of config and reference: FASTER and RATES
    are times better (wanted: at least), COST is config/reference (wanted: at
    most), COUNT is config's own figure (wanted: at most). What the
    configuration "without" comes to is taken off both first.
    """

    work: str
    cell: tuple             # workload, case, metric; or userspace, name
    config: str
    reference: str
    kind: str
    wanted: float
    aim: float = None
    without: str = None

    def figures(self, results):
        """The figures of config and reference; None for an unknown one."""
        if self.cell[0] == "userspace":
            pair = results.userspace.get(self.cell[1])
            return (pair.series, pair.stock) if pair else (None, None)
        figures = [self._median(results, config)
                   for config in (self.config, self.reference)]
        if not self.without:
            return figures
        rest = self._median(results, self.without)
        return [None if None in (figure, rest) else figure - rest
                for figure in figures]

    def _median(self, results, config):
        value = results.get(*self.cell, config)
        return value.median if value else None


MEASURES = (
    Measure("alloc_iova, 2 pages, 400,000 ranges, mean",
            ("search", "400000", "mean"), "series-lazy", "stock-lazy",
            FASTER, 500, 2000),
    Measure("256 KiB map+unmap, lazy, 4 threads, knob 1M",
            ("dma", "256K-t4", "sum"), "series-tuned", "stock-lazy",
            FASTER, 8, 10),
    Measure("1 MiB map+unmap, lazy, 4 threads, knob 1M",
            ("dma", "1M-t4", "sum"), "series-tuned", "stock-lazy",
            FASTER, 1.5, 2),
    Measure("instructions of 4 KiB map+unmap, lazy",
            ("instructions", "4K", "sum"), "series-lazy", "stock-lazy",
            COST, 1.0, 0.8),
    Measure("instructions of 256 KiB map+unmap, lazy, knob 1M",
            ("instructions", "256K", "sum"), "series-tuned", "stock-lazy",
            COST, 0.9, 0.5),
    Measure("instructions of 1 MiB map+unmap, lazy, knob 1M",
            ("instructions", "1M", "sum"), "series-tuned", "stock-lazy",
            COST, 0.9, 0.5),
    Measure("4 KiB map+unmap, lazy, 1 thread",
            ("dma", "4K-t1", "sum"), "series-lazy", "stock-lazy",
            COST, 1.05, 0.8),
    Measure("alloc+free pair, userspace, instructions",
            ("userspace", "instructions/lifo-4k"), "series", "stock",
            COST, 1.0, 0.7),
    Measure("fio 256k randread, lazy, knob 1M",
            ("fio", "256k", "rate"), "series-tuned", "stock-lazy",
            RATES, 1.5, 1.7),
    Measure("unmap 1 GiB of hugetlb for vfio",
            ("vfio", "hugetlb", "unmap"), "series-lazy", "stock-lazy",
            FASTER, 3),
    Measure("unmap 1 GiB of THP for vfio",
            ("vfio", "thp", "unmap"), "series-lazy", "stock-lazy",
            FASTER, 2),
    Measure("unmap 1 GiB of 4K pages for vfio",
            ("vfio", "4k", "unmap"), "series-lazy", "stock-lazy",
            FASTER, 1.5),
    Measure("unmap 1 GiB of scattered 4K pages for vfio",
            ("vfio", "scattered", "unmap"), "series-lazy", "stock-lazy",
            FASTER, 1),
    Measure("page-table walks to unmap 1 GiB of hugetlb",
            ("vfio_counts", "hugetlb", "walks"), "series-lazy", None,
            COUNT, 512),
    Measure("page-table walks to unmap 1 GiB of device memory by 4K",
            ("vfio_counts", "bar-odd", "walks"), "series-lazy", None,
            COUNT, 513),
    Measure("iommu_unmap calls for 1 GiB of 4K pages",
            ("vfio_counts", "4k", "unmaps"), "series-lazy", None,
            COUNT, 5242),
    Measure("us without a reschedule point, unmap of an 8 GiB BAR",
            ("vfio_counts", "bar", "longest"), "series-lazy", None,
            COUNT, 1000),
    Measure("us without a reschedule point, of a BAR by 4K",
            ("vfio_counts", "bar-odd", "longest"), "series-lazy", None,
            COUNT, 1000),
    Measure("memory of the idle IOMMU, 16 CPUs, 8 groups",
            ("memory", "idle", "unreclaimable"), "series-lazy", "stock-lazy",
            COST, 0.2, without="off"),
    Measure("flush commands, 8 busy domains behind one unit",
            ("flushes", "8", "flushes"), "series-lazy", "stock-lazy",
            COST, 0.25),
    Measure("256 KiB map+unmap, lazy, 1 thread, knob 1M",
            ("dma", "256K-t1", "sum"), "series-tuned", "stock-lazy",
            COST, 1.0, 0.9),
    Measure("4 KiB map+unmap, lazy, 4 threads",
            ("dma", "4K-t4", "sum"), "series-lazy", "stock-lazy",
            COST, 1.0, 0.9),
    Measure("memcslap, lazy", ("memcslap", "get", "rate"),
            "series-lazy", "stock-lazy", RATES, 1.0),
    Measure("memcslap, lazy, of the IOMMU being off",
            ("memcslap", "get", "rate"), "series-lazy", "off", RATES, 0, 0.95),
    Measure("iperf3, lazy", ("iperf3", "tcp", "rate"),
            "series-lazy", "stock-lazy", RATES, 1.0),
    Measure("memory of magazines, idle, 16 CPUs, 8 groups",
            ("memory", "idle", "magazines"), "series-lazy", "stock-lazy",
            COST, 0.1),
    Measure("tree locks per million pairs, same CPU",
            ("userspace", "tree-locks/burst-mixed"), "series", None,
            COUNT, 0),
    Measure("tree locks per million pairs, freed elsewhere",
            ("userspace", "tree-locks/cross-mixed"), "series", None,
            COUNT, 0),
    Measure("depot locks per million pairs, freed elsewhere",
            ("userspace", "depot-locks/cross-4k"), "series", "stock",
            COST, 1.0, 0.5),
)


@dataclass(frozen=True)
class Verdict:
    """A measure with what was measured; figure is None if nothing was."""

    measure: Measure
    figure: float = None

    @property
    def verdict(self):
        """One of: aim, met, MISSED, not measured."""
        measure, figure = self.measure, self.figure
        if figure is None:
            return "not measured"
        if measure.aim is not None and self._reaches(measure.aim):
            return "aim"
        return "met" if self._reaches(measure.wanted) else "MISSED"

    def _reaches(self, mark):
        if self.measure.kind in (FASTER, RATES):
            return self.figure >= mark
        return self.figure <= mark

    def text(self, figure):
        """A figure of this measure, for people."""
        if figure is None:
            return ""
        if self.measure.kind == FASTER:
            return f"{figure:,.3g}x faster" if figure < 100 else \
                f"{figure:,.0f}x faster"
        if self.measure.kind == RATES:
            return f"{figure:.2f}x rate"
        return f"{figure:.2f}x" if self.measure.kind == COST else \
            f"{figure:,.0f}"


def figure_of(measure, results):
    """What a measure comes to; None if it was not measured."""
    value, base = measure.figures(results)
    if measure.kind == COUNT or value is None or base is None:
        return value if measure.kind == COUNT else None
    over, under = (base, value) if measure.kind == FASTER else (value, base)
    return over / under if under else None


def judge(results):
    """A Verdict for each measure."""
    return [Verdict(measure, figure_of(measure, results))
            for measure in MEASURES]

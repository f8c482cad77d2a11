# SPDX-License-Identifier: GPL-2.0
"""The results as text for a terminal, and as tab-separated values."""

from measures import judge
from model import WORKLOADS, ratio

TITLE = 22      # width of the first column
COLUMN = 20     # width of each other
RATIO = 8       # of that, for the ratio

LEGEND = """\
A cell shows the median and how many times better that is than stock in the
same mode; below it lowest..highest and how many times better than with the
IOMMU off. Bigger ratios are better; "1M" has max_opt_dma_size set to 1M."""

FIELDS = ("workload", "case", "metric", "unit", "better", "config", "samples",
          "median", "lowest", "highest", "vs_stock", "vs_off")


def number(value):
    """Three significant digits, or all that stand before the point."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(value):
    """A ratio, for people."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}x"
    return f"{value:.1f}x" if value >= 10 else f"{value:.2f}x"


def short(value):
    """As number(), but never longer than five characters."""
    return number(value) if value < 10000 else f"{number(value / 1000)}k"


def spread(value):
    """The lowest and the highest sample."""
    if value is None or value.count < 2:
        return ""
    return f"{short(value.low)}..{short(value.high)}"


def ratios(results, cell, metric, config):
    """How many times better config is than stock, and than off."""
    stock = off = None
    if config.name != config.reference:
        stock = results.speed(cell, metric, config.name, config.reference)
    if config.name != "off":
        off = results.speed(cell, metric, config.name, "off")
    return stock, off


def column(left, right=""):
    """A column of two texts."""
    return f"{left:>{COLUMN - RATIO}}{right:>{RATIO}}"


def metric_lines(results, cell, metric, configs):
    """Median and spread of one metric, each with a ratio."""
    first = second = ""
    for config in configs:
        value = results.get(cell.workload, cell.case, metric, config.name)
        stock, off = ratios(results, cell, metric, config)
        first += column(number(value.median) if value else "-", times(stock))
        second += column(spread(value), times(off))
    return first, second


def parts_line(results, cell, metrics, configs):
    """The medians that a sum is made of."""
    line = ""
    for config in configs:
        values = [results.get(cell.workload, cell.case, metric, config.name)
                  for metric in metrics]
        line += column(" + ".join(number(value.median) if value else "-"
                                  for value in values))
    return line


def case_lines(results, cell, configs):
    """All lines of one case."""
    metrics = WORKLOADS[cell.workload].metrics
    lines = []
    for metric in metrics if "sum" not in metrics else ("sum",):
        first, second = metric_lines(results, cell, metric, configs)
        title = cell.title if metric in ("sum", "rate") else \
            f"{cell.title}, {metric}"
        if len(title) > TITLE:
            lines.append(title)
            title = ""
        lines += [f"{title:{TITLE}}{first}", f"{'':{TITLE}}{second}"]
    if "sum" in metrics:
        parts = [metric for metric in metrics if metric != "sum"]
        line = parts_line(results, cell, parts, configs)
        lines.append(f"{'    ' + ' + '.join(parts):{TITLE}}{line}")
    return [line.rstrip() for line in lines if line.strip()]


def modes(results, workload):
    """The configurations of a workload, in blocks that fit side by side."""
    names = results.config_names(workload)
    configs = [config for config in results.configs if config.name in names]
    off = [config for config in configs if config.name == "off"]
    for reference in ("stock-lazy", "stock-strict"):
        mode = [config for config in configs if config.reference == reference]
        if mode:
            yield off + mode


def workload_lines(results, workload):
    """All lines of a workload."""
    work = WORKLOADS[workload]
    lines = []
    for configs in modes(results, workload):
        lines.append(f"{work.title}: {work.unit}, {work.better} is better")
        lines.append(" " * TITLE + "".join(f"{config.title:>{COLUMN}}"
                                           for config in configs))
        for cell in results.cells:
            if cell.workload == workload:
                lines += case_lines(results, cell, configs)
        lines.append("")
    return lines


def userspace_lines(results):
    """What the userspace build of the allocator counts."""
    lines = ["The allocator's files in userspace, less is better",
             f"{'':40}{'stock':>14}{'series':>14}{'ratio':>9}"]
    for name, pair in results.userspace.items():
        rate = ratio(pair.series, pair.stock, "less")
        lines.append(f"{name:40}{number(pair.stock):>14}"
                     f"{number(pair.series):>14}{times(rate):>9}  {pair.unit}")
    return lines + [""]


def measures_lines(results):
    """The measures, wanted against measured."""
    lines = ["Measures",
             f"{'':50}{'at least':>14}{'aim':>14}{'measured':>15}"]
    for row in judge(results):
        texts = [row.text(figure) for figure in
                 (row.measure.wanted, row.measure.aim, row.figure)]
        lines.append(f"{row.measure.work:50}{texts[0]:>14}{texts[1]:>14}"
                     f"{texts[2]:>15}  {row.verdict}")
    return lines


def text(results):
    """The whole table."""
    lines = []
    present = {cell.workload for cell in results.cells}
    for workload in WORKLOADS:
        if workload in present:
            lines += workload_lines(results, workload)
    lines += userspace_lines(results)
    return "\n".join(lines + LEGEND.split("\n") + [""] +
                     measures_lines(results)) + "\n"


def context(host):
    """What one must know to read the table, in three lines."""
    return f"""
{host["date"]}, {host["rounds"]} rounds, {host["command"]}
{host["base"]}; {host["qemu"]}, {host["accelerator"]}
{host["host_cpu"]}; load average before each guest {
        host["load_while_measuring"]}
"""


def plain(value):
    """A figure for programs: empty if unknown."""
    return "" if value is None else f"{value:.6g}"


def tsv(results):
    """The medians, their spread and ratios: one line of FIELDS each."""
    lines = ["\t".join(FIELDS)]
    for cell in results.cells:
        work = WORKLOADS[cell.workload]
        for metric in work.metrics:
            for config in results.configs:
                value = results.get(cell.workload, cell.case, metric,
                                    config.name)
                if value is None:
                    continue
                row = (cell.workload, cell.case, metric, work.unit,
                       work.better, config.name, str(value.count),
                       plain(value.median), plain(value.low),
                       plain(value.high),
                       *map(plain, ratios(results, cell, metric, config)))
                lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def measures_tsv(results):
    """The measures, for programs."""
    lines = ["\t".join(("measure", "kind", "wanted", "aim", "measured",
                        "verdict"))]
    for row in judge(results):
        measure = row.measure
        lines.append("\t".join((measure.work, measure.kind,
                                plain(measure.wanted), plain(measure.aim),
                                plain(row.figure), row.verdict)))
    return "\n".join(lines) + "\n"

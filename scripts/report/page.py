# SPDX-License-Identifier: GPL-2.0
"""Plots by gnuplot, and a short page around them and the table."""

from html import escape

from measures import judge
from model import WORKLOADS, read_table
from plot import gnuplot, style


# A plot of bars: file, title, y axis, its scale, (workload, metric), cases.
T4 = ("4K-t4", "128K-t4", "256K-t4", "1M-t4")
T1 = ("4K-t1", "128K-t1", "256K-t1", "1M-t1")
SIZES = ("4k", "128k", "256k", "1M")
BARS = (
    ("dma-lazy-t4", "map + unmap, lazy, 4 threads", "us", True,
     "dma", "sum", T4, "stock-lazy"),
    ("dma-lazy-t1", "map + unmap, lazy, 1 thread", "us", False,
     "dma", "sum", T1, "stock-lazy"),
    ("dma-strict-t4", "map + unmap, strict, 4 threads", "us", True,
     "dma", "sum", T4, "stock-strict"),
    ("fio-lazy", "fio randread, lazy", "IOPS", False,
     "fio", "rate", SIZES, "stock-lazy"),
    ("fio-strict", "fio randread, strict", "IOPS", False,
     "fio", "rate", SIZES, "stock-strict"),
    ("iperf3", "iperf3", "Mbit/s", False,
     "iperf3", "rate", ("tcp",), None),
    ("memcslap", "memcslap", "gets/s", False,
     "memcslap", "rate", ("get",), None),
)

CANNOT = """\
The guest runs under QEMU's TCG emulation on the host named above. It shows
what software costs, what a preempted holder of a lock does to the others, and
how often locks are taken and the IOTLB is flushed. It cannot show waits for
hardware, since QEMU completes an invalidation within the write that starts it,
nor contention between many cores, since there are not that many. A worst case
includes what the host did meanwhile. Absolute figures move with the host and
with what else it does: compare columns of this run, not of two runs."""


def bars_data(results, bar):
    """The data of a bar plot: a case a line, three values a configuration."""
    _, _, _, _, workload, metric, cases, reference = bar
    configs = [config for config in results.configs
               if reference is None or config.name == "off" or
               config.reference == reference]
    titles = {(cell.workload, cell.case): cell.title.split(",")[0]
              for cell in results.cells}
    lines = ["\t".join(["case"] + [config.title for config in configs
                                   for _ in range(3)])]
    for case in cases:
        row = [titles[workload, case]]
        for config in configs:
            value = results.get(workload, case, metric, config.name)
            row += [f"{number:.6g}" for number in
                    (value.median, value.low, value.high)] if value else \
                ["NaN"] * 3
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n", len(configs)


def bars_script(bar, columns):
    """gnuplot's commands for it."""
    name, title, unit, log = bar[:4]
    plots = ", ".join(f"'{name}.dat' using {3 * n + 2}:{3 * n + 3}:"
                      f"{3 * n + 4}:xtic(1) title columnheader({3 * n + 2})"
                      for n in range(columns))
    scale = "set logscale y\nset yrange [0.1:*]\n" if log else \
        "set yrange [0:*]\n"
    return style(name, title, unit) + scale + \
        "set style data histogram\n" \
        "set style histogram errorbars gap 1 lw 1\n" \
        "set style fill solid 0.7 border -1\n" \
        f"plot {plots}\n"


def search_data(results):
    """Latency against the number of ranges."""
    lines = ["\t".join(["ranges"] + [f"{config} {metric}" for config in
                                     results.config_names("search")
                                     for metric in ("mean", "worst")])]
    for cell in results.cells:
        if cell.workload != "search":
            continue
        row = [cell.case]
        for config in results.config_names("search"):
            for metric in ("mean", "worst"):
                value = results.get("search", cell.case, metric, config)
                row.append(f"{value.median:.6g}" if value else "NaN")
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def search_script(columns):
    """gnuplot's commands for it."""
    plots = ", ".join(f"'search.dat' using 1:{n + 2} with linespoints lw 2 "
                      f"title columnheader({n + 2})" for n in range(columns))
    return style("search", "alloc_iova of 2 pages, fragmented domain", "us") + \
        "set logscale xy\nset xlabel 'one-page ranges'\n" \
        f"plot {plots}\n"


def plot_all(out, results):
    """All plots; returns their names."""
    names = []
    for bar in BARS:
        data, columns = bars_data(results, bar)
        gnuplot(out, bar[0], data, bars_script(bar, columns))
        names.append(bar[0])
    data = search_data(results)
    gnuplot(out, "search", data,
            search_script(data.split("\n", 1)[0].count("\t")))
    return names + ["search"]


def html_table(rows, head):
    """Rows of texts as a table."""
    lines = ["<table>", "<tr>" + "".join(f"<th>{escape(text)}</th>"
                                         for text in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) +
              "</tr>" for row in rows]
    return "\n".join(lines + ["</table>"])


def measures_rows(results):
    """The measures as texts."""
    for row in judge(results):
        yield (row.measure.work, row.text(row.measure.wanted),
               row.text(row.measure.aim), row.text(row.figure), row.verdict)


def facts_rows(out, results):
    """What each configuration was, as its first guest told."""
    want = ("release", "command_line", "testdev.type",
            "testdev.max_opt_dma_size", "nvme.max_opt_dma_size",
            "nvme.max_hw_sectors_kb", "nvme.max_sectors_kb", "cpus",
            "clocksource")
    seen = {}
    for _, config, fact, value in list(read_table(out / "facts.tsv"))[1:]:
        seen.setdefault((config, fact), value)
    for config in results.configs:
        for fact in want:
            if (config.name, fact) in seen:
                yield config.name, fact, seen[config.name, fact]


PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>IOVA benchmark</title>
<style>
body {{ font-family: sans-serif; max-width: 75em; margin: 2em auto; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #bbb; padding: 0.2em 0.6em; text-align: left; }}
pre {{ background: #f4f4f4; padding: 1em; overflow-x: auto; }}
</style></head><body>
<h1>The series against stock, {date}</h1>
<h2>Measures</h2>
{measures}
<p>Ratios of medians of this run.</p>
<h2>Plots</h2>
<p>Bars are medians, whiskers the lowest and highest of {rounds} rounds.</p>
{plots}
{simulation}<h2>Table</h2>
<pre>{table}</pre>
<h2>What was run, and on what</h2>
{host}
<p>Each round boots each configuration once, so that what else the host does
meets all alike. Both kernels have the same configuration, and every guest the
same devices.</p>
{facts}
<h2>What this cannot show</h2>
<p>{cannot}</p>
<h2>Data</h2>
<p><a href="results.tsv">results.tsv</a>: medians, spread, ratios;
<a href="measures.tsv">measures.tsv</a>;
<a href="samples.tsv">samples.tsv</a>: every sample;
<a href="userspace.tsv">userspace.tsv</a>;
<a href="facts.tsv">facts.tsv</a>: every guest. The guests' logs and the tools'
own outputs are in {raw}.</p>
</body></html>
"""


def simulation(out):
    """The section about many CPUs, if they have been simulated."""
    section = out / "sim.html"
    return section.read_text() if section.exists() else ""


def write(out, results, host, text):
    """OUT/index.html and the plots it shows."""
    plots = "\n".join(f'<img src="{name}.svg" alt="{name}">'
                      for name in plot_all(out, results))
    (out / "index.html").write_text(PAGE.format(
        date=escape(host.get("date", "")), rounds=escape(host["rounds"]),
        measures=html_table(measures_rows(results),
                            ("", "at least", "aim", "measured", "")),
        plots=plots, table=escape(text), simulation=simulation(out),
        host=html_table(host.items(), ("host", "")),
        facts=html_table(facts_rows(out, results),
                         ("configuration", "", "")),
        cannot=escape(CANNOT), raw=escape(host.get("raw", "raw"))))

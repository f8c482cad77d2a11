#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make the report of what was measured.

usage: report collect RAW OUT, report table OUT, or report simulation OUT

collect reads the runs' directories RAW/ROUND-CONFIG (ROUND is a number, or
"once") and writes OUT/samples.tsv and OUT/facts.tsv.  table makes of these
results.tsv, measures.tsv, table.txt, the plots and the page; it prints the
table, and fails if anything is missing.  OUT/host tells what it ran on, its
line "rounds=N" how many there were, "configs=..." which configurations;
OUT/userspace.tsv is what `make -C tools/testing/iova bench` wrote.
simulation makes plots, sim.txt and a section of the page of what `make -C
tools/testing/iova sim` wrote, OUT/sim*.tsv.
"""

import sys
from collections import defaultdict
from pathlib import Path

import collect
import model
import page
import plot
import simulation
import table

BENCH = Path(__file__).resolve().parents[2] / "guest" / "bench"
SAMPLE_FIELDS = ("round", "config", "workload", "case", "metric", "value")


def write_samples(raw, out):
    """The runs' raw outputs as one table each of samples and of facts."""
    cells = model.read_cells(BENCH / "cells")
    samples = ["\t".join(SAMPLE_FIELDS)]
    facts = ["\t".join(("round", "config", "fact", "value"))]
    for run in sorted(path for path in raw.iterdir() if path.is_dir()):
        number, config = run.name.split("-", 1)
        samples += ["\t".join((number, config, *row[:3], f"{row[3]:.6g}"))
                    for row in collect.collect(run, cells)]
        facts += ["\t".join((number, config, *fact))
                  for fact in collect.read_facts(run).items()]
    (out / "samples.tsv").write_text("\n".join(samples) + "\n")
    (out / "facts.tsv").write_text("\n".join(facts) + "\n")


def read_host(out):
    """KEY=VALUE lines about the host and the run."""
    lines = (out / "host").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def read_results(out, host):
    """Results from OUT/samples.tsv."""
    samples = defaultdict(list)
    for row in list(model.read_table(out / "samples.tsv"))[1:]:
        _, config, workload, case, metric, value = row
        samples[workload, case, metric, config].append(float(value))
    return model.Results(
        model.read_cells(BENCH / "cells"),
        model.read_configs(BENCH / "configs", host["configs"].split()),
        samples, model.read_userspace(out / "userspace.tsv"))


def loads(out):
    """The host's load average before each guest: lowest..highest."""
    found = [float(row[3].split()[0])
             for row in model.read_table(out / "facts.tsv")
             if row[2] == "host_load"]
    return f"{min(found)}..{max(found)}"


def write_report(out):
    """Everything that is made of the samples; returns what is missing."""
    host = read_host(out)
    host["load_while_measuring"] = loads(out)
    results = read_results(out, host)
    text = table.text(results) + table.context(host)
    (out / "results.tsv").write_text(table.tsv(results))
    (out / "measures.tsv").write_text(table.measures_tsv(results))
    (out / "table.txt").write_text(text)
    page.write(out, results, host, text)
    print(text, end="")
    return results.missing(int(host["rounds"]))


def main(arguments):
    """Returns the exit status."""
    try:
        if arguments[:1] == ["collect"] and len(arguments) == 3:
            write_samples(Path(arguments[1]), Path(arguments[2]))
        elif arguments[:1] == ["table"] and len(arguments) == 2:
            missing = write_report(Path(arguments[1]))
            if missing:
                print(f"report: not measured: {'; '.join(missing)}",
                      file=sys.stderr)
                return 1
        elif arguments[:1] == ["simulation"] and len(arguments) == 2:
            print(simulation.write(Path(arguments[1])), end="")
        else:
            print(__doc__.split("\n\n")[1], file=sys.stderr)
            return 2
    except (OSError, collect.BadOutput, plot.PlotError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

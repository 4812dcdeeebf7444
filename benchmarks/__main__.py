"""Measure everything that doc/performance.rst shows, and renew the page.

python benchmarks --mnist PATH
"""

import argparse
from pathlib import Path

import grid_search
import growth
import table

DOC = Path(__file__).resolve().parents[1] / "doc"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mnist", metavar="PATH", required=True)
    options = ["--mnist", parser.parse_args().mnist]
    options += ["--rst", str(DOC / "performance.rst")]
    table.main(options)
    grid_search.main(options)
    growth.main([*options, "--plot", str(DOC / "cost_against_n.png")])


if __name__ == "__main__":
    main()

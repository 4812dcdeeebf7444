"""Measure all that doc/performance.rst shows, and renew the page.

    python benchmarks --mnist PATH

Further options go to each of the scripts.
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
    parser.add_argument("--doc", metavar="FOLDER", type=Path, default=DOC)
    args, options = parser.parse_known_args()
    options += ["--mnist", args.mnist, "--rst", str(args.doc / "performance.rst")]
    table.main(options)
    grid_search.main(options)
    growth.main([*options, "--plot", str(args.doc / "cost_against_n.png")])


if __name__ == "__main__":
    main()

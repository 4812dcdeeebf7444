import importlib
import json
import subprocess
import sys
from math import isfinite
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastcluster")

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
TINY = ["--scale", "0.1", "--instances", "2", "--repeats", "1"]


@pytest.fixture
def script(monkeypatch):
    """Return a function that imports one of the scripts."""
    monkeypatch.syspath_prepend(FOLDER)
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def mnist(tmp_path):
    """A small file in the form of MNIST's."""
    rng = np.random.default_rng(0)
    path = tmp_path / "mnist.npz"
    labels = np.repeat(np.arange(10, dtype=np.uint8), 50)
    images = rng.integers(256, size=(len(labels), 28, 28), dtype=np.uint8)
    np.savez(path, images=images, labels=labels)
    return str(path)


def test_table_has_all_works_and_their_bounds(script, mnist, tmp_path, monkeypatch):
    table = script("table")
    monkeypatch.setattr(table, "in_fresh_process", lambda work, *args: work(*args))
    page, numbers = tmp_path / "page.rst", tmp_path / "numbers.json"
    page.write_text("Before\n\n.. begin costs\nOutdated\n.. end costs\n\nAfter\n")
    options = ["--mnist", mnist, "--rst", str(page), "--json", str(numbers)]
    table.main(TINY + options)
    costs = json.loads(numbers.read_text())["costs"]
    assert len(costs) == len(table.ROWS)
    # Exponents of growth are about nothing on so few points.
    assert all(isfinite(one["value"]) for found in costs.values() for one in found)
    text = page.read_text()
    assert text.startswith("Before")
    assert text.endswith("After\n")
    assert "Outdated" not in text
    assert all(f"   * - {name}\n" in text for name in costs)


def test_table_leaves_out_what_has_no_data_and_shows_counters(
    script, capsys, monkeypatch
):
    table = script("table")

    def measure(row, settings):
        return [{"value": 1.0, "trees": 6, "events": 5, "row scans": 10}]

    monkeypatch.setattr(table, "measure_row", measure)
    table.main(["--only", "single-complete"])
    out = capsys.readouterr().out
    assert "left out, needs --mnist: single-complete, MNIST, n = 1000" in out
    header, row, *_ = out[out.index("work ") :].splitlines()
    assert header.endswith("row scans by event")
    assert row.startswith("single-complete, digits, n = 750")
    assert row.endswith(" 2")


def test_table_runs_as_a_program_in_fresh_processes():
    command = [sys.executable, FOLDER / "table.py", "--only", "average-complete, dig"]
    done = subprocess.run([*command, *TINY], capture_output=True, text=True, check=True)
    assert "average-complete, digits, n = 75" in done.stdout


def test_grid_search_finds_no_less_than_the_exact_minimum(script, mnist, tmp_path):
    numbers = tmp_path / "numbers.json"
    options = ["--timed", "1", "--mnist", mnist, "--json", str(numbers)]
    script("grid_search").main(TINY + options)
    for name, found in json.loads(numbers.read_text())["grids"].items():
        # Mixed distances are rounded, so that fastcluster may see other ties.
        assert "/" in name or found["differences"] == 0
        for left in found["left"].values():
            assert left["mean"] >= 0
            assert min(left["each"]) >= 0


def test_growth_writes_a_plot(script, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.png"
    script("growth").main([*TINY, "--scale", "0.2", "--plot", str(path)])
    assert path.read_bytes().startswith(b"\x89PNG")

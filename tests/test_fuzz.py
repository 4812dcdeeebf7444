"""The script that checks random cases finds, shrinks and repeats failing ones."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_properties import FAMILIES

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="processes cannot be forked"
)
if sys.platform != "win32":
    import fuzz

SCRIPT = Path(__file__).with_name("fuzz.py")


def run(*args):
    return subprocess.run(
        [sys.executable, SCRIPT, *args], capture_output=True, text=True, timeout=300
    )


def test_random_cases_hold():
    done = run("--minutes", "0.02", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout
    assert run("--repeat", "0", "7").returncode == 0


def test_random_cases_are_of_all_families():
    drawn = [fuzz.random_case(np.random.default_rng([0, i])) for i in range(300)]
    assert {case.linkages for case in drawn} == set(FAMILIES)
    assert {case.normalize for case in drawn} == {*fuzz.NORMALIZATIONS}


def test_a_failing_case_is_shrunk_and_can_be_repeated(monkeypatch, capsys):
    def check(case):
        assert sum(d > 0 for d in case.distances[0]) < 3, "three are too many"

    monkeypatch.setattr(fuzz, "check_fully", check)
    number = next(i for i in range(100) if fuzz.repeat(1, i))
    printed = capsys.readouterr().out
    assert f"--repeat 1 {number}" in printed
    case = fuzz.shrunk(fuzz.random_case(np.random.default_rng([1, number])))
    assert f"check_fully({case})" in printed
    assert len(case.labels) == 3
    assert set(case.labels) == {0}
    assert sorted(case.distances[0]) == [1.0, 1.0, 1.0]

"""Experiments of the paper: they resume, agree with learners, and tell the truth."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import load_digits
from test_piecewise import random_curve

from sklearn_linkage_learn import (
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
)
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.experiments import _carry_over, _runs
from sklearn_linkage_learn.experiments.__main__ import main
from sklearn_linkage_learn.experiments._carry_over import carry_over
from sklearn_linkage_learn.experiments._experiment import Experiment
from sklearn_linkage_learn.experiments._figures import draw_carry_over, draw_curves
from sklearn_linkage_learn.experiments._paper import PAPER
from sklearn_linkage_learn.experiments._report import summarize, table_of_results
from sklearn_linkage_learn.experiments._runs import Run, complete
from sklearn_linkage_learn.experiments._sources import SOURCES, open_source
from sklearn_linkage_learn.experiments._tasks import TASKS, Chunk, UsualLinkages
from sklearn_linkage_learn.losses import hamming_loss

SC = "single-complete"


def measured(task, chunk):
    return task.measure(getattr(chunk, task.needs), chunk)


@pytest.fixture
def small(monkeypatch):
    """A source of small instances that are worked on two at a time."""
    monkeypatch.setattr(_runs, "CHUNK", 2)

    def draw(rng):
        (points,), (labels,) = make_rings_and_disks(n_per_cluster=8, random_state=rng)
        return points, labels

    return replace(open_source("rings-and-disks"), draw=draw)


def test_tasks_measure_what_learners_do(small):
    points, labels = zip(*(small.instance(i) for i in range(3)), strict=True)
    chunk = Chunk(small, range(3), n_jobs=1)
    learner = LearnedLinkage(("average", "complete")).fit(points, labels)
    found = measured(TASKS["average-complete"], chunk)
    assert found == learner.instance_curves_

    small = open_source("digits")
    rows, labels = zip(*(small.instance(i) for i in range(2)), strict=True)
    images = load_digits().data
    sides = np.arange(64) % 8 < 4
    metrics = [("left", "euclidean", sides), ("right", "euclidean", ~sides)]
    learner = LearnedMetricLinkage(metrics, normalize="instance_max")
    learner.fit([images[r] for r in rows], labels)
    found = measured(TASKS["metric"], Chunk(small, range(2), n_jobs=1))
    assert found == learner.instance_curves_


def test_usual_linkages_are_those_of_scipy(small):
    (found,) = measured(UsualLinkages(), Chunk(small, [5], n_jobs=1))
    points, labels = small.instance(5)
    for name in ("single", "average", "complete", "ward"):
        assert found[name] == hamming_loss(linkage(points, name), labels)


def test_a_run_goes_on_after_an_interruption(small, tmp_path, monkeypatch):
    whole = Run(tmp_path / "whole", TASKS[SC], 7, {"of": "rings"})
    complete([whole], small, n_jobs=1)

    interrupted = Run(tmp_path / "interrupted", TASKS[SC], 7, {"of": "rings"})
    measure, calls = type(TASKS[SC]).measure, []

    def fail_at_third(self, distances, chunk):
        calls.append(len(chunk.labels))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measure(self, distances, chunk)

    monkeypatch.setattr(type(TASKS[SC]), "measure", fail_at_third)
    with pytest.raises(KeyboardInterrupt):
        complete([interrupted], small, n_jobs=1)
    # The machine went down while a line was written.
    with (tmp_path / "interrupted").open("a") as file:
        file.write('{"seconds": 0.1, "resu')

    again = Run(tmp_path / "interrupted", TASKS[SC], 7, {"of": "rings"})
    assert again.n_done == 4
    complete([again], small, n_jobs=1)
    assert calls == [2, 2, 2, 2, 1]
    assert again.is_complete
    assert again.results()[0] == whole.results()[0]
    assert len(again.results()[0]) == 7


def test_runs_that_write_to_the_same_file_are_found_out(small, tmp_path):
    runs = [Run(tmp_path / "run", TASKS[SC], 3, {}) for _ in range(2)]
    runs[0].add(Chunk(small, range(2), n_jobs=1))
    complete([runs[1]], small, n_jobs=1)
    with pytest.raises(ValueError, match="run was written to by several commands"):
        runs[1].results()


def test_a_longer_run_adds_to_a_shorter_one(small, tmp_path):
    path = tmp_path / "run"
    short = Run(path, TASKS[SC], 3, {})
    complete([short], small, n_jobs=1)
    long = Run(path, TASKS[SC], 6, {})
    assert long.n_done == 3
    complete([long], small, n_jobs=1)
    curves, seconds = long.results()
    assert len(curves) == 6
    assert seconds > 0
    # What was asked for less is still what it was.
    assert Run(path, TASKS[SC], 3, {}).results()[0] == curves[:3]
    chunk = Chunk(small, range(6), n_jobs=1)
    assert curves == measured(TASKS[SC], chunk)


def test_runs_share_distances(small, tmp_path):
    calls = []

    def counted(points):
        calls.append(len(points))
        return metric(points)

    metric = small.metric
    small = replace(small, metric=counted)
    ahead = Run(tmp_path / "ahead", TASKS["average-complete"], 5, {})
    complete([ahead], small, n_jobs=1)
    assert len(calls) == 5
    runs = [
        Run(tmp_path / "ahead", TASKS["average-complete"], 8, {}),
        Run(tmp_path / "behind", TASKS[SC], 7, {}),
        Run(tmp_path / "usual", UsualLinkages(), 8, {}),
    ]
    complete(runs, small, n_jobs=1)
    assert len(calls) == 5 + 8
    assert [run.n_done for run in runs] == [8, 7, 8]


def test_the_time_of_a_task_is_that_of_curves_and_not_of_distances(
    small, tmp_path, monkeypatch
):
    calls = []

    def metric(points):
        calls.append("distances")
        return small.metric(points)

    def clock():
        calls.append("clock")
        return 0.0

    monkeypatch.setattr(_runs, "perf_counter", clock)
    run = Run(tmp_path / "run", TASKS[SC], 2, {})
    complete([run], replace(small, metric=metric), n_jobs=1)
    assert calls == ["distances"] * 2 + ["clock"] * 2


def test_a_run_refuses_results_of_another_one(tmp_path):
    Run(tmp_path / "run", TASKS[SC], 3, {"data": "a.npz"})
    with pytest.raises(ValueError, match="holds results of.*a.npz.*not of.*b.npz"):
        Run(tmp_path / "run", TASKS[SC], 3, {"data": "b.npz"})


def curves_and_usual(n, seed=0):
    rng = np.random.RandomState(seed)
    curves = [random_curve(rng, 8) for _ in range(n)]
    usual = [dict(zip(("single", "ward"), rng.uniform(size=2), strict=True))
             for _ in range(n)]  # fmt: skip
    return curves, usual


def test_carry_over_learns_from_one_half_and_tests_on_the_other(monkeypatch):
    monkeypatch.setattr(_carry_over, "SIZES", (1, 3, 10))
    curves, usual = curves_and_usual(10)
    study = carry_over(curves, usual)
    best = study["parameter"]
    fine = np.linspace(0, 1, 100_001)

    def mean(members, t):
        return np.mean([curve(t) for curve in members], axis=0)

    assert mean(curves[:5], best) <= mean(curves[:5], fine).min() + 1e-12
    assert_allclose(study["loss"], mean(curves[5:], best))
    assert_allclose(study["hindsight"], mean(curves[5:], fine).min(), atol=1e-12)
    assert list(study["sizes"]) == [1, 3]
    for found in study["sizes"].values():
        assert study["hindsight"] <= found["low"] <= found["high"]
    for name, found in study["usual"].items():
        losses = np.array([row[name] for row in usual[5:]])
        excess = losses - [curve(best) for curve in curves[5:]]
        assert_allclose(found["loss"], losses.mean())
        assert_allclose(found["excess"], excess.mean())
        assert_allclose(found["margin"], 2.776445 * excess.std(ddof=1) / 5**0.5)
    for count, found in study["grids"].items():
        grid = np.linspace(0, 1, count)
        losses = mean(curves[:5], grid)
        chosen = grid[np.argmin(losses)]
        gap = losses.min() - mean(curves[:5], best)
        assert_allclose(found["learning"], gap, atol=1e-12)
        gap = mean(curves[5:], chosen) - mean(curves[5:], best)
        assert_allclose(found["held_out"], gap, atol=1e-12)
    near = mean(curves[:5], fine) <= mean(curves[:5], best) + 0.01
    assert_allclose(study["width"][0.01], near.mean(), atol=1e-3)


def test_learning_from_all_of_the_first_half_is_one_choice(monkeypatch):
    monkeypatch.setattr(_carry_over, "SIZES", (5,))
    study = carry_over(*curves_and_usual(10))
    (found,) = study["sizes"].values()
    assert_allclose(list(found.values()), study["loss"])


def test_summary_tells_of_the_mean_curve():
    curves = [
        PiecewiseConstant([0, 0.2, 0.6, 1], [0.5, 0.1, 0.3]),
        PiecewiseConstant([0, 0.4, 1], [0.5, 0.2]),
    ]
    summary = summarize(curves, [{"single": 0.5}] * 3)
    assert summary["carry_over"] is None
    assert summary["instances"] == 2
    assert_allclose(summary["interval"], (0.4, 0.6))
    assert_allclose(summary["optimum"], 0.5)
    found = [summary[name] for name in ("loss", "at_0", "at_1", "gain")]
    assert_allclose(found, [0.15, 0.5, 0.25, 0.1])
    assert summary["discontinuities"] == 1.5
    again = PiecewiseConstant(summary["breakpoints"], summary["values"])
    assert again == PiecewiseConstant.mean(curves)


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_command_line_runs_and_reports(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    words = ["digits", "--instances", "6", "--n-jobs", "1", "--out", str(out)]
    main([*words, "--task", "metric", "average-complete"])
    printed = capsys.readouterr().out
    assert str(out / "report") in printed
    for task, ends in [
        ("metric", ["left half", "right half"]),
        ("average-complete", ["average", "complete"]),
    ]:
        summary = json.loads((out / f"digits-{task}.json").read_text())
        assert summary["ends"] == ends
        assert f"{summary['loss']:.4f}" in printed
        names, *pieces = read_csv(out / f"digits-{task}.csv")
        assert names == ["from", "to", "mean_loss"]
        pieces = np.array(pieces, dtype=float)
        assert_array_equal(pieces[:, 0], summary["breakpoints"][:-1])
        assert_array_equal(pieces[:, 1], summary["breakpoints"][1:])
        assert_array_equal(pieces[:, 2], summary["values"])
        assert (out / "report" / f"digits-{task}-carry-over.png").stat().st_size > 0
    for figure in ("digits-alpha.png", "digits-beta.png"):
        assert (out / "report" / figure).read_bytes().startswith(b"\x89PNG")
    for table in ("results", "sizes", "usual", "widths"):
        names, *rows = read_csv(out / "report" / f"{table}.csv")
        assert [row[:2] for row in rows] == [
            ["digits", "average-complete"],
            ["digits", "metric"],
        ]
        assert {len(row) for row in rows} == {len(names)}


def test_figures_tell_how_many_instances_they_show(tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = []

    def keep(figure, *args, **kwargs):
        (ax,) = figure.axes
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        shown.append((ax.get_title(), [text.split(":")[0] for text in texts]))

    monkeypatch.setattr(plt.Figure, "savefig", keep)
    summaries = Experiment("digits", tmp_path).run([SC, "average-complete"], 2, 1)
    draw_curves(summaries, None)
    summaries[0]["instances"] = 1000
    draw_curves(summaries, None)
    tasks = [SC, "average-complete"]
    assert shown[0] == ("digits, 2 instances", tasks)
    counts = [", 1000 instances", ", 2 instances"]
    assert shown[1] == ("digits", [a + b for a, b in zip(tasks, counts, strict=True)])


def test_carry_over_is_drawn_so_that_it_can_be_told_from_what_is_better(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt.Figure, "savefig", lambda *args, **kwargs: None)
    monkeypatch.setattr(plt, "close", lambda figure: None)
    sizes = {size: {"loss": 0.3, "low": 0.29, "high": 0.31} for size in ("1", "3")}
    losses = {"single": 0.9, "average": 0.35, "complete": 0.8, "ward": 0.2}
    usual = {name: {"loss": loss} for name, loss in losses.items()}
    study = {"hindsight": 0.28, "sizes": sizes, "usual": usual}
    settings = {"task": SC}
    summary = {"variant": "digits", "settings": settings, "carry_over": study}
    draw_carry_over(summary, None)
    (ax,) = plt.gcf().axes
    low, high = ax.get_ylim()
    assert low < 0.2
    assert 0.35 < high < 0.8
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text for text in texts if "above" in text] == [
        "single: 0.900 (above)",
        "complete: 0.800 (above)",
    ]


def test_command_line_does_not_compute_again(tmp_path, monkeypatch):
    words = ["rings-and-disks", "--instances", "2", "--task", SC]
    words += ["--out", str(tmp_path)]
    main(words)
    monkeypatch.setattr(Chunk, "__init__", None)
    main(words)


@pytest.mark.parametrize(
    "words, message",
    [
        (["places2"], "--data is needed"),
        (["omniglot"], "--data is needed"),
        (["mnist", "--data", "nowhere"], "nowhere.*expected.*images.*labels"),
        (["rings-and-disks", "--task", "metric"], "one metric only"),
        (["digits", "--features", "net"], "--features net"),
        (["digits", "--centred"], "no strokes"),
        (["mnist", "--strokes", "strokes.npz"], "no strokes"),
        (["cifar10", "--features", "pixels"], "has features or features_net"),
    ],
)
def test_command_line_tells_what_is_wrong(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--out", str(tmp_path / "out")])
    assert stopped.value.code == 2
    error = " ".join(capsys.readouterr().err.split())
    assert re.search(message, error)
    assert not list(tmp_path.iterdir())


def test_command_line_tells_how_to_go_on(tmp_path, capsys, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Chunk, "__init__", interrupt)
    with pytest.raises(SystemExit) as stopped:
        main(["digits", "--instances", "2", "--out", str(tmp_path)])
    assert stopped.value.code == 130
    assert "goes on where it stopped" in capsys.readouterr().err


def test_paper_and_own_numbers_stand_side_by_side(tmp_path):
    experiment = Experiment("rings-and-disks", tmp_path)
    assert list(experiment.tasks) == [SC, "average-complete"]
    summaries = experiment.run([SC], 3, n_jobs=1)
    names, row = table_of_results(summaries)
    assert [row[i] for i, name in enumerate(names) if name == "(paper)"] == [
        "0.179",
        "0.2",
        "29.0",
    ]
    assert row[names.index("jumps")] == f"{summaries[0]['discontinuities']:.1f}"


def test_numbers_of_the_paper_are_of_experiments_that_there_are():
    assert {name for name, _ in PAPER} <= set(SOURCES)
    assert {task for _, task in PAPER} <= set(TASKS)

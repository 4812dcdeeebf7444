"""Experiments of the paper: they resume, agree with learners, and tell the truth."""

import csv
import json
import re
from dataclasses import replace
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits
from test_piecewise import random_curve

from sklearn_linkage_learn import (
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
)
from sklearn_linkage_learn.datasets import (
    PAPER_SETTINGS,
    _images,
    make_rings_and_disks,
)
from sklearn_linkage_learn.experiments import _carry_over, _runs, _sources
from sklearn_linkage_learn.experiments.__main__ import main
from sklearn_linkage_learn.experiments._carry_over import carry_over
from sklearn_linkage_learn.experiments._experiment import Experiment
from sklearn_linkage_learn.experiments._paper import PAPER
from sklearn_linkage_learn.experiments._report import summarize, table_of_results
from sklearn_linkage_learn.experiments._runs import Run, complete
from sklearn_linkage_learn.experiments._sources import SOURCES, open_source
from sklearn_linkage_learn.experiments._tasks import TASKS, Chunk, UsualLinkages
from sklearn_linkage_learn.losses import hamming_loss
from sklearn_linkage_learn.metrics import stroke_distances

SC = "single-complete"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files with just enough points to draw instances from."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.RandomState(0)

    def photographs(n_classes, n_each):
        n = n_classes * n_each
        return {
            "features": rng.normal(size=(n, 6)).astype(np.float16),
            "hsv": rng.randint(1, 99, size=(n, 64)).astype(np.uint16),
            "labels": np.repeat(np.arange(n_classes), n_each).astype(np.uint8),
            "class_names": np.array([f"class {i}" for i in range(n_classes)]),
        }

    characters = np.repeat(np.arange(22), 20)
    n = len(characters)
    arrays = {
        "mnist": {
            "images": rng.randint(256, size=(1200, 28, 28)).astype(np.uint8),
            "labels": np.repeat(np.arange(6), 200).astype(np.uint8),
        },
        "cifar10": photographs(6, 50),
        "places": {**photographs(11, 50), "diverse_classes": np.array([1, 3, 5, 7])},
        "omniglot": {
            "images_packed": rng.randint(256, size=(n, 1379)).astype(np.uint8),
            "stroke_xy": rng.uniform(0, 105, size=(3 * n, 2)).astype(np.float32),
            "stroke_offsets": np.arange(0, 3 * n + 1, 3),
            "alphabet": characters // 11,
            "alphabet_names": np.array(["Greek", "Latin"]),
            "character": characters % 11 + 1,
            "char_id": characters,
            "drawer": np.tile(np.arange(1, 21), 22),
            "embedding": rng.normal(size=(n, 4)).astype(np.float32),
        },
    }
    paths = {name: folder / f"{name}.npz" for name in arrays}
    for name, path in paths.items():
        np.savez(path, **arrays[name])
    for name in ("places2", "places2-diverse"):
        paths[name] = paths["places"]
    return SimpleNamespace(paths=paths, arrays=arrays)


def opened(name, files, **options):
    return open_source(name, files.paths.get(name), **options)


@pytest.mark.parametrize("name", SOURCES)
def test_instances_are_drawn_by_number(name, files):
    source = opened(name, files)
    again, labels = source.instance(3)
    source.instance(4)
    for one, other in zip(source.instance(3), (again, labels), strict=True):
        assert_array_equal(one, other)
    assert not np.array_equal(source.instance(4)[0], again)
    matrix = source.metric(again)
    assert matrix.shape == (len(labels), len(labels))
    assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "omniglot", "places2"])
def test_instances_have_the_sizes_of_the_paper(name, files):
    source = opened(name, files)
    settings = PAPER_SETTINGS[name]
    counts = set()
    for number in range(60):
        rows, labels = source.instance(number)
        assert len(set(rows)) == len(rows)
        sizes = np.unique(labels, return_counts=True)[1]
        assert_array_equal(sizes, settings["n_per_class"])
        counts.add(len(sizes))
    low, high = np.broadcast_to(settings["n_classes"], 2)
    assert counts == set(range(low, high + 1))


def test_diverse_places_are_of_the_chosen_classes(files):
    _, labels = opened("places2-diverse", files).instance(0)
    assert set(labels) == {1, 3, 5, 7}


def test_drawings_of_an_instance_are_of_one_alphabet(files):
    source = opened("omniglot", files)
    alphabet = files.arrays["omniglot"]["alphabet"]
    found = [set(alphabet[source.instance(i)[0]]) for i in range(10)]
    assert set(map(frozenset, found)) == {frozenset({0}), frozenset({1})}


def test_photographs_are_compared_by_colours_and_features(files):
    source = opened("cifar10", files)
    rows, _ = source.instance(0)
    colours, features = (metric(rows) for metric in source.metrics)
    stored = files.arrays["cifar10"]
    for found, name in [(colours, "hsv"), (features, "features")]:
        points = stored[name][rows].astype(float)
        assert_allclose(found, cdist(points, points, "cosine"), atol=1e-12)
    assert_array_equal(source.metric(rows), features)


@pytest.mark.parametrize("centred", [False, True])
def test_drawings_are_compared_by_strokes_and_features(files, tmp_path, centred):
    source = opened("omniglot", files, centred=centred, cache_dir=tmp_path)
    source.prepare()
    rows, _ = source.instance(0)
    points = files.arrays["omniglot"]["stroke_xy"].reshape(-1, 3, 2)[rows]
    if centred:
        points = points - points.mean(axis=1, keepdims=True)
    assert_allclose(source.metrics[0](rows), stroke_distances(points), rtol=1e-6)
    embedding = files.arrays["omniglot"]["embedding"][rows].astype(float)
    expected = cdist(embedding, embedding, "cosine")
    assert_allclose(source.metrics[1](rows), expected, atol=1e-12)


def test_strokes_are_compared_once_for_all_runs(files, tmp_path, monkeypatch):
    expected = opened("omniglot", files, cache_dir=tmp_path)
    expected.prepare()
    monkeypatch.delattr(_sources, "stroke_distances")
    source = opened("omniglot", files, cache_dir=tmp_path)
    source.prepare()
    rows, _ = source.instance(0)
    assert_array_equal(source.metrics[0](rows), expected.metrics[0](rows))
    with pytest.raises(NameError):
        opened("omniglot", files, centred=True, cache_dir=tmp_path).prepare()


@pytest.mark.parametrize("centred, letter", [(False, "d"), (True, "c")])
def test_distances_of_strokes_may_be_stored(files, tmp_path, centred, letter):
    computed = opened("omniglot", files, centred=centred)
    computed.prepare()
    strokes = files.arrays["omniglot"]["stroke_xy"].reshape(-1, 3, 2)
    if centred:
        strokes = strokes - strokes.mean(axis=1, keepdims=True)
    halves = {"Greek": np.arange(220), "Latin": np.arange(220, 440)}
    arrays = {f"rows_{name}": rows for name, rows in halves.items()}
    for name, rows in halves.items():
        arrays[f"{letter}_{name}"] = squareform(stroke_distances(strokes[rows]))
    path = tmp_path / "strokes.npz"
    np.savez(path, **arrays)
    stored = opened("omniglot", files, centred=centred, strokes=path)
    stored.prepare()
    rows, _ = stored.instance(1)
    assert_array_equal(stored.metrics[0](rows), computed.metrics[0](rows))

    with pytest.raises(ValueError, match=f"lacks {'d' if centred else 'c'}_Greek"):
        opened("omniglot", files, centred=not centred, strokes=path).prepare()
    np.savez(path, **{**arrays, "rows_Latin": halves["Greek"]})
    with pytest.raises(ValueError, match="rows_Latin are not the rows of Latin"):
        opened("omniglot", files, centred=centred, strokes=path).prepare()


def test_drawings_can_be_compared_by_their_pixels(files):
    source = opened("omniglot", files, features="pixels")
    rows, _ = source.instance(0)
    packed = files.arrays["omniglot"]["images_packed"][rows[:2]]
    images = np.unpackbits(packed, axis=1, count=105**2).reshape(-1, 105, 105)
    first, second = (
        [[image[i : i + 7, j : j + 7].sum() for j in range(0, 105, 7)]
         for i in range(0, 105, 7)]
        for image in images
    )  # fmt: skip
    expected = pdist([np.ravel(first), np.ravel(second)], "cosine")
    assert_allclose(source.metric(rows)[0, 1], expected[0])


def test_ward_gets_euclidean_distances(files):
    source = opened("cifar10", files)
    rows, _ = source.instance(0)
    features = files.arrays["cifar10"]["features"][rows].astype(float)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    found = source.to_euclidean(source.metric(rows))
    assert_allclose(found, cdist(features, features), atol=1e-6)


def test_halves_of_digits_are_left_and_right():
    source = open_source("digits")
    rows, _ = source.instance(0)
    left, right = (metric(rows) ** 2 for metric in source.metrics)
    assert_allclose(left + right, source.metric(rows) ** 2)
    images = load_digits().images[rows][:2, :, :4]
    assert_allclose(left[0, 1], ((images[0] - images[1]) ** 2).sum())


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
    found = TASKS["average-complete"].measure(chunk)
    assert found == learner.instance_curves_

    small = open_source("digits")
    rows, labels = zip(*(small.instance(i) for i in range(2)), strict=True)
    images = load_digits().data
    sides = np.arange(64) % 8 < 4
    metrics = [("left", "euclidean", sides), ("right", "euclidean", ~sides)]
    learner = LearnedMetricLinkage(metrics, normalize="instance_max")
    learner.fit([images[r] for r in rows], labels)
    assert TASKS["metric"].measure(Chunk(small, range(2), 1)) == (
        learner.instance_curves_
    )


def test_usual_linkages_are_those_of_scipy(small):
    (found,) = UsualLinkages().measure(Chunk(small, [5], n_jobs=1))
    points, labels = small.instance(5)
    for name in ("single", "average", "complete", "ward"):
        assert found[name] == hamming_loss(linkage(points, name), labels)


def test_a_run_goes_on_after_an_interruption(small, tmp_path, monkeypatch):
    whole = Run(tmp_path / "whole", TASKS[SC], 7, {"of": "rings"})
    complete([whole], small, n_jobs=1)

    interrupted = Run(tmp_path / "interrupted", TASKS[SC], 7, {"of": "rings"})
    measure, calls = type(TASKS[SC]).measure, []

    def fail_at_third(self, chunk):
        calls.append(len(chunk.labels))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measure(self, chunk)

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
    assert curves == TASKS[SC].measure(chunk)


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


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_data_is_asked_for_if_it_cannot_be_fetched(name, monkeypatch):
    def fetch(*args, **kwargs):
        raise URLError("no network")

    monkeypatch.setattr(_images, "fetch_openml", fetch)
    with pytest.raises(ValueError, match="--data is needed.*no network"):
        open_source(name)


def test_drawings_without_features_are_told(files, tmp_path):
    path = files.paths["omniglot"]
    with pytest.raises(ValueError, match="'embedding_norm'.*--features pixels"):
        Experiment("omniglot", tmp_path, data=path, features="embedding_norm")


def test_variants_of_an_experiment_have_files_of_their_own(files, tmp_path):
    path = files.paths["omniglot"]
    for options in ({}, {"features": "pixels"}, {"centred": True}):
        experiment = Experiment("omniglot", tmp_path, data=path, **options)
        (summary,) = experiment.run(["metric"], 2, n_jobs=1)
        assert summary["ends"][0] == "strokes"
        assert summary["instances"] == 2
    assert sorted(path.name for path in tmp_path.glob("*metric.json")) == [
        "omniglot-centred-metric.json",
        "omniglot-metric.json",
        "omniglot-pixels-metric.json",
    ]


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

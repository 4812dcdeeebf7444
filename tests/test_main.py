import sys

import pytest

from sklearn_linkage_learn.__main__ import main


def test_command_line_prints_a_table_and_writes_a_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.png"
    main(["--instances", "1", "--n-jobs", "1", "--out", str(path)])
    out = capsys.readouterr().out
    (header,) = [line for line in out.splitlines() if line.startswith("data ")]
    assert header.split()[-5:] == ["at", "0", "at", "1", "seconds"]
    for name, n_points in [
        ("rings and disks", "400"),
        ("digits", "500"),
        ("digits, two metrics", "200"),
    ]:
        (row,) = [line for line in out.splitlines() if line.startswith(f"{name}  ")]
        numbers = row.removeprefix(name).split()
        instances, points, weight, *_, loss, _, at_0, at_1, _ = numbers
        assert (instances, points) == ("1", n_points)
        assert 0 <= float(weight) <= 1
        assert float(loss) <= min(float(at_0), float(at_1))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_command_line_works_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    path = tmp_path / "plot.png"
    main(["--instances", "1", "--out", str(path)])
    assert "sklearn-linkage-learn[plot]" in capsys.readouterr().out
    assert not path.exists()

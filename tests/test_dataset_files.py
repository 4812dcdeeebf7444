import gzip
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_linkage_learn.datasets import (
    _images,
    load_cifar10,
    load_mnist,
    load_omniglot,
    load_places,
)
from sklearn_linkage_learn.metrics import hsv_histogram

RNG = np.random.RandomState(0)
MNIST = {
    "images": RNG.randint(256, size=(4, 28, 28)).astype(np.uint8),
    "labels": np.array([3, 9, 0, 3], dtype=np.uint8),
}
CIFAR10 = {
    "features": RNG.normal(size=(4, 5)).astype(np.float16),
    "hsv": RNG.randint(99, size=(4, 64)).astype(np.uint16),
    "labels": np.array([1, 0, 1, 2], dtype=np.uint8),
    "class_names": np.array(["airplane", "automobile", "bird"]),
}
PLACES = {**CIFAR10, "diverse_classes": np.array([0, 2], dtype=np.uint8)}
INK = RNG.uniform(size=(3, 105, 105)) < 0.1
OMNIGLOT = {
    "images_packed": np.packbits(INK.reshape(3, -1), axis=1),
    "stroke_xy": np.array([[1, 2], [3, 4.5], [5, 6], [7, 8], [9, 10]], np.float32),
    "stroke_offsets": np.array([0, 2, 3, 5]),
    "alphabet": np.array([0, 1, 1], dtype=np.uint8),
    "alphabet_names": np.array(["Greek", "Latin"]),
    "character": np.array([2, 1, 1], dtype=np.uint8),
    "char_id": np.array([394, 965, 965], dtype=np.uint16),
    "drawer": np.array([1, 1, 20], dtype=np.uint8),
}
LOADERS = [
    (load_mnist, MNIST),
    (load_cifar10, CIFAR10),
    (load_places, PLACES),
    (load_omniglot, OMNIGLOT),
]
DIRECTORY_LOADERS = LOADERS[:3]


def save_npz(path, arrays):
    np.savez(path / "data.npz", **arrays)
    return path / "data.npz"


def save_npy(path, arrays):
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    return path


@pytest.mark.parametrize("save", [save_npz, save_npy])
def test_mnist_is_read_from_arrays(tmp_path, save):
    mnist = load_mnist(str(save(tmp_path, MNIST)))
    assert_array_equal(mnist.data, MNIST["images"].reshape(4, 784))
    assert mnist.data.dtype == np.uint8
    assert mnist.target.tolist() == [3, 9, 0, 3]


def idx(array):
    shape = np.array(array.shape, dtype=">i4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


@pytest.mark.parametrize("mark", "-.")
@pytest.mark.parametrize("end, compress", [("", bytes), (".gz", gzip.compress)])
def test_mnist_is_read_from_its_own_files(tmp_path, mark, end, compress):
    for name, array in MNIST.items():
        file = tmp_path / f"train-{name}{mark}idx{array.ndim}-ubyte{end}"
        file.write_bytes(compress(idx(array)))
    mnist = load_mnist(tmp_path)
    assert_array_equal(mnist.data, MNIST["images"].reshape(4, 784))
    assert mnist.data.flags.writeable
    assert mnist.target.tolist() == [3, 9, 0, 3]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"nonsense", "images-idx3-ubyte is not an idx file"),
        (idx(MNIST["labels"]), "not an idx file of bytes in 3 dimensions"),
        (idx(MNIST["images"])[:-9], "damaged: expected 3136 bytes .*, found 3127"),
        (idx(MNIST["images"][:3]), "images 3, labels 4"),
        (idx(MNIST["images"][:, :9]), r"\(n, 28, 28\), found uint8 and \(4, 9, 28\)"),
    ],
)
def test_damage_of_idx_files_is_told(tmp_path, content, message):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(MNIST["labels"]))
    with pytest.raises(ValueError, match=message):
        load_mnist(tmp_path)


def test_damage_of_compressed_idx_files_is_told(tmp_path):
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"nonsense")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(MNIST["labels"]))
    with pytest.raises(ValueError, match="images-idx3-ubyte.gz cannot be read"):
        load_mnist(tmp_path)


def test_mnist_is_fetched_without_a_path(monkeypatch):
    def fetch(name, *, version, as_frame):
        assert (name, version, as_frame) == ("mnist_784", 1, False)
        target = np.array(["3", "9", "0", "3"], dtype=object)
        return SimpleNamespace(data=MNIST["images"].reshape(4, -1) * 1.0, target=target)

    monkeypatch.setattr(_images, "fetch_openml", fetch)
    mnist = load_mnist()
    assert_array_equal(mnist.data, MNIST["images"].reshape(4, 784))
    assert mnist.data.dtype == np.uint8
    assert mnist.target.tolist() == [3, 9, 0, 3]


@pytest.mark.parametrize("save", [save_npz, save_npy])
@pytest.mark.parametrize("load, arrays", LOADERS[1:3])
def test_photographs_are_read_from_arrays(tmp_path, save, load, arrays):
    bunch = load(save(tmp_path, arrays))
    assert bunch.features.dtype == np.float32
    assert_array_equal(bunch.features, arrays["features"])
    assert_array_equal(bunch.hsv, arrays["hsv"])
    assert bunch.target.tolist() == [1, 0, 1, 2]
    assert bunch.target_names == ["airplane", "automobile", "bird"]
    assert "features_net" not in bunch
    if load is load_places:
        assert bunch.diverse_classes.tolist() == [0, 2]


def test_cifar10_may_have_features_of_a_second_network(tmp_path):
    features = np.ones((4, 2), dtype=np.float16)
    cifar10 = load_cifar10(save_npz(tmp_path, {**CIFAR10, "features_net": features}))
    assert_array_equal(cifar10.features_net, features)
    assert cifar10.features_net.dtype == np.float32


def test_cifar10_is_fetched_without_a_path(monkeypatch):
    images = RNG.randint(256, size=(3, 32, 32, 3)).astype(np.uint8)
    pixels = images.transpose(0, 3, 1, 2).reshape(3, -1)

    def fetch(name, *, version, as_frame):
        assert (name, version, as_frame) == ("CIFAR_10", 1, False)
        target = np.array(["9", "0", "1"], dtype=object)
        return SimpleNamespace(data=pixels * 1.0, target=target)

    monkeypatch.setattr(_images, "fetch_openml", fetch)
    cifar10 = load_cifar10()
    assert_array_equal(cifar10.features, pixels)
    assert_array_equal(cifar10.hsv, hsv_histogram(images))
    names = [cifar10.target_names[i] for i in cifar10.target]
    assert names == ["truck", "airplane", "automobile"]


def check_drawings(omniglot):
    images = np.unpackbits(omniglot.images_packed, axis=1, count=105 * 105)
    assert_array_equal(images.reshape(-1, 105, 105), INK)
    assert [stroke.tolist() for stroke in omniglot.strokes] == [
        [[1, 2], [3, 4.5]],
        [[5, 6]],
        [[7, 8], [9, 10]],
    ]
    assert omniglot.alphabet.tolist() == [0, 1, 1]
    assert omniglot.alphabet_names == ["Greek", "Latin"]
    assert omniglot.character.tolist() == [2, 1, 1]
    assert omniglot.target.tolist() == [394, 965, 965]
    assert omniglot.drawer.tolist() == [1, 1, 20]
    assert omniglot.target.dtype == omniglot.alphabet.dtype == np.intp


@pytest.mark.parametrize("save", [save_npz, save_npy])
def test_omniglot_is_read_from_arrays(tmp_path, save):
    omniglot = load_omniglot(save(tmp_path, OMNIGLOT))
    check_drawings(omniglot)
    assert "embedding" not in omniglot
    more = {
        "embedding": np.ones((3, 2)),
        "embedding_norm": np.zeros((3, 2)),
        "stroke_source": np.array([0, 1, 2]),
    }
    omniglot = load_omniglot(save(tmp_path, {**OMNIGLOT, **more}))
    check_drawings(omniglot)
    for name, array in more.items():
        assert_array_equal(omniglot[name], array)


def save_drawings(path):
    image = pytest.importorskip("PIL.Image")
    texts = [
        "START\n1.0,-2.0,0.0\nBREAK\n3.0,-4.5,80.0\nBREAK\n",
        "START\n5.0,-6.0,0.0\nBREAK\n",
        "START\n7.0,-8.0,0.0\n9.0,-10.0,40.0\nBREAK\n",
    ]
    names = [
        "background/Greek/character02/0394_01",
        "evaluation/Latin/character01/0965_01",
        "evaluation/Latin/character01/0965_20",
    ]
    for name, ink, text in zip(names, INK, texts, strict=True):
        (path / f"images_{name}").parent.mkdir(parents=True, exist_ok=True)
        (path / f"strokes_{name}").parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(~ink).save(path / f"images_{name}.png")
        (path / f"strokes_{name}.txt").write_text(text)


def zip_drawings(source, target):
    for folder in source.iterdir():
        with zipfile.ZipFile(target / f"{folder.name}.zip", "w") as archive:
            for file in folder.rglob("*.*"):
                archive.write(file, file.relative_to(source))


def test_omniglot_is_read_from_its_own_files(tmp_path):
    (tmp_path / "folders").mkdir()
    (tmp_path / "zips").mkdir()
    save_drawings(tmp_path / "folders")
    # What some systems leave behind is no drawing.
    (tmp_path / "folders/images_background/Greek/character02/._0394_01.png").touch()
    check_drawings(load_omniglot(tmp_path / "folders"))
    zip_drawings(tmp_path / "folders", tmp_path / "zips")
    check_drawings(load_omniglot(tmp_path / "zips"))
    for part in ("images", "strokes"):
        (tmp_path / f"zips/{part}_evaluation.zip").unlink()
    omniglot = load_omniglot(tmp_path / "zips")
    assert omniglot.alphabet_names == ["Greek"]
    assert omniglot.target.tolist() == [394]


def test_what_is_wrong_with_drawings_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected images_background.zip"):
        load_omniglot(tmp_path)
    save_drawings(tmp_path)
    drawing = "Latin/character01/0965_20"
    image = tmp_path / f"images_evaluation/{drawing}.png"
    strokes = tmp_path / f"strokes_evaluation/{drawing}.txt"

    image.rename(tmp_path / "aside")
    with pytest.raises(FileNotFoundError, match=f"no image of {drawing}"):
        load_omniglot(tmp_path)
    image.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="0965_20.png cannot be read"):
        load_omniglot(tmp_path)
    pytest.importorskip("PIL.Image").fromarray(INK[0, :9]).save(image)
    with pytest.raises(ValueError, match=r"\(105, 105\), found \(9, 105\)"):
        load_omniglot(tmp_path)
    (tmp_path / "aside").replace(image)

    for text in ("START\n", "START\na,b,c\n"):
        strokes.write_text(text)
        with pytest.raises(ValueError, match="0965_20.txt cannot be read"):
            load_omniglot(tmp_path)
    strokes.unlink()
    with pytest.raises(FileNotFoundError, match=f"no strokes of {drawing}: .*zip"):
        load_omniglot(tmp_path)


def test_a_zip_file_of_drawings_may_be_damaged(tmp_path):
    (tmp_path / "images_background.zip").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="images_background.zip cannot be read"):
        load_omniglot(tmp_path)


def test_drawings_need_matplotlib(tmp_path, monkeypatch):
    save_drawings(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="load_omniglot needs matplotlib: pip"):
        load_omniglot(tmp_path)


@pytest.mark.parametrize("load, arrays", LOADERS)
def test_missing_files_and_arrays_are_named(tmp_path, load, arrays):
    first, *others = arrays
    with pytest.raises(FileNotFoundError, match=f"no .*absent.npz: .*{first}, "):
        load(tmp_path / "absent.npz")
    path = save_npz(tmp_path, {name: arrays[name] for name in others})
    with pytest.raises(ValueError, match=f"data.npz lacks {first}: expected an .npz"):
        load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="data.npz is not an .npz file: expected"):
        load(path)


@pytest.mark.parametrize("load, arrays", LOADERS)
def test_damaged_files_are_named(tmp_path, load, arrays):
    path = save_npz(tmp_path, arrays)
    content = bytearray(path.read_bytes())
    content[200] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match="data.npz cannot be read"):
        load(path)


@pytest.mark.parametrize("load, arrays", DIRECTORY_LOADERS)
def test_files_missing_or_damaged_in_a_directory_are_named(tmp_path, load, arrays):
    save_npy(tmp_path, arrays)
    (tmp_path / "labels.npy").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="labels.npy cannot be read"):
        load(tmp_path)
    (tmp_path / "labels.npy").unlink()
    with pytest.raises(FileNotFoundError, match="lacks labels: .*labels.npy"):
        load(tmp_path)


@pytest.mark.parametrize(
    "load, arrays, changes, message",
    [
        (load_mnist, MNIST, {"labels": [1, 2]}, "images 4, labels 2"),
        (load_mnist, MNIST, {"labels": [1.0] * 4}, "integers, found float64"),
        (load_mnist, MNIST, {"labels": [1, 2, 3, 10]}, "between 0 and 9, found 10"),
        (load_mnist, MNIST, {"images": np.ones((4, 28, 28))}, "uint8 .* found float64"),
        (load_mnist, MNIST, {"images": np.ones((4, 784))}, r"3 dim.* \(4, 784\)"),
        (load_cifar10, CIFAR10, {"hsv": np.ones((3, 64))}, "features 4, hsv 3"),
        (load_cifar10, CIFAR10, {"features_net": np.ones((3, 2))}, "features_net 3"),
        (load_cifar10, CIFAR10, {"class_names": ["a"]}, "between 0 and 0, found 1"),
        (load_places, PLACES, {"diverse_classes": [3]}, "diverse_classes must lie"),
        (load_omniglot, OMNIGLOT, {"alphabet": [0, 1, 2]}, "alphabet .*, found 2"),
        (load_omniglot, OMNIGLOT, {"images_packed": INK[:, 0]}, "1379.*, found bool"),
        (load_omniglot, OMNIGLOT, {"drawer": [1, 2]}, "drawer 2"),
        (load_omniglot, OMNIGLOT, {"embedding": np.ones((2, 2))}, "embedding 2"),
        (load_omniglot, OMNIGLOT, {"stroke_offsets": [0, 5]}, "1 drawings, found 3"),
        (load_omniglot, OMNIGLOT, {"stroke_offsets": [0, 3, 2, 5]}, "must increase"),
        (load_omniglot, OMNIGLOT, {"stroke_offsets": [0, 2, 3, 4]}, "the 5 points"),
        (load_omniglot, OMNIGLOT, {"stroke_offsets": [1, 2, 3, 5]}, "from 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, load, arrays, changes, message):
    with pytest.raises(ValueError, match=f"data.npz: .*{message}"):
        load(save_npz(tmp_path, {**arrays, **changes}))

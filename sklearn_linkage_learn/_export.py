"""Estimators as plain JSON: the only place that knows this format.

The text holds what was measured of each instance, and first of all what follows from
it, for other readers. This package computes that again, by the code that `fit` uses.
A text need not be trusted: its names are looked up in the tables below and nowhere
else.
"""

import json
import math
from copy import copy
from functools import partial
from numbers import Integral, Real
from reprlib import repr as short

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import TrainingInstance
from ._errors import blame
from ._interpolated import InterpolatedLinkage
from ._learned import LearnedLinkage
from ._learned_metric import LearnedMetricLinkage, Measured
from ._piecewise import PiecewiseConstant
from ._version import __version__

_FORMAT = "sklearn_linkage_learn"
# What is learned from the same instances is part of the format: another rule needs
# another version.
_FORMAT_VERSION = 1
_CLASSES = {
    cls.__name__: cls
    for cls in (InterpolatedLinkage, LearnedLinkage, LearnedMetricLinkage)
}
# Parameters that belong to a machine and not to what was learned on it.
_OF_A_MACHINE = {"memory", "n_jobs", "verbose"}
# The exponents of all float64, as of frexp.
_UNITS = range(-1073, 1025)
# A short text must not be able to ask for much memory.
_MOST_FEATURES = 1 << 24
_KINDS = {
    int: "an integer",
    str: "a string",
    list: "a list",
    dict: "an object",
    None: "null",
}


def to_json(estimator):
    """Write what an estimator has learned as plain JSON.

    Unlike a pickle, it can be loaded without trusting who wrote it, by all later
    versions of this package, and it can be read by other programs.

    Parameters
    ----------
    estimator : LearnedLinkage, LearnedMetricLinkage or InterpolatedLinkage
        A fitted learner; its parameters must be those that it was fitted with, and
        none of them may be a function. Or a clusterer, of which the parameters are
        kept and not the clusters: ``learner.clusterer_`` is all that it takes to
        cluster new instances, in a few hundred characters.

    Returns
    -------
    text : str
        Of ASCII characters. To keep it, ``Path("learner.json").write_text(text)``.

    See Also
    --------
    from_json : Reads the text.

    Notes
    -----
    The text is one JSON object. First stand ``"format"``, ``"format_version"``,
    ``"package_version"`` and ``"class"``. Of a learner follow

    - ``"alpha"`` or ``"beta"``, ``"alpha_interval"`` or ``"beta_interval"`` and
      ``"mean_loss"``: the learned weight, where the mean loss is least, and that loss;
    - ``"n_clusters"``: how many clusters `predict` makes by default, or null;
    - ``"scales"``: what the metrics are divided by, or null, if metrics are learned.

    Of all estimators ``"params"`` holds the parameters of the constructor, but for
    `n_jobs`, `memory` and `verbose`. A slice of columns is
    ``{"slice": [start, stop, step]}``. Of a learner there are also
    ``"n_features_in"`` and ``"feature_names_in"``, null if there are none, and
    ``"instances"``: the number of classes of each, ``"n_labels"``, its ``"weight"`` if
    that is not 1, and its loss curve in ``"breakpoints"``, ``"values"`` and, if it is
    not exact, ``"lower"``. If metrics
    are normalized, the curve is that of distances divided by 2 to the power of
    ``"units"``, and ``"summary"`` is the mean or largest distance under each metric.

    Numbers are written so that they are read back without any change. A piece of a
    curve takes about 30 characters.

    Examples
    --------
    >>> from sklearn_linkage_learn import LearnedLinkage, to_json
    >>> X = [[0.0], [1.0], [3.0], [6.0], [7.5]]
    >>> learner = LearnedLinkage().fit(X, [0, 0, 0, 1, 1])
    >>> print(to_json(learner))
    {
      "format": "sklearn_linkage_learn",
      "format_version": 1,
      "package_version": "...",
      "class": "LearnedLinkage",
      "alpha": 0.5,
      "alpha_interval": [0.0, 1.0],
      "mean_loss": 0.0,
      "n_clusters": 2,
      "params": {"algorithm": "auto", ..., "metric": "euclidean", "n_clusters": null},
      "n_features_in": 1,
      "feature_names_in": null,
      "instances": [
        {"n_labels": 2, "breakpoints": [0.0, 1.0], "values": [0.0]}
      ]
    }
    """
    name = type(estimator).__name__
    if _CLASSES.get(name) is not type(estimator):
        raise TypeError(
            f"estimator must be one of {', '.join(_CLASSES)}, got {short(estimator)}."
        )
    document = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "package_version": __version__,
        "class": name,
    }
    params = {key: _written(key, getattr(estimator, key)) for key in _params_of(name)}
    if isinstance(estimator, InterpolatedLinkage):
        _check_clusterer(estimator)
        return _laid_out({**document, "params": params})

    check_is_fitted(estimator)
    _check_unchanged(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    document |= {
        **_learned(estimator),
        "params": params,
        "n_features_in": getattr(estimator, "n_features_in_", None),
        "feature_names_in": None if names is None else names.tolist(),
    }
    return _laid_out(document, list(map(_written_instance, estimator._training)))


def from_json(text):
    """Read an estimator from the text that :func:`to_json` wrote.

    A learner is the same as that which was written, to the last bit, and can go on
    learning with `partial_fit`. Nothing of the text is executed.

    Parameters
    ----------
    text : str
        The text itself, not the name of a file: ``Path("learner.json").read_text()``.

    Returns
    -------
    estimator : LearnedLinkage, LearnedMetricLinkage or InterpolatedLinkage
        A fitted learner, or a clusterer that is not fitted. `n_jobs`, `memory` and
        `verbose` have their defaults, and lists among the parameters are tuples.

    Raises
    ------
    ValueError
        If the text is no such text; the message names the field. A text is also
        refused if the weight that it tells is not the one that its curves give, as
        after an edit by hand.

    See Also
    --------
    to_json : Writes the text, and describes it.

    Examples
    --------
    >>> from sklearn_linkage_learn import LearnedLinkage, from_json, to_json
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> X, y = make_rings_and_disks(4, n_per_cluster=20, random_state=0)
    >>> text = to_json(LearnedLinkage().fit(X[:2], y[:2]))
    >>> learner = from_json(text).partial_fit(X[2], y[2])
    >>> learner.n_instances_, learner.predict(X[3]).shape
    (3, (80,))
    """
    try:
        return _read_estimator(_parse(text))
    except RecursionError:
        raise ValueError("text is nested too deeply.") from None


def _params_of(name):
    return sorted(set(_CLASSES[name]._get_param_names()) - _OF_A_MACHINE)


def _learned(learner):
    """What follows from the instances of a learner."""
    parameter = learner._parameter
    n_clusters = None
    if learner.distance_threshold is None:
        n_clusters = learner.n_clusters or learner.n_clusters_
    learned = {
        parameter: learner._best,
        f"{parameter}_interval": list(getattr(learner, f"{parameter}_interval_")),
        "mean_loss": learner.loss_,
        "n_clusters": None if n_clusters is None else int(n_clusters),
    }
    if isinstance(learner, LearnedMetricLinkage):
        scales = learner.scales_
        learned["scales"] = None if scales is None else list(scales)
    return learned


def _check_clusterer(clusterer):
    clusterer._validate_params()
    clusterer._check_families()


def _check_unchanged(learner):
    """Refuse a learner whose parameters no longer lead to what it has learned."""
    family = learner._checked_family().bind(learner)
    learner._check_same_family(family, "to_json cannot write")
    again = copy(learner)._restore(learner._training)
    if _learned(again) != _learned(learner):
        raise ValueError(
            "to_json cannot write a learner whose n_clusters or distance_threshold was "
            "set to None after fit. Use fit to start anew."
        )


def _written(name, value):
    """A parameter as JSON has it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return {"slice": [_written(name, part) for part in parts]}
    if isinstance(value, (tuple, list, range)):
        return [_written(f"{name}[{i}]", item) for i, item in enumerate(value)]
    if callable(value):
        raise ValueError(
            f"{name} is a function, {value!r}, which JSON cannot hold. Pickle the "
            "estimator, or use precomputed distances and a loss that has a name."
        )
    raise ValueError(f"{name} is {value!r}, which JSON cannot hold.")


def _written_instance(instance):
    normalized = {}
    curve = measured = instance.measured
    if isinstance(measured, Measured):
        curve = measured.curve
        if measured.units is not None:
            normalized = {"units": measured.units, "summary": measured.summary}
    return {
        "n_labels": instance.n_labels,
        **({} if instance.weight == 1 else {"weight": instance.weight}),
        **normalized,
        "breakpoints": curve.breakpoints.tolist(),
        "values": curve.values.tolist(),
        **({} if curve.is_exact else {"lower": curve.lower.tolist()}),
    }


def _laid_out(document, instances=()):
    """The text, with one field or one instance in a line."""
    dumps = partial(json.dumps, allow_nan=False)
    fields = {name: dumps(value) for name, value in document.items()}
    if instances:
        lines = ",\n    ".join(map(dumps, instances))
        fields["instances"] = f"[\n    {lines}\n  ]"
    lines = ",\n  ".join(f'"{name}": {field}' for name, field in fields.items())
    return f"{{\n  {lines}\n}}\n"


def _parse(text):
    try:
        document = json.loads(text, parse_constant=_refuse, parse_int=_read_integer)
    except ValueError as error:
        raise ValueError(
            f"text must be JSON, not the name of a file or anything else: {error}"
        ) from error
    if type(document) is not dict or document.get("format") != _FORMAT:
        raise ValueError(
            f"text is not from to_json: its field 'format' must be {_FORMAT!r}."
        )
    version = _field(document, "format_version", int)
    if version > _FORMAT_VERSION:
        raise ValueError(
            f"format_version {version} is newer than {_FORMAT_VERSION}, which this "
            f"version of sklearn-linkage-learn, {__version__}, reads. Upgrade to "
            f"version {short(document.get('package_version'))}, which wrote it."
        )
    if version < 1:
        raise ValueError(f"format_version must be positive, got {version}.")
    return document


def _refuse(constant):
    raise ValueError(f"{constant} is no number.")


def _read_integer(digits):
    # More digits are beyond float64.
    if len(digits) > 308:
        raise ValueError(f"The integer {short(digits)} is too large.")
    return int(digits)


def _read_estimator(document):
    name = _field(document, "class", str)
    if name not in _CLASSES:
        raise ValueError(f"class must be one of {', '.join(_CLASSES)}, got {name!r}.")
    with blame("params"):
        params = _read_params(name, _field(document, "params", dict))
    estimator = _CLASSES[name](**params)
    if isinstance(estimator, InterpolatedLinkage):
        _check_clusterer(estimator)
        return estimator

    _read_features(estimator, document)
    training = []
    for i, instance in enumerate(_field(document, "instances", list)):
        with blame(f"instances[{i}]"):
            training.append(_read_instance(instance, estimator))
    if not any(instance.weight for instance in training):
        raise ValueError("instances must not be empty, nor all of weight 0.")
    estimator._restore(training)
    _check_learned(estimator, document)
    return estimator


def _read_params(name, record):
    names = _params_of(name)
    for key in record:
        if key not in names:
            raise ValueError(f"{name} has no parameter {short(key)}.")
    return {key: _read_param(key, _field(record, key)) for key in names}


def _read_param(name, value):
    """The reverse of :func:`_written`."""
    if isinstance(value, list):
        return tuple(_read_param(f"{name}[{i}]", v) for i, v in enumerate(value))
    if not isinstance(value, dict):
        return value
    parts = value.get("slice")
    if len(value) > 1 or type(parts) is not list or len(parts) != 3:
        raise ValueError(f"{name} must not be an object but {{'slice': [...]}}.")
    _check_kind(f"{name}: start of the slice", parts[0], int, str, None)
    _check_kind(f"{name}: stop of the slice", parts[1], int, str, None)
    _check_kind(f"{name}: step of the slice", parts[2], int, None)
    return slice(*parts)


def _read_features(learner, document):
    n_features = _field(document, "n_features_in", int, None)
    names = _field(document, "feature_names_in", list, None)
    if n_features is not None:
        if not 1 <= n_features <= _MOST_FEATURES:
            raise ValueError(
                f"n_features_in must be from 1 to {_MOST_FEATURES}, got {n_features}."
            )
        learner.n_features_in_ = n_features
    if names is not None:
        if len(names) != n_features or {*map(type, names)} != {str}:
            raise ValueError(
                "feature_names_in must be null or one string for each of the "
                f"{n_features} features, got {short(names)}."
            )
        learner.feature_names_in_ = np.array(names, dtype=object)


def _read_instance(instance, learner):
    _check_kind("An instance", instance, dict)
    return TrainingInstance(
        _read_measured(instance, learner),
        _read_label_count(instance),
        _read_weight(instance),
    )


def _read_measured(instance, learner):
    lower = _numbers(instance, "lower") if "lower" in instance else None
    curve = PiecewiseConstant(
        _numbers(instance, "breakpoints"), _numbers(instance, "values"), lower
    )
    if isinstance(learner, LearnedLinkage):
        return curve
    if learner.normalize is None:
        return Measured(curve, None, None)
    return Measured(
        curve, _read_units(instance), _read_summary(instance, learner.normalize)
    )


def _read_label_count(instance):
    n_labels = _field(instance, "n_labels", int)
    if n_labels < 1:
        raise ValueError(f"n_labels must be positive, got {n_labels}.")
    return n_labels


def _read_weight(instance):
    weight = instance.get("weight", 1)
    if type(weight) not in (int, float) or not 0 <= weight < math.inf:
        raise ValueError(
            f"weight must be a finite number that is not negative, got {short(weight)}."
        )
    return float(weight)


def _read_units(instance):
    units = _field(instance, "units", list)
    if len(units) != 2 or not all(type(e) is int and e in _UNITS for e in units):
        raise ValueError(
            f"units must be two exponents from {_UNITS[0]} to {_UNITS[-1]}, got "
            f"{short(units)}."
        )
    return tuple(units)


def _read_summary(instance, normalize):
    # An instance of one point has no mean distance.
    if normalize == "mean" and _field(instance, "summary") is None:
        return None
    summary = tuple(map(float, _numbers(instance, "summary")))
    if len(summary) != 2 or not all(0 <= x < math.inf for x in summary):
        raise ValueError(
            f"summary must be two finite numbers that are not negative, got "
            f"{short(list(summary))}."
        )
    return summary


def _check_learned(learner, document):
    """Refuse a text that contradicts itself."""
    if (learner._family.n_matrices == 0) != hasattr(learner, "n_features_in_"):
        raise ValueError(
            "n_features_in must be null if, and only if, distances are precomputed."
        )
    for name, value in _learned(learner).items():
        found = _field(document, name)
        if found != value:
            raise ValueError(
                f"{name} is {short(found)}, but the instances give {value}. What was "
                "learned cannot be edited; InterpolatedLinkage clusters at any weight."
            )


def _field(record, name, *kinds):
    """The field of an object, if it is of one of these types; None stands for null."""
    if name not in record:
        raise ValueError(f"The field {name!r} is missing.")
    if kinds:
        _check_kind(name, record[name], *kinds)
    return record[name]


def _check_kind(name, value, *kinds):
    # A bool is an int, but not by its type.
    if (None if value is None else type(value)) not in kinds:
        names = " or ".join(_KINDS[kind] for kind in kinds)
        raise ValueError(f"{name} must be {names}, got {short(value)}.")


def _numbers(record, name):
    numbers = _field(record, name, list)
    if not {*map(type, numbers)} <= {int, float}:
        raise ValueError(f"{name} must be a list of numbers, got {short(numbers)}.")
    return numbers

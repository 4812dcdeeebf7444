"""How Sphinx builds the site: ``sphinx-build -W -b html doc doc/_build/html``."""

import os
import re
import warnings

from sphinx_gallery.sorting import ExplicitOrder

from sklearn_linkage_learn import __version__

project = "sklearn-linkage-learn"
author = "the sklearn_linkage_learn developers"
copyright = author
version = release = __version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "notebooks", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "code"

# Links into the sites of other packages need the network, the build must not.
if os.environ.get("DOC_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "joblib": ("https://joblib.readthedocs.io/en/stable/", None),
        "matplotlib": ("https://matplotlib.org/stable/", None),
        "numpy": ("https://numpy.org/doc/stable/", None),
        "python": ("https://docs.python.org/3/", None),
        "scipy": ("https://docs.scipy.org/doc/scipy/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
    }

autosummary_generate = True
toc_object_entries_show_parents = "hide"
# The page of a class lists its methods by itself, see _templates.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("sklearn_linkage_learn",),
    "reference_url": {"sklearn_linkage_learn": None},
    "within_subsection_order": ExplicitOrder(
        [
            "plot_rings_and_disks.py",
            "plot_digits.py",
            "plot_displays.py",
            "plot_two_feature_blocks.py",
            "plot_entity_records.py",
            "plot_pipelines.py",
            "plot_model_selection.py",
            "plot_online.py",
            "*",
        ]
    ),
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
# The gallery shows figures by itself.
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)

plot_formats = [("png", 150)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_rcparams = {"figure.dpi": 100, "savefig.bbox": "tight"}

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "sklearn-linkage-learn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {
    name: []
    for name in (
        "index",
        "getting_started",
        "when_it_helps",
        "distributed",
        "performance",
        "reproduction",
        "contributing",
        "changelog",
    )
}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}


def quote_fitted_names(app, what, name, obj, options, lines):
    """Keep shapes such as (n_features_in_,) from being read as links."""
    lines[:] = [re.sub(r"\((\w+_),\)", r"(`\1`,)", line) for line in lines]


def setup(app):
    # Before numpydoc makes its sections.
    app.connect("autodoc-process-docstring", quote_fitted_names, priority=1)

"""Sphinx configuration: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Spinney"
author = "the Spinney maintainers"
copyright = "2026, the Spinney maintainers"

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "command_pages"]
exclude_patterns = ["_build", "_ext"]
templates_path = ["_templates"]
smartquotes = False  # quotation marks and options (--model) stay as they are written

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# A package's public names are those of its __all__; a module's, what it defines.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings say what parameters are, signatures would say it again
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "Spinney"
html_static_path = ["_static"]
html_css_files = ["spinney.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Spinney"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 9,
    "show_toc_level": 1,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def _skip(app, what, name, obj, skip, options):
    """Leave out the methods that scikit-learn adds to every estimator by itself."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app):
    app.connect("autodoc-skip-member", _skip)

"""Sphinx configuration: ``make docs``."""

project = "Spinney"
author = "the Spinney maintainers"
copyright = "2026, the Spinney maintainers"

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
autosummary_generate = True
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath", "deflist"]
html_theme = "pydata_sphinx_theme"
html_title = "Spinney"
exclude_patterns = ["_build"]

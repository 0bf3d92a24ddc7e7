# SPDX-License-Identifier: LGPL-2.1-or-later
"""How Sphinx makes the site of the pages that a forge shows, as they are: the checkout is its source folder.

The README is the landing page. Its tables of pages, one below each heading of its last part, become the parts of the
site, the table of headers in docs/library.md becomes the reference of what they declare, and docs/measured.md and
docs/paper.md get the tables that their commands print; all would be written twice otherwise. Notebooks get what their
cells print and draw. A link that leads nowhere is an error (`-W`).
"""
import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys

from sphinx.directives.code import CodeBlock

SOURCE = pathlib.Path(__file__).resolve().parents[2]

project = 'cudaxcorr'
author = copyright = 'the cudaxcorr maintainers'
root_doc = 'README'
include_patterns = ['*.md', 'docs/**.md', 'bench/README.md', 'python/README.md']
exclude_patterns = ['build*', '.*', 'python/subprojects']
# Notebooks are run where MyST-NB is there, which is not among Debian's packages; else their cells are shown, and what
# they draw.
run_notebooks = importlib.util.find_spec('myst_nb') is not None
extensions = ['myst_nb' if run_notebooks else 'myst_parser', 'breathe']
nb_execution_mode = 'force'
nb_execution_raise_on_error = True
myst_heading_anchors = 4
suppress_warnings = ['myst.header']  # Pages may begin below the first level.
breathe_default_project = 'xcorr'
highlight_language = 'none'
html_theme = 'furo'
html_copy_source = False
html_show_copyright = False


def parts_of(readme):
    """The headings of the README's tables of pages, each with the pages that it links."""
    tables = re.split(r'^### (.*)$', readme.split('\n## More\n')[1].split('\n## ')[0], flags=re.MULTILINE)[1:]
    return {heading: re.findall(r'\]\(([^)#]+)\.md\)', table) for heading, table in zip(tables[::2], tables[1::2])}


def complete(_app, page, text):
    if page == 'README':
        text[0] += ''.join(f'\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n' + '\n'.join(pages) + '\n```\n'
                           for heading, pages in parts_of(text[0]).items())
    if page == 'docs/library':
        text[0] += ''.join(f'\n## {header}.hpp\n\n```{{doxygengroup}} {header}\n'
                           ':content-only:\n:members:\n:undoc-members:\n```\n'
                           for header in re.findall(r'\[(\w+)\.hpp\]', text[0]))
    if page.startswith('docs/notebooks/') and run_notebooks:
        text[0] = re.sub(r'^!\[.*?\]\(\.\./images/notebook-.*\)$', '', text[0], flags=re.MULTILINE)
    if page in ('docs/measured', 'docs/paper'):
        text[0] += '\n' + printed_by(text[0])


def printed_by(page):
    """What the command of a page prints."""
    command = shlex.split(re.search(r'^```sh\n(.*?)^```', page, re.MULTILINE | re.DOTALL)[1])
    return subprocess.run([sys.executable, *command], cwd=SOURCE, check=True, capture_output=True, text=True).stdout


def without_folders(_app, _environment, node, content):
    """Links to folders of the checkout, which the site does not have, become plain text."""
    page = SOURCE / node['refdoc']
    return content if (page.parent / node['reftarget']).is_dir() else None


def name_index(app, _failure):
    """Servers and browsers look for the landing page under this name."""
    index = pathlib.Path(app.outdir, 'index.html')
    index.unlink(missing_ok=True)
    index.symlink_to('README.html')


def setup(app):
    if not run_notebooks:
        app.add_directive('code-cell', CodeBlock)
    app.connect('source-read', complete)
    app.connect('missing-reference', without_folders)
    app.connect('build-finished', name_index)

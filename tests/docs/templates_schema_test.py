#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/templates.schema.json takes what the element takes of templates.yaml: templates_schema_test.py SOURCE

Files that are right and files that are wrong, each read by both. Skipped without jsonschema or PyYAML.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f'SKIPPED: {missing} (Debian: python3-jsonschema, python3-yaml)')
    sys.exit(77)

SOURCE = pathlib.Path(sys.argv[1]).resolve()
SCHEMA = json.loads((SOURCE / 'docs/templates.schema.json').read_text(encoding='utf-8'))
IMAGE = SOURCE / 'docs/images/rocket.jpg'
RIGHT = ['# nothing', 'rocket: {}', 'rocket: {label: A}', 'rocket: {threshold: -1}', 'rocket: {threshold: 0.25}',
         'rocket: {region: [0, 0, 1, 1]}', '"rocket": {"label": "<b>"}',
         'rocket:\n  region:\n  - 1\n  - 2\n  - 3\n  - 4\n']
WRONG = ['- rocket', 'rocket', 'rocket: 1', 'rocket: [1]', 'rocket: {labels: A}', 'rocket: {label: ""}',
         'rocket: {label: [A]}', 'rocket: {threshold: 1.01}', 'rocket: {threshold: high}', 'rocket: {threshold: "0.5"}',
         'rocket: {region: [1, 2, 3]}', 'rocket: {region: [1, 2, 3, 4, 5]}', 'rocket: {region: [1, 2, 0, 4]}',
         'rocket: {region: [-1, 2, 3, 4]}', 'rocket: {region: [1, 2, 3, 4.5]}', 'rocket: {region: {x: 1}}']


def sample():
    """That of the page."""
    text = (SOURCE / 'docs/template.md').read_text(encoding='utf-8')
    return re.search(r'^```yaml\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)[1]


def warnings_of(text):
    """What the element says of such a file."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(IMAGE, folder)
        pathlib.Path(folder, 'templates.yaml').write_text(text, encoding='utf-8')
        done = subprocess.run(['gst-launch-1.0', 'filesrc', f'location={IMAGE}', '!', 'decodebin', '!', 'cudaxcorr',
                               'backend=cpu', f'templates-dir={folder}', '!', 'fakesink'], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout
        return [line for line in done.stdout.splitlines() if 'settings of templates' in line]


class Schema(unittest.TestCase):
    def setUp(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.schema = jsonschema.Draft202012Validator(SCHEMA)

    def test_what_is_right(self):
        for text in RIGHT:
            with self.subTest(text):
                self.schema.validate(yaml.safe_load(text))
                self.assertEqual(warnings_of(text), [])

    def test_what_is_wrong(self):
        for text in WRONG:
            with self.subTest(text):
                self.assertFalse(self.schema.is_valid(yaml.safe_load(text)))
                self.assertIn('Cannot read the settings of templates', ''.join(warnings_of(text)))

    def test_the_sample(self):
        self.schema.validate(yaml.safe_load(sample()))
        self.assertNotIn('Cannot read', ''.join(warnings_of(sample())))
        used = {key for rules in yaml.safe_load(sample()).values() for key in rules}
        self.assertEqual(used, set(SCHEMA['additionalProperties']['properties']))


if __name__ == '__main__':
    result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    bad = len(result.failures) + len(result.errors)
    print(f'{result.testsRun - bad} passed, {bad} failed, 0 skipped')
    sys.exit(bad != 0)

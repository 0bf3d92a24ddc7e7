#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/results.schema.json is what xcorrjson writes: schema_test.py SOURCE

Lines of all kinds follow it, it has every field of them, and what is wrong with a line it refuses. Skipped without
jsonschema.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print('SKIPPED: this Python has no jsonschema (Debian: python3-jsonschema)')
    sys.exit(77)

SOURCE = pathlib.Path(sys.argv[1]).resolve()
SCHEMA = json.loads((SOURCE / 'docs/results.schema.json').read_text(encoding='utf-8'))
IMAGE = SOURCE / 'docs/images/rocket.jpg'


def sample(page):
    """The first one in a page."""
    text = (SOURCE / 'docs' / page).read_text(encoding='utf-8')
    return json.loads(re.search(r'^```json\n(.*)\n```$', text, re.MULTILINE)[1])


# A line as it is documented, with every field, and the record of a gap.
SAMPLE, GAP = sample('meta.md'), sample('fleets.md')


def lines(*elements, writer='xcorrjson'):
    pipeline = ' '.join(['filesrc', f'location={IMAGE}', '! decodebin ! imagefreeze num-buffers=3 !', *elements,
                         f'! {writer} ! fakesink'])
    out = subprocess.run(['gst-launch-1.0', '-q', *pipeline.split()], check=True, text=True, capture_output=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def closed(schema):
    """The same without room for other fields."""
    schema = copy.deepcopy(schema)
    schema['additionalProperties'] = schema['$defs']['peak']['additionalProperties'] = False
    schema['$defs']['field']['additionalProperties'] = schema['$defs']['event']['additionalProperties'] = False
    return schema


def changed(place, value):
    """The sample with another value there, or without one if it is None."""
    line = copy.deepcopy(SAMPLE)
    *path, last = place
    at = line
    for step in path:
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return line


class Schema(unittest.TestCase):
    def setUp(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.exact = jsonschema.Draft202012Validator(closed(SCHEMA))

    def test_the_samples(self):
        self.exact.validate(SAMPLE)
        self.exact.validate(GAP)
        self.assertEqual(set(SAMPLE) | {'field', 'gap', 'came', 'left'}, set(SCHEMA['properties']))
        self.assertEqual(set(SAMPLE['peaks'][0]) | {'candidate', 'confidence'},
                         set(SCHEMA['$defs']['peak']['properties']))
        self.assertEqual(set(SAMPLE['events'][0]), set(SCHEMA['$defs']['event']['properties']))

    def test_lines(self):
        find = f'cudaxcorr backend=cpu post-messages=false template={IMAGE}'
        kinds = {'no meta': 'identity', 'no template': 'cudaxcorr backend=cpu',
                 'nothing found': f'videobalance contrast=0 ! {find}',
                 'found': f'{find} camera-id=a', 'method': f'{find} method=sqdiff', 'tracked': f'{find} track=true',
                 'sure': f'{find} min-confidence=0', 'skipped': f'{find} interval=2', 'events': f'{find} events=true',
                 'field': 'cudaxcorrfield backend=cpu windows=<64>'}
        for kind, elements in kinds.items():
            with self.subTest(kind):
                written = lines(elements)
                self.assertEqual(len(written), 3)
                for line in written:
                    self.exact.validate(line)
                    self.assertIn('peaks', line)
                self.assertEqual('analysed' in written[0], kind not in ('no meta', 'no template', 'field'))
                self.assertEqual(bool(written[0]['peaks']), 'analysed' in written[0] and kind != 'nothing found')
                events = [event['event'] for line in written for event in line.get('events', ())]
                self.assertEqual(events, ['appeared'] if kind == 'events' else [])
                self.assertEqual('field' in written[2] and bool(written[2]['field']['dx']), kind == 'field')

    def test_lines_of_changes(self):
        written = lines(f'cudaxcorr backend=cpu post-messages=false template={IMAGE} events=true',
                        writer='xcorrjson changes=true')
        for line in written:
            self.exact.validate(line)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**line, 'peaks': []}, SCHEMA)
        self.assertEqual([(line['came'], line['left']) for line in written], [(['rocket'], []), ([], []), ([], [])])

    def test_what_is_wrong_is_refused(self):
        jsonschema.validate({**SAMPLE, 'comes later': 1}, SCHEMA)
        for place, value in [(['schema'], None), (['schema'], 2), (['timestamp'], -1), (['utc'], '2026-01-31'),
                             (['peaks', 0, 'confidence'], 1.5), (['peaks', 0, 'similarity'], 1.5),
                             (['peaks', 0, 'x'], '3'), (['peaks', 0, 'id'], None),
                             (['peaks', 0, 'corners'], [1.0] * 7), (['peaks', 0, 'state'], 'gone'), (['camera'], ''),
                             (['events', 0, 'event'], 'left'), (['events', 0, 'unanalysed'], None),
                             (['events', 0, 'first-utc'], 'today'), (['backend'], 'gpu'), (['analysed'], None)]:
            with self.subTest(place=place, value=value), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(changed(place, value), SCHEMA)
        for field in 'schema', 'camera', 'gap':
            with self.subTest(field=field), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({name: value for name, value in GAP.items() if name != field}, SCHEMA)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

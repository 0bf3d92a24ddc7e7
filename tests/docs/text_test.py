#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pages say what is so: text_test.py SOURCE

Tables against the elements, the JSON sample against a line of xcorrjson, messages against the sources, links
against the files and headings they lead to.
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PAGES = [SOURCE / 'README.md', SOURCE / 'CONTRIBUTING.md', SOURCE / 'CHANGELOG.md', SOURCE / 'bench/README.md',
         *(SOURCE / 'docs').rglob('*.md')]
ELEMENTS = ('cudaxcorr', 'cudaxcorrfield', 'xcorroverlay', 'xcorrjson', 'xcorrredis')
OF_GSTREAMER = {'name', 'parent', 'qos', 'async-handling', 'message-forward'}

# What begins a statement that makes a message, up to its `;`.
MESSAGE = re.compile(r'\b(?:Status\(|Code::\w+,|GST_\w+_ERROR_\w+,|bad\(|check\(|failed\(|refuse\(|unusable\(|warn\(|'
                     r'reason = )[^;]*;')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
PUNCTUATION = " ':;,()"
NEGLIGIBLE = 8  # characters of a piece of text that says nothing by itself, such as " pixels"


def page(name):
    return (SOURCE / 'docs' / name).read_text(encoding='utf-8')


def section(text, heading):
    return re.split(r'^#+ ', text.split(f'{heading}\n', 1)[1], flags=re.MULTILINE)[0]


def names_in_table(text):
    """Of the first column."""
    rows = re.findall(r'^\| (`[^|]*) \|', text, re.MULTILINE)
    return re.findall(r'`([\w-]+)`', ' '.join(rows))


def run(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def properties_of(element):
    inspected = run('gst-inspect-1.0', element)
    inspected = inspected[inspected.index('Element Properties:'):]
    return set(re.findall(r'^  ([\w-]+) *: ', inspected, re.MULTILINE)) - OF_GSTREAMER


def sources():
    files = [path for folder in ('kernels', 'plugin') for path in (SOURCE / folder).rglob('*')
             if path.suffix in ('.cpp', '.hpp', '.h', '.cu', '.cuh')]
    return [path.read_text(encoding='utf-8') for path in sorted(files)]


def joined(text):
    """With literals that follow each other as one."""
    return re.sub(r'"\s*"', '', text)


def pieces(message):
    """The constant parts of a message in the page."""
    return [part.strip(PUNCTUATION) for part in message.split('…')]


def anchor_of(heading):
    return re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')


def formats_in_table(text):
    """Those of the page, and which of them are in CUDA memory."""
    rows = re.findall(r'^\| ([A-Zx][\w, ]*) \| (yes|not in GStreamer) \|', text, re.MULTILINE)
    return {name: memory == 'yes' for names, memory in rows for name in names.split(', ')}


class Text(unittest.TestCase):
    def test_formats(self):
        """The page, the element and the table from which its caps and the tests' lists are made."""
        documented = formats_in_table(section(page('properties.md'), '## Formats'))
        source = (SOURCE / 'plugin/matching/formats.h').read_text(encoding='utf-8')
        rows = re.findall(r'\{GST_VIDEO_FORMAT_(\w+),\s*\d+,\s*(true|false)\}', source)
        self.assertEqual(documented, {name: memory == 'true' for name, memory in rows})
        for element in ('cudaxcorr', 'cudaxcorrfield'):
            caps = re.findall(r'video/x-raw\n *format: \{([^}]*)\}', run('gst-inspect-1.0', element))
            self.assertEqual(set(documented), set(re.findall(r'\w+', ' '.join(caps))) - {'string'}, element)

    def test_properties(self):
        text = page('properties.md')
        for element in ELEMENTS:
            named = names_in_table(section(text, f'## {element}'))
            self.assertEqual(set(named), properties_of(element), element)
            self.assertEqual(len(named), len(set(named)), element)

    def test_signals(self):
        named = names_in_table(section(page('properties.md'), '## Signals'))
        inspected = run('gst-inspect-1.0', 'cudaxcorr').split('Element Actions:')[1]
        self.assertEqual(set(named), set(re.findall(r'"([\w-]+)" ', inspected)))

    def test_fields(self):
        """The sample is a line of xcorrjson in its fields and their order, and the tables have them all."""
        text = page('meta.md')
        sample = json.loads(re.search(r'^```json\n(.*)\n```$', text, re.MULTILINE)[1])
        line = json.loads(run('gst-launch-1.0', '-q', 'filesrc', f'location={SOURCE}/docs/images/rocket.jpg', '!',
                              'decodebin', '!', 'cudaxcorr', f'template={SOURCE}/docs/images/rocket.jpg',
                              'camera-id=gate-2', 'post-messages=false', 'events=true', 'appear-frames=1', '!',
                              'xcorrjson', '!', 'fakesink'))
        def without_utc(fields):  # which files do not tell
            return [field for field in fields if not field.endswith('utc')]

        self.assertEqual(list(line), without_utc(sample))
        self.assertEqual(list(line['peaks'][0]), list(sample['peaks'][0]))
        self.assertEqual(list(line['events'][0]), without_utc(sample['events'][0]))
        self.assertEqual(names_in_table(section(text, '### Events')), list(sample['events'][0]))
        named = names_in_table(section(text, '## Fields'))
        of_json = {'schema', 'timestamp', 'stream-time', 'running-time', 'duration'}
        of_tracks = 'confidence'
        self.assertEqual(sorted(named), sorted([*(set(sample) - of_json), *line['peaks'][0], of_tracks]))

    def test_messages_in_the_page_are_in_the_sources(self):
        literals = '\n'.join(text for source in sources() for text in LITERAL.findall(joined(source)))
        tables = page('troubleshooting.md').split('## Messages of the elements')[1]
        messages = [message for row in re.findall(r'^\| ([^|]*`[^|]*) \|', tables, re.MULTILINE)
                    for message in re.findall(r'`([^`]*)`', row)]
        self.assertGreater(len(messages), 60)
        unknown = [message for message in messages if any(piece not in literals for piece in pieces(message))]
        self.assertEqual(unknown, [])

    def test_messages_in_the_sources_are_in_the_page(self):
        text = page('troubleshooting.md')
        found = set()
        for source in sources():
            for statement in MESSAGE.findall(joined(source)):
                found.update(literal.strip(PUNCTUATION) for literal in LITERAL.findall(statement))
        found = {piece for piece in found if ' ' in piece and len(piece) > NEGLIGIBLE}
        self.assertGreater(len(found), 50)
        self.assertEqual([piece for piece in sorted(found) if piece not in text], [])

    def test_links(self):
        for path in PAGES:
            text = path.read_text(encoding='utf-8')
            prose = re.sub(r'^```.*?^```$', '', text, flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r'\]\(([^)\s]+)\)', prose):
                if link.startswith('http'):
                    continue
                file, _, anchor = link.partition('#')
                target = path.parent / file if file else path
                self.assertTrue(target.exists(), f'{path}: {link}')
                if anchor:
                    headings = re.findall(r'^#+ (.*)$', target.read_text(encoding='utf-8'), re.MULTILINE)
                    self.assertIn(anchor, map(anchor_of, headings), f'{path}: {link}')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

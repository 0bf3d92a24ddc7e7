#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The meta of cudaxcorrfield in Python, which knows no header: an object of PyGObject's, as docs/meta.md says.

Exits with 77, Meson's code for a skipped test, without PyGObject.
"""
import array
import sys
import tempfile

try:
    import gi
    gi.require_version('Gst', '1.0')
    from gi.repository import Gst
except (ImportError, ValueError) as missing:
    print(f'SKIPPED: {missing}')
    sys.exit(77)

WIDTH, HEIGHT = 160, 120
seen = []


def on_buffer(_, info):
    field = info.get_buffer().get_custom_meta('GstCudaXCorrFieldMeta').get_structure()
    numbers = {name: array.array('f', field.get_value(name).get_data() or b'')
               for name in ('x', 'dx', 'score', 'status')}
    seen.append((field.get_value('state'), field.get_value('rows'), field.get_value('columns'), numbers))
    return Gst.PadProbeReturn.OK


def run(places=None):
    """Fields of three frames."""
    seen.clear()
    pipeline = Gst.parse_launch(f'videotestsrc pattern=zone-plate kx2=20 ky2=16 kt=2 num-buffers=3 ! '
                                f'video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT} ! '
                                'cudaxcorrfield name=field backend=cpu ! fakesink name=end')
    pipeline.get_by_name('field').set_property('places-file', places)
    pipeline.get_by_name('end').get_static_pad('sink').add_probe(Gst.PadProbeType.BUFFER, on_buffer)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    assert message.type == Gst.MessageType.EOS, message.parse_error()
    pipeline.set_state(Gst.State.NULL)


Gst.init(None)
run()
assert [state for state, *_ in seen] == ['reference', 'measured', 'measured'], seen
for state, rows, columns, arrays in seen:
    assert (rows, columns) == ((0, 0) if state == 'reference' else (6, 9)), (rows, columns)
    assert all(len(values) == rows * columns for values in arrays.values())
assert seen[1][3]['x'][1] - seen[1][3]['x'][0] == 16
assert max(seen[2][3]['score']) > 0.5 and set(seen[2][3]['status']) <= {0, 1, 2, 3, 4}

with tempfile.NamedTemporaryFile('w', suffix='.csv') as file:
    file.write('x,y\n90.5,40.5\n30.5,70.5\n')
    file.flush()
    run(file.name)
assert [(rows, columns) for _, rows, columns, _ in seen] == [(0, 0), (1, 2), (1, 2)], seen
assert list(seen[1][3]['x']) == [90.5, 30.5]

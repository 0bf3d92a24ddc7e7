#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Inputs for the fuzz targets to begin with: make_corpus.py FOLDER

Writes FOLDER/TARGET/... and FOLDER/TARGET.dict, always the same.
"""
import base64
import pathlib
import random
import struct
import sys
import zlib

WIDTH, HEIGHT = 13, 9
KERNELS = ('auto', 'tune', 'direct', 'fft', 'fft_single', 'tensor_core')
# What was found: a template at whose rim nothing counts is found across the border of a frame.
RIM_OUTSIDE = base64.b64decode(
    '8g0iCAYMDANeBAX+EQDFDw5cDgYIDwUJ9x0rBAAPFzoHCnYMBwLbwB8MAwrBA7gJKpMWbTgBC1YHCw8DRw8/eAoMCAALBaSiLQmz'
    'CgYODUFZVVYGDAMKAHR+DgYnTOoO+Q4OTQ0LvikU2gICBQOGbQsIAg4L4/Y8BQMOCgkMkwAIAAAAAAAAC7cFDAkCQw24VFYENQaT'
    'qAYKChyRBcuaApsKCwMFTAsAignfbwIHawcE')

# And two targets side by side, whose filters then find both in one corner, one of them half as large.
SAME_CORNER = bytes((0, 1, 1, 0, 19, 0, 3, 0, 0, 0, 0, 0, 5, 0, 0, 1,
                     5, 0, 2, 0, 0, 40, 0, 40, 190, 0, 0, 88, 0, 40, 190, 1,
                     5, 4, 0, 9, 18, 12, 14, 25, 0, 4, 6, 12, 14, 25, 0, 1))


def pixels(channels=1, bits=8):
    """Rows of noise."""
    noise = random.Random(channels * 100 + bits)
    return [noise.randbytes(-(-WIDTH * channels * bits // 8)) for _ in range(HEIGHT)]


# ---- images -------------------------------------------------------------------------------------

def png_chunk(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))


def png(color, bits, channels, extra=b'', width=WIDTH, height=HEIGHT):
    header = struct.pack('>IIBBBBB', width, height, bits, color, 0, 0, 0)
    rows = b''.join(b'\0' + row for row in pixels(channels, bits))
    return (b'\x89PNG\r\n\x1a\n' + png_chunk(b'IHDR', header) + extra + png_chunk(b'IDAT', zlib.compress(rows)) +
            png_chunk(b'IEND', b''))


def bmp(bits, height=HEIGHT):
    row = -(-WIDTH * bits // 32) * 4
    palette = b''.join(bytes([i, i, i, 0]) for i in range(256)) if bits == 8 else b''
    offset = 54 + len(palette)
    data = random.Random(bits).randbytes(row * HEIGHT)
    return (struct.pack('<2sIHHI', b'BM', offset + len(data), 0, 0, offset) +
            struct.pack('<IiiHHIIiiII', 40, WIDTH, height, 1, bits, 0, len(data), 2835, 2835, len(palette) // 4, 0) +
            palette + data)


def pnm(kind):
    if kind in (b'P1', b'P2', b'P3'):
        samples = b' '.join(b'%d' % (i % 2) for i in range(WIDTH * HEIGHT * (3 if kind == b'P3' else 1)))
        head = kind + b'\n# a comment\n%d %d\n' % (WIDTH, HEIGHT)
        return head + (b'' if kind == b'P1' else b'255\n') + samples + b'\n'
    data = b''.join(pixels({b'P4': 1, b'P5': 1, b'P6': 3}[kind], 1 if kind == b'P4' else 8))
    return kind + b'\n%d %d\n' % (WIDTH, HEIGHT) + (b'' if kind == b'P4' else b'255\n') + data


class Bits:
    """Codes joined to bytes."""

    def __init__(self, least_first):
        self.least_first, self.bits = least_first, []

    def add(self, value, count):
        bits = [value >> i & 1 for i in range(count)]
        self.bits += bits if self.least_first else bits[::-1]

    def bytes(self, padding=0):
        self.bits += [padding] * (-len(self.bits) % 8)
        groups = (self.bits[i:i + 8] for i in range(0, len(self.bits), 8))
        return bytes(sum(bit << (i if self.least_first else 7 - i) for i, bit in enumerate(group)) for group in groups)


def gif(frames=1):
    """Without compression: the table of codes is cleared before it grows."""
    codes = Bits(least_first=True)
    for i, value in enumerate(random.Random(1).choices(range(128), k=WIDTH * HEIGHT)):
        if i % 100 == 0:
            codes.add(128, 8)
        codes.add(value, 8)
    codes.add(129, 8)
    data = codes.bytes()
    palette = b''.join(bytes([2 * i] * 3) for i in range(128))
    image = (b'\x21\xf9\x04\0\0\0\0\0' + struct.pack('<BHHHHB', 0x2c, 0, 0, WIDTH, HEIGHT, 0) + b'\x07' +
               bytes([len(data)]) + data + b'\0')
    return b'GIF89a' + struct.pack('<HHBBB', WIDTH, HEIGHT, 0xf6, 0, 0) + palette + image * frames + b';'


def jpeg_segment(marker, data):
    return bytes([0xff, marker]) + struct.pack('>H', len(data) + 2) + data


def jpeg(components=1, thumbnail=False):
    """Blocks of one gray each: twelve codes of four bits for the differences, one for the end of a block."""
    blocks = -(-WIDTH // 8) * -(-HEIGHT // 8)
    codes, noise = Bits(least_first=False), random.Random(2)
    for _ in range(blocks * components):
        category = noise.randrange(5)
        codes.add(category, 4)
        codes.add(noise.getrandbits(category) if category else 0, category)
        codes.add(0, 1)
    scan = codes.bytes(padding=1).replace(b'\xff', b'\xff\0')
    ids = range(1, components + 1)
    head = jpeg_segment(0xe0, b'JFIF\0\1\1\0\0\1\0\1\0\0')
    if thumbnail:
        head += jpeg_segment(0xe1, b'Exif\0\0' + jpeg())
    return (b'\xff\xd8' + head + jpeg_segment(0xdb, b'\0' + bytes([1] * 64)) +
            jpeg_segment(0xc0, struct.pack('>BHHB', 8, HEIGHT, WIDTH, components) +
                         b''.join(bytes([i, 0x11, 0]) for i in ids)) +
            jpeg_segment(0xc4, b'\0' + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) +
            jpeg_segment(0xc4, b'\x10' + bytes([1] + [0] * 15) + b'\0') +
            jpeg_segment(0xda, bytes([components]) + b''.join(bytes([i, 0]) for i in ids) + b'\0\x3f\0') +
            scan + b'\xff\xd9')


def webp():
    """Lossless, of two grays."""
    codes = Bits(least_first=True)
    codes.add(0x2f, 8)
    codes.add(WIDTH - 1, 14)
    codes.add(HEIGHT - 1, 14)
    codes.add(0, 1 + 3)  # no alpha, version
    codes.add(0, 3)  # no transform, no cache of colours, one set of codes
    for symbols in ((40, 200), (0,), (0,), (255,), (0,)):  # green, red, blue, alpha, distance
        codes.add(1, 1)
        codes.add(len(symbols) - 1, 1)
        codes.add(1, 1)
        for symbol in symbols:
            codes.add(symbol, 8)
    for value in random.Random(3).choices((0, 1), k=WIDTH * HEIGHT):
        codes.add(value, 1)
    data = codes.bytes()
    data += b'\0' * (len(data) % 2)
    chunk = b'VP8L' + struct.pack('<I', len(data)) + data
    return b'RIFF' + struct.pack('<I', 4 + len(chunk)) + b'WEBP' + chunk


def images():
    palette = png_chunk(b'PLTE', bytes(range(48)))
    return {
        'gray.png': png(0, 8, 1), 'gray16.png': png(0, 16, 1), 'gray1.png': png(0, 1, 1), 'rgb.png': png(2, 8, 3),
        'rgb16.png': png(2, 16, 3), 'rgba.png': png(6, 8, 4), 'palette.png': png(3, 4, 1, palette),
        'transparent.png': png(3, 4, 1, palette + png_chunk(b'tRNS', bytes(range(0, 256, 16)))),
        'huge.png': png(0, 8, 1, width=16384, height=16384), 'cut.png': png(2, 8, 3)[:-40],
        'rgb.bmp': bmp(24), 'rgbx.bmp': bmp(32), 'palette.bmp': bmp(8), 'downwards.bmp': bmp(24, -HEIGHT),
        'huge.bmp': bmp(24, 1 << 24), 'cut.bmp': bmp(24)[:-30], 'short.bmp': b'BM\0',
        'plain.pbm': pnm(b'P1'), 'plain.pgm': pnm(b'P2'), 'plain.ppm': pnm(b'P3'), 'raw.pbm': pnm(b'P4'),
        'raw.pgm': pnm(b'P5'), 'raw.ppm': pnm(b'P6'), 'still.gif': gif(), 'moving.gif': gif(3),
        'gray.jpg': jpeg(), 'rgb.jpg': jpeg(3), 'thumbnail.jpg': jpeg(thumbnail=True), 'cut.jpg': jpeg()[:-9],
        'lossless.webp': webp(), 'list.m3u8': b'#EXTM3U\n#EXTINF:1,\nnone.ts\n', 'empty': b'',
        'drawing.svg': b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="5" '
                       b'height="5"/></svg>',
    }


# ---- the other targets ------------------------------------------------------------------------

PROPERTIES = {
    'template': ('', 'image', '/', 'none.png'), 'templates': ('<>', '<a.png,b.png>', '<NULL>'),
    'mask': ('none', 'alpha', 'disc', 'weights'), 'mask-inset': ('0', '3', '2147483647'), 'mask-file': ('', 'none.png'),
    'method': ('ccoeff-normed', 'sqdiff', 'ccorr', '5'), 'threshold': ('0.9', '-1', 'nan', '1e300'),
    'max-peaks': ('1', '1024'), 'min-peak-distance': ('0', '3', '2147483647'), 'subpixel': ('none', 'true'),
    'search-region': ('<0,0,20,20>', '<-5,-5,2147483647,2147483647>', '<1,2,3>', '<>', '<2147483647,0,9,9>'),
    'prefilter-sigma': ('0', '0.8', '10', 'nan'), 'track': ('true',), 'search-margin': ('1', '1048576'),
    'redetect-interval': ('1', '2147483647'), 'min-frames-for-lost': ('1',), 'template-update': ('0.5', 'nan'),
    'template-update-score': ('-1', 'inf'), 'interval': ('2', '4294967295'), 'async-depth': ('1', '4', '32'),
    'max-lateness': ('-1', '0', '9223372036854775807'), 'response-template': ('4294967295',),
    'templates-dir': ('', '/', 'none'), 'events': ('true',), 'appear-frames': ('1', '2147483647'),
    'post-messages': ('false',), 'attach-roi-meta': ('false',), 'enable-capture': ('true',),
    'kernel': KERNELS + ('', 'none'), 'backend': ('cpu', 'auto', 'cuda'), 'cuda-device-id': ('-1', '2147483647'),
    'angle-extent': ('360', '5', 'nan'), 'angle-step': ('0.01', '90'), 'scale-min': ('0.1', '10'),
    'scale-max': ('3', '10'),
    'scale-step': ('0', '1'), 'pyramid-levels': ('-1', '0', '8'), 'exhaustive': ('true',), 'polarity': ('either',),
    'overhang': ('0.5', '0.01', 'nan'), 'angle-start': ('-360', '45'), 'max-overlap': ('0', '1'),
    'best-template': ('true',), 'match-on': ('color', 'edges', 'color-edges'), 'edge-contrast': ('0.1', '64'),
    'min-contrast': ('10', '255', 'nan'), 'confirm-threshold': ('10', '255', 'nan'),
    'max-template-pixels': ('1', '11900000'), 'track-detections': ('true',), 'max-targets': ('1', '1024'),
    'tracker': ('template', 'filter'), 'recheck-interval': ('1', '4294967295'), 'forget-after': ('0', '1'),
    'min-confidence': ('0', '0.9', 'nan'), 'track-angle': ('0', '180'), 'track-scale': ('0', '1'),
    'camera-id': ('', '\xc3\x28'),
    'max-work': ('-1', '0', '1e-9', '1', 'nan'), 'max-memory': ('0', '1', '2000000000', '18446744073709551615'),
    'devices': ('0,1', '', '7', '0,0', ',', '-1', '0,99999999999'),
    'overlay.line-width': ('1', '100'), 'overlay.color': ('0xffff0000',),
    'overlay.font-desc': ('Sans 12', '', '9' * 40),
    'overlay.show-label': ('false',), 'overlay.trail-length': ('0', '10000'), 'overlay.hide-lost': ('true',),
    'overlay.field-arrows': ('false',), 'overlay.field-arrow-scale': ('0', '1000'),
    'overlay.field-map': ('magnitude', 'vorticity'), 'overlay.field-map-range': ('0', 'nan'),
    'json.format': ('npz',), 'json.changes': ('true',), 'json.location': ('', '/tmp/none.jsonl', '\xc3\x28'),
    'field.windows': ('<32,16>', '<5,4294967295>', '<0>', '<>'), 'field.spacing': ('1', '4294967295'),
    'field.search-range': ('1', '64', '65'), 'field.subpixel': ('none', 'gauss', 'quadratic', 'least-squares'),
    'field.order': ('0', '1', '2'), 'field.spline-degree': ('3', '5'), 'field.weight-sigma': ('0', '3', '1000', 'nan'),
    'field.min-counted': ('0', '0.5', '1'), 'field.mask-file': ('', 'none.png'), 'field.prefilter-sigma': ('0.6', '10'),
    'field.symmetric': ('true',), 'field.reference': ('previous', 'first', 'file', 'signal'),
    'field.cut-score': ('-1', '1'),
    'field.places-file': ('', 'none.csv'), 'field.later-range': ('0', '64'), 'field.median-limit': ('0', '2', 'nan'),
    'field.median-noise': ('0', '0.1'), 'field.min-score': ('-1', '1'), 'field.smoothing': ('0', '2', 'nan'),
    'field.deformation': ('true',), 'field.reference-file': ('', 'none.png'),
    'field.max-memory': ('0', '1'), 'field.max-work': ('-1', '0', '1e-9'), 'field.min-ratio': ('1', '100', '0.5'),
}


def properties():
    lines = [f'{name}={value}' for name, values in PROPERTIES.items() for value in values]
    files = {str(i): f'{line}\n' + 2 * ('field\n' if line.startswith('field.') else 'frame\n')
             for i, line in enumerate(lines)}
    for i in range(20):
        some = random.Random(i).sample(lines, 8)
        files[f'some{i}'] = '\n'.join([*some[:4], 'frame', *some[4:], 'frame', 'field', 'field', 'restart',
                                       'frame']) + '\n'
    turned = ('angle-extent=360', 'scale-min=0.8', 'scale-max=1.2', 'threshold=0.1')
    for i, changes in enumerate((('confirm-threshold=60', 'mask=disc'), ('mask=weights', 'confirm-threshold=60'),
                                 ('track=true', 'confirm-threshold=60', 'mask=weights', 'overhang=0.2'))):
        files[f'turned{i}'] = ''.join(f'{line}\n' for line in (*turned, *(line + '\nframe' for line in changes)))
    files['refused-at-start'] = 'prefilter-sigma=10\nframe\nrestart\nframe\n'
    return {name: text.encode('latin-1') for name, text in files.items()}


def template_rules():
    """Files of templates.yaml."""
    return {'whole': b'logo: {region: [1600, 40, 280, 120], threshold: 0.9}\nerror-en:\n  label: error\n  # none\n',
            'json': b'{"a": {"label": "<b>", "threshold": -1}, "b": {}}',
            'anchors': b'a: &x {threshold: 1e-1}\nb: *x\n? c\n: {label: !!str 5}\n',
            'two': b'---\na: {label: "\\u00e4\\0"}\n---\na: |\n  text\n...\n',
            'utf-16': '\ufeffa: {label: é}'.encode('utf-16-le'),
            'deep': b'a: ' + b'[' * 60 + b']' * 60,
            'laughs': b'a0: &a0 {label: x}\n' + b''.join(b'a%d: &a%d [*a%d, *a%d]\n' % (i, i, i - 1, i - 1)
                                                         for i in range(1, 20)),
            'empty': b'', 'merged': b'a: &a {threshold: .inf}\nb: {<<: *a, region: [1, 2, 3]}\n',
            'self': b'a: &a [*a]\n', 'twice': b'a: {label: b, label: c}\na: {}\n',
            'long': b'"' + b'k' * 5000 + b'": {label: "' + b'v' * 5000 + b'"}',
            'tagged': b'!!map {a: !!float "0.5", b: !<tag:x> {threshold: 0x1p-1}}\n',
            'directives': b'%YAML 9.9\n---\na: {}\n'}


def places():
    texts = {'plain': '50,40\n60.5,50\n', 'named': 'name,y,x\na,40.5,50.5\n\nb,50.5,60.5\n',
             'quoted': '"","x","y"\r\n"1, ""a""","50","40"\r\n', 'marked': '\ufeffx,y\n1,2\n', 'short': '50,40\n50\n',
             'words': '50,here\n', 'columns': 'column,row\n1,2\n', 'open': '"50,40\n60,50\n', 'blank': ' \n\n',
             'large': '1e38,-1e38\n1e99,0\nnan,inf\n', 'signs': '+1,-1\n', 'commas': ',,,,\n', 'empty': ''}
    return {name: text.encode() for name, text in texts.items()}


def tuned():
    line = 'CPU, 2 threads, cudaxcorr 0.1.0, u8, 64x48 searched for 1 of 16x12\t{}\t0.1 ms a frame\n'
    lines = ['# a comment\n', *(line.format(kernel) for kernel in KERNELS), 'a problem\tdirect\t\n', '\tfft\t\n',
             'half\t']
    return {'whole': ''.join(lines).encode(), 'many': b''.join(b'%d\tfft\tnote\n' % i for i in range(1200)),
            'binary': bytes(range(256)), 'empty': b'', **{f'line{i}': line.encode() for i, line in enumerate(lines)}}


def replies():
    texts = ['+PONG\r\n', '+OK\r\n$15\r\n1700000000000-0\r\n', '-ERR The ID specified in XADD is equal or smaller than '
             'the target stream top item\r\n', '-NOAUTH Authentication required.\r\n', ':1\r\n', '$-1\r\n',
             '*1000000000\r\n', '*4294967296\r\n', '*-7\r\n', 50 * '*1\r\n', '$1073741824\r\n01234', '$-5\r\n',
             ':99999999999999999999\r\n', '$3\r\nabcd\r\n', '+PO', '-ERR a\0b\x1b[31m\xff\r\n', '%2\r\n+a\r\n:1\r\n',
             '_\r\n', '(12345678901234567890\r\n', 'SSH-2.0-OpenSSH\r\n', 200 * '+PONG\r\n', '']
    return {str(i): text.encode('latin-1') for i, text in enumerate(texts)}


def matches():
    """What matcher.cpp reads, byte by byte: templates of every shape and mask, upright, turned and past the border."""
    def image(width, height, seed, fill):
        return bytes((0, width - 1, 0, height - 1, 0, seed, fill))

    def settings(angles, overhang=0, weighted=False, confirmed=0, method=5):
        taken = bytes((method, 1, 150, 0, 2, 0, 0, 2, 0, 0, 0))  # threshold 0.5, 3 peaks, least squares
        if angles:  # that many, from 0 on; all: 0.8 to 1.2 times as large; as many levels as fit
            sizes = (3, 7) if angles == 360 else (5, 5)
            taken += b'\1\1' + struct.pack('<I', 360) + b'\1' + struct.pack('<I', angles)
            taken += bytes((0, 1, sizes[0], 1, sizes[1], 0, 0, 0, 0, 1, 50, 0))
        else:
            taken += b'\0'
        taken += bytes((1, 1, overhang)) if overhang else b'\0'
        taken += bytes((0, 0, weighted))  # any polarity and contrast
        return taken + (bytes((1, 1, confirmed)) if confirmed else b'\0')

    shapes = {'square': (16, 16, 3, 5), 'thin': (24, 5, 3, 5), 'tall': (4, 24, 7, 5), 'checkered': (12, 12, 255, 1),
              'flat': (9, 9, 80, 0)}

    def match(shape, mask, *how, **more):
        return (image(60, 44, 11, 5) + b'\1' + image(*shapes[shape]) + settings(*how, **more) +
                bytes((mask > 0, mask, 7, 4, 0)))

    found = {f'{shape}{mask}{turned}{overhang}': match(shape, mask, 360 * turned, overhang)
             for shape in shapes for mask in range(6) for turned in (0, 1) for overhang in (0, 8)
             if not turned or (mask in (0, 1, 3) and (overhang > 0) == (mask == 3))}  # these take long
    looked_at_again = {f'{shape}{mask}{turned}{weighted}c{confirmed}':
                       match(shape, mask, 20 * turned, weighted=weighted, confirmed=confirmed)
                       for shape in ('square', 'thin', 'checkered') for turned in (0, 1)
                       for mask, weighted, confirmed in ((6, 1, 0), (2, 0, 40), (6, 1, 40), (6, 0, 80))}
    return found | looked_at_again


def noise(count, size):
    """Targets that read numbers take any bytes. Small ones are more likely, since they are choices."""
    files = {}
    for i in range(count):
        source = random.Random(i)
        files[str(i)] = bytes(source.choice((source.randrange(16), source.randrange(256)))
                              for _ in range(source.randrange(size)))
    return files


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def write_words(path, words):
    escaped = (''.join(f'\\x{byte:02x}' for byte in word) for word in words)
    path.write_text(''.join(f'"{word}"\n' for word in escaped), encoding='ascii')


def main():
    folder = pathlib.Path(sys.argv[1])
    write(folder / 'image', images())
    write(folder / 'places', places())
    write(folder / 'template_rules', template_rules())
    write(folder / 'property', properties())
    write(folder / 'matcher', matches())
    write(folder / 'redis_replies', replies())
    write(folder / 'tune_cache', tuned())
    for target, count, size in (('frame', 60, 300), ('json_text', 40, 300), ('matcher', 40, 60), ('overlay', 40, 400),
                                ('tracking', 40, 2000)):
        write(folder / target, noise(count, size))
    write(folder / 'frame', {'rim-outside': RIM_OUTSIDE})
    write(folder / 'tracking', {'same-corner': SAME_CORNER})
    write_words(folder / 'image.dict',
                [b'\x89PNG\r\n\x1a\n', b'IHDR', b'PLTE', b'tRNS', b'IDAT', b'acTL', b'IEND', b'BM',
                 b'GIF89a', b'\x21\xff\x0bNETSCAPE2.0', b'\xff\xd8\xff', b'\xff\xc0', b'\xff\xc2',
                 b'\xff\xda', b'\xff\xd9', b'JFIF\0', b'Exif\0\0', b'RIFF', b'WEBP', b'VP8 ', b'VP8L',
                 b'VP8X', b'P1\n', b'P6\n', b'P7\n', b'#EXTM3U\n'])
    write_words(folder / 'property.dict',
                [*(f'\n{name}='.encode() for name in PROPERTIES), b'\nframe\n', b'\nrestart\n',
                 b'nan', b'inf', b'2147483647', b'4294967295'])


if __name__ == '__main__':
    main()

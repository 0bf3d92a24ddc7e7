#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains the channels of feature maps that are learned, see kernels/stages/tracker/learned_channels.hpp.

    bench/tracking/learn_channels.py crops crops.npz FOLDER...
    bench/tracking/learn_channels.py train crops.npz... --out=channels.npz --validate=polarbear,wakeboard5
    bench/tracking/learn_channels.py write channels.npz kernels/stages/tracker/learned_channels.inc

A FOLDER is a sequence, as for tracks.py. What is learned is judged by what comes after it in the tracker: a filter of
two frames is solved for in closed form, and is to respond in a third one where the target is, by a margin above the
rest of the window, and more than in windows that are too wide or too narrow. `crops` needs GStreamer's Python bindings,
the others PyTorch, and `train` a GPU to be done in minutes.
"""
import argparse
import functools
import math
import pathlib
import sys
import time

import numpy as np

from training_crops import Crops, chosen, cut_out, load, resampled, uniform

try:
    import torch
    import torch.nn.functional as functional

    import torch_tracker as tracker
    from torch_tracker import CELL, GRID, LAYERS, TARGET, WINDOW
except ImportError:
    torch = None  # crops do without

LEAST_CROPS = 4  # of a sequence that is trained with
BATCH, RATE, DECAY, STEEPEST = 64, 3e-3, 1e-4, 5  # STEEPEST: longer gradients of the loss are shortened
KEPT = 0.995  # in a step, of the mean of the parameters over the steps, which is the result
LONGEST_GAP = 120  # frames between a sample and what is searched
NEAR, FAR, DEVIATION = 2.2, 4.5, 0.7  # cells from the target: near it the response is to be above that far from it
GAPS, GAP_TOLERANCE, MOST_PAIRS = (5, 20, 60), 0.4, 1500  # of validation
TEXTURES = 120  # made sequences
TEXTURE_SHARE = 0.2  # of what is trained with
HEIGHT = 0.15  # the response of a target is to be so much above that of another one's window
OFF = 0.5  # sides of the target from where it is
REPORT = 60  # seconds

# ---- what happens to windows --------------------------------------------------------------------------


def some(count, share):
    """To which of so many images something happens."""
    return torch.rand(count, 1, 1, 1) < share


def relit(windows, strength):
    """With another contrast, brightness, cast and saturation, each of some of them."""
    count = len(windows)
    contrast = torch.exp(strength * uniform((count, 1, 1, 1), -0.35, 0.35) * some(count, 0.6))
    added = strength * uniform((count, 1, 1, 1), -35, 35) * some(count, 0.6)
    cast = torch.exp(strength * uniform((count, 3, 1, 1), -0.15, 0.15) * some(count, 0.4))
    mean = windows.mean((1, 2, 3), keepdim=True)
    windows = (windows - mean) * contrast * cast + mean + added
    saturation = 1 + strength * uniform((count, 1, 1, 1), -0.5, 0.4) * some(count, 0.3)
    return torch.lerp(tracker.luma_of(windows).expand_as(windows), windows, saturation).clamp(0, 255)


@functools.cache
def blurs():
    """Motion in four directions, and two widths of focus."""
    kernels, line = torch.zeros(6, 9, 9), torch.arange(1, 8)
    kernels[0, 4, line] = kernels[1, line, 4] = kernels[2, line, line] = kernels[3, line, 8 - line] = 1 / 7
    for kernel, weights in zip(kernels[4:], ([0, 0, 0, 1, 2, 1, 0, 0, 0], [0, 0, 1, 4, 6, 4, 1, 0, 0])):
        kernel[:] = torch.outer(torch.tensor(weights), torch.tensor(weights)) / sum(weights) ** 2
    return kernels


def blurred(windows, share):
    which = some(len(windows), share).flatten().nonzero()[:, 0]
    if not len(which):
        return windows
    kernels = blurs()[torch.randint(len(blurs()), (len(which),))].repeat_interleave(3, 0)[:, None]
    found = functional.conv2d(tracker.bordered(windows[which], 4).flatten(0, 1)[None], kernels, groups=len(kernels))
    return windows.index_copy(0, which, found.view(-1, 3, WINDOW, WINDOW))


def altered_alike(windows):
    """How the images of a target may be, in all of its windows alike: [target][window]."""
    count = len(windows)
    coarse = functional.interpolate(windows.flatten(0, 1), size=WINDOW // 2, mode='bilinear', antialias=True)
    coarse = functional.interpolate(coarse, size=WINDOW, mode='bilinear').view_as(windows)
    windows = torch.where(some(count, 0.2)[..., None], coarse, windows)
    order = torch.where(some(count, 0.15)[:, :, 0, 0], torch.rand(count, 3).argsort(1), torch.arange(3))
    windows = windows.gather(2, order.view(count, 1, 3, 1, 1).expand_as(windows))
    windows = torch.where(some(count, 0.25)[..., None], tracker.luma_of(windows), windows)
    windows = torch.where(some(count, 0.05)[..., None], 255 - windows, windows)
    return 255 * (windows / 255).clamp(min=1e-3) ** torch.exp(uniform((count, 1, 1, 1, 1), -0.4, 0.4))


def partly_hidden(windows, at):
    """Something of one colour before a part of some targets, which are at these pixels."""
    count = len(windows)
    away = (torch.arange(WINDOW) - (at + uniform((count, 2), -25, 25))[..., None]).abs()
    across, down = (away < uniform((count, 2, 1), 8, 22)).unbind(1)
    hidden = (down[:, :, None] & across[:, None])[:, None] & some(count, 0.15)
    color = torch.where(some(count, 0.5), windows.mean((2, 3), keepdim=True), 255 * torch.rand(count, 3, 1, 1))
    return torch.where(hidden, color, windows)


def resized(windows, at, scale):
    """Windows `scale` times as wide, with the targets where they were, but for a part of a cell."""
    x, y = (at / (GRID / 2) * (1 - scale)[:, None] + uniform((len(at), 2), -0.006, 0.006)).T
    none = torch.zeros(len(at))
    return resampled(windows, torch.stack([scale, none, x, none, scale, y], 1).view(-1, 2, 3))


# ---- what is learned from -----------------------------------------------------------------------------


def draw(crops, members, rng):
    """Crops of a sequence: one to search, and two samples, the first one near to the second in time."""
    frames, searched = crops.frames[members], rng.integers(len(members))
    away = np.abs(frames - frames[searched])
    longest = max(math.exp(rng.uniform(0, math.log(LONGEST_GAP))), np.sort(away)[1])
    within = (away > 0) & (away <= longest)
    far = within & (away >= longest / 3)
    first = rng.choice(np.flatnonzero(far if far.any() else within))
    others = np.flatnonzero(np.abs(frames - frames[first]) <= LONGEST_GAP / 2)
    return members[[searched, first, rng.choice(others[others != searched])]]


def turned(angle):
    """Matrices."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    return torch.stack([cos, -sin, sin, cos], 1).view(-1, 2, 2)


def alike_turned():
    """Matrices: half of all targets are mirrored, and a third is turned by one to three right angles."""
    quarters = torch.randint(1, 4, (BATCH,)) * some(BATCH, 1 / 3).flatten()
    mirrored = torch.eye(2).repeat(BATCH, 1, 1)
    mirrored[:, 0, 0] = 1 - 2 * some(BATCH, 0.5).flatten().float()
    return mirrored @ turned(quarters * math.pi / 2).round()


def make_batch(crops, names, rng):
    """(windows: to search, two samples, and three times the first one again, with the target in its right size, larger
    and smaller; the weights of samples; where targets are in the first one, and their sizes, in cells). `names`: those
    of sequences, and how probable each is."""
    drawn = [crops.members[name] for name in rng.choice(list(names), BATCH, p=list(names.values()))]
    searched, *samples = torch.as_tensor(np.array([draw(crops, members, rng) for members in drawn]).T)
    scale = torch.exp(uniform(BATCH, -0.05, 0.05) * (1 + 2 * some(BATCH, 0.2).flatten()))
    zoom = torch.exp(uniform(BATCH, -0.15, 0.15) * some(BATCH, 0.3).flatten())  # of all windows of a target
    shift = uniform((BATCH, 2), -1, 1) * torch.where(some(BATCH, 0.8), 40, 12)[:, :, 0, 0]
    angle = uniform(BATCH, -0.2, 0.2) * some(BATCH, 0.25).flatten()
    whole = alike_turned()
    turn = turned(angle) @ whole
    windows = [crops.windows(searched, shift, turn * (scale * zoom)[:, None, None])]
    windows += [crops.windows(sample, 1.2 * torch.randn(BATCH, 2),
                              whole * (torch.exp(0.025 * torch.randn(BATCH)) * zoom)[:, None, None])
                for sample in samples]
    at = -(turn.mT @ shift[:, :, None])[:, :, 0] / (scale * zoom * CELL)[:, None]
    sizes = (whole.mT.abs() @ crops.boxes[samples[0], 2:, None])[:, :, 0] / CELL / zoom[:, None]
    first, *others = altered_alike(torch.stack(windows, 1)).unbind(1)
    first = partly_hidden(blurred(relit(first, 1), 0.25), WINDOW / 2 + CELL * at)
    windows = [first, *(blurred(relit(other, 0.3), 0.08) for other in others)]
    windows = [(window + 2.5 * torch.randn_like(window)).clamp(0, 255) for window in windows]
    wrong = uniform(BATCH, 0.03, 0.14)
    windows += [resized(windows[0], at, torch.exp(size * wrong) / scale) for size in (0, 1, -1)]
    weight = uniform(BATCH, 0.2, 0.8)
    return windows, torch.stack([weight, 1 - weight]), at, sizes


def share_off(whole, part, at):
    """How many of the places that the tracker would find are not those of the targets."""
    return ((tracker.places(whole, part) - at).norm(dim=1) > OFF * TARGET).float().mean().item()


def among(values, cells):
    """The values of all cells in a row, those of others so low that they do not count."""
    return values.masked_fill(~cells, -1e4).flatten(1)


def margin(response, near, far, wanted):
    """The loss of responses, in units of their deviation far from the target: the highest one near it is to be above
    all of these, and where it is wanted."""
    count = far.sum((1, 2), keepdim=True)
    response = response - (response * far).sum((1, 2), keepdim=True) / count
    response = response / ((response.square() * far).sum((1, 2), keepdim=True) / count + 1e-10).sqrt()
    above = among(response, near).logsumexp(1) - among(3 * response, far).logsumexp(1) / 3
    place = -(wanted.flatten(1) * among(0.6 * response, near).log_softmax(1)).sum(1)
    return (functional.softplus((2 - above) / 1.5) + 0.06 * place).mean() - 0.01 * above.clamp(max=12).mean()


def loss_of(batch, parameters, scale_weight, height_weight):
    """(the loss, what share of places is off)."""
    windows, weights, at, sizes = batch
    searched, *others = tracker.spectra(tracker.feature_maps(torch.cat(windows), parameters)).split(len(at))
    filters, on_target = tracker.trained(others[:2], weights, sizes)
    whole, part = tracker.responses(filters, searched), tracker.responses(on_target, searched)
    x, y = tracker.centred(torch.arange(GRID) - at[..., None]).square().unbind(1)
    away = y[:, :, None] + x[:, None]  # squared
    near, far = away <= NEAR ** 2, away > FAR ** 2
    wanted = torch.exp(-away / (2 * DEVIATION ** 2)) * near
    wanted = wanted / wanted.sum((1, 2), keepdim=True)
    heights = torch.stack([among(tracker.responses(on_target, other), near).amax(1) for other in others[2:]], 1)
    heights = (40 * heights / (heights[:, :1].detach().abs() + 0.05)).clamp(-200, 200)
    right = torch.zeros(len(at), dtype=torch.long)  # the first of the three sizes
    scale = functional.cross_entropy(heights, right, label_smoothing=0.05)
    absent = tracker.responses(on_target, searched.roll(1, 0)).flatten(1).amax(1)
    height = functional.softplus((HEIGHT + absent - among(part, near).amax(1)) / 0.1).mean()
    loss = margin(whole, near, far, wanted) + margin(part, near, far, wanted)
    loss = loss + scale_weight * scale + height_weight * height
    return loss, share_off(whole, part, at)


class Validation:
    """Frames to search, with the target aside, and for the filter of each up to three some time before it."""

    def __init__(self, crops, names):
        self.crops, rng, pairs = crops, np.random.default_rng(7), []
        for members in (crops.members[name] for name in names):
            frames = crops.frames[members]
            for last, gap in ((last, gap) for last in range(1, len(members)) for gap in GAPS):
                fit = np.flatnonzero(np.abs(frames[last] - frames[:last] - gap) <= GAP_TOLERANCE * gap)
                if len(fit):
                    before = fit[-1] - np.array([0, 1, 3])
                    pairs.append((members[[last, *before.clip(0)]], (before >= 0) / (before >= 0).sum(),
                                  (*rng.uniform(-40, 40, 2), rng.uniform(0.95, 1.05))))
        if not pairs:
            raise ValueError(f'--validate: {", ".join(names)}: no frames are {GAPS[0]} to {GAPS[-1]} apart')
        kept = np.random.default_rng(5).permutation(len(pairs))[:MOST_PAIRS]
        self.pairs = [torch.as_tensor(np.array(part)[kept]) for part in zip(*pairs)]

    def percent_off(self, parameters=None):
        off = 0
        with torch.no_grad():
            for drawn, weights, looks in zip(*(part.split(BATCH) for part in self.pairs)):
                shift, scale = looks.float()[:, :2], looks.float()[:, 2]
                same = torch.eye(2).repeat(len(looks), 1, 1)
                windows = [self.crops.windows(drawn[:, 0], shift, same * scale[:, None, None])]
                windows += [self.crops.windows(sample, 0, same) for sample in drawn[:, 1:].T]
                searched, *samples = (tracker.spectra(tracker.feature_maps(window, parameters)) for window in windows)
                filters = tracker.trained(samples, weights.T.float(), self.crops.boxes[drawn[:, 1], 2:] / CELL)
                found = (tracker.responses(part, searched) for part in filters)
                off += len(looks) * share_off(*found, -shift / CELL / scale[:, None])
        return 100 * off / len(self.pairs[0])


# ---- the commands -------------------------------------------------------------------------------------


def make_crops(options):
    import sequences  # pylint: disable=import-outside-toplevel  # GStreamer need not be where training is
    rng, rows = np.random.default_rng(1), []
    for folder in options.folders:
        try:
            sequence = sequences.read(folder, options.truth)
        except sequences.Unusable as why:
            raise ValueError(why) from None
        frames = chosen(sequence, rng)
        rows += [(sequence.name, frame, *cut_out(sequence.frames[frame], sequence.truth[frame])) for frame in frames]
        print(f'{sequence.name}: {len(frames)} crops', flush=True)
    if not rows:
        raise ValueError('no sequence shows its target')
    name, frame, jpegs, box = zip(*rows)
    np.savez(options.crops, name=np.array(name), frame=np.array(frame), box=np.array(box, np.float32),
             length=np.array([len(jpeg) for jpeg in jpegs]), jpegs=np.frombuffer(b''.join(jpegs), np.uint8))


def read_parameters(path):
    shapes = tracker.shapes()
    found = load(path, shapes)
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise ValueError(f'{path}: {name} has the shape {found[name].shape} instead of {shape}')
    return found


def shares(weights, whole):
    """{name: how probable it is} by weights, together `whole`."""
    return {name: weight * whole / sum(weights.values()) for name, weight in weights.items()}


def train(options):
    torch.set_default_device('cuda' if torch.cuda.is_available() else 'cpu')
    torch.manual_seed(options.seed)
    rng, crops = np.random.default_rng(options.seed), Crops(options.crops)
    if unknown := set(options.validate) - set(crops.members):
        raise ValueError(f'--validate: there are no crops of {", ".join(sorted(unknown))}')
    names = [name for name, members in crops.members.items()
             if name not in options.validate and len(members) >= LEAST_CROPS]
    if not names:
        raise ValueError(f'no sequence to train with has {LEAST_CROPS} crops')
    names = shares({name: math.sqrt(len(crops.members[name])) for name in names}, 1 - options.textures)
    for prefix in ('texture-', 'other-texture-'):  # the second ones are not trained with
        crops.add_textures(prefix, TEXTURES)
    names |= shares({name: 1 for name in crops.members if name.startswith('texture-')}, options.textures)
    if options.start:
        parameters = {name: torch.as_tensor(value) for name, value in read_parameters(options.start).items()}
    else:
        parameters = tracker.first_parameters()
    mean = {name: value.clone() for name, value in parameters.items()}
    optimizer = torch.optim.AdamW([value.requires_grad_() for value in parameters.values()], RATE, weight_decay=DECAY)
    validations = {'textures': Validation(crops, [name for name in crops.members if name.startswith('other-')])}
    if options.validate:
        validations['validation'] = Validation(crops, options.validate)
    for name, validation in validations.items():
        print(f'{name}, by hand: {validation.percent_off():.2f} % off', flush=True)
    begun, step, reports, recent = time.monotonic(), 0, 0, []
    while True:
        done = min(1, (time.monotonic() - begun) / options.seconds)
        if done == 1 or done * options.seconds >= reports * REPORT:
            words = [f'{step} steps']
            if recent:
                loss, off = np.mean(recent, axis=0)
                words.append(f'loss {loss:.3f}, {100 * off:.2f} % off in training')
            words += [f'{validation.percent_off(mean):.2f} % off in {name}' for name, validation in validations.items()]
            print(*words, sep=', ', flush=True)
            np.savez(options.out, **{name: value.cpu().numpy() for name, value in mean.items()})
            reports, recent = reports + 1, []
        if done == 1:
            break
        loss, off = loss_of(make_batch(crops, names, rng), parameters, options.scale_weight, options.height_weight)
        recent.append((loss.item(), off))
        optimizer.param_groups[0]['lr'] = (RATE * min(1, (step + 1) / 100) *
                                           (0.02 + 0.49 * (1 + math.cos(math.pi * done))))
        optimizer.zero_grad()
        loss.backward()
        if torch.nn.utils.clip_grad_norm_(parameters.values(), STEEPEST).isfinite():
            optimizer.step()
        for name, value in parameters.items():
            mean[name].lerp_(value.detach(), 1 - min(KEPT, (step + 1) / (step + 10)))
        step += 1


def literal(value):
    text = f'{value:.5g}'
    return (text if '.' in text or 'e' in text else f'{text}.').replace('e-0', 'e-') + 'f,'


def write(options):
    parameters, values = read_parameters(options.channels), []
    for layer in range(len(LAYERS)):
        weights, added = (parameters[name] for name in tracker.layer_keys(layer))
        values += [weights.transpose(2, 3, 1, 0), added]  # by row, column, channel in and channel out
    values += [np.exp(parameters['g']), np.exp(parameters['q'])]
    lines = ['']
    for word in map(literal, np.concatenate([value.ravel() for value in values])):
        if len(lines[-1]) + 1 + len(word) > 100:
            lines.append('')
        lines[-1] = f'{lines[-1]} {word}'.lstrip()
    head = '// Made by bench/tracking/learn_channels.py: see learned_channels.hpp.'
    pathlib.Path(options.output).write_text('\n'.join([head, *lines, '']), encoding='utf-8')


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')

    def command(name, run, text):
        added = commands.add_parser(name, help=text)
        added.set_defaults(run=run)
        return added.add_argument

    add = command('crops', make_crops, 'cut targets with their surroundings out of sequences')
    add('crops', metavar='OUT.npz')
    add('folders', nargs='+', metavar='FOLDER', help='a sequence')
    add('--truth', choices=('xywh', 'corners'), help='what the numbers of four are; default: told from them')
    add = command('train', train, 'learn parameters from crops')
    add('crops', nargs='+', metavar='CROPS.npz')
    add('--out', required=True, metavar='FILE', help='the parameters')
    add('--seconds', type=float, default=250, metavar='S', help='default 250, for a GPU')
    add('--start', metavar='FILE', help='parameters to begin with; default: random ones')
    add('--scale-weight', type=float, default=0.5, metavar='TIMES',
        help='how much it counts that the right size responds most; default 0.5')
    add('--height-weight', type=float, default=1, metavar='TIMES',
        help='how much it counts that a target responds more than what is none; default 1')
    add('--textures', type=float, default=TEXTURE_SHARE, metavar='SHARE',
        help=f'of what is trained with, made: textures that move; default {TEXTURE_SHARE}')
    add('--seed', type=int, default=1, metavar='N', help='of all that is random; default 1')
    add('--validate', type=lambda text: text.split(','), default=[], metavar='NAME,NAME...',
        help='sequences that are not trained with, but judged by')
    add = command('write', write, 'the parameters as the kernels include them')
    add('channels', metavar='CHANNELS.npz')
    add('output', metavar='OUT.inc')
    return parser.parse_args()


def main():
    options = parse()
    try:
        if not torch and options.run is not make_crops:
            raise ValueError('PyTorch is not here')
        options.run(options)
    except (ImportError, OSError, ValueError) as why:
        print(f'learn_channels: {why}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())

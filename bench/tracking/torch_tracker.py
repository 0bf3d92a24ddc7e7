# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tracker's feature maps and filters in PyTorch, so that gradients go through them.

What they are is in feature_maps.hpp, learned_channels.hpp, filter_update.hpp and filter_response.hpp of
kernels/stages/tracker/. Windows are of red, green and blue, 0 to 255: [window][colour][y][x]. Parameters are those of
layers and, besides, the logarithms of gains: g of the directions of gradients, q of all that is learned.
"""
import math

import torch
import torch.nn.functional as functional

GRID, CELL, WINDOW, CELLS = 40, 4, 160, 1600
ORIENTATIONS, DIRECTIONS, LONGEST_GRADIENT, LEAST_ENERGY = 9, 18, 0.2, 0.1
LAYERS = ((3, 16, 5, 2), (16, 24, 3, 2), (24, 14, 3, 1))  # channels in and out, size, stride
MIDDLE_LUMA, UNIT_OF_LUMA, UNIT_OF_CHROMA = 128, 64, 32
LEAST_SQUARE, SQUARE_REACH = 0.05, 2
FIRST_PULL, SECOND_PULL, RESPONSE_WIDTH, MOST_ELSEWHERE = 1, 10, 1 / 16, 2
TARGET = 10  # cells: the square root of a target's area in its window

# ---- feature maps -------------------------------------------------------------------------------------


def luma_of(windows):
    return (windows * torch.tensor([77, 150, 29]).view(3, 1, 1)).sum(-3, keepdim=True) / 256


def bordered(values, by):
    return functional.pad(values, (by,) * 4, mode='replicate')


def gradient_channels(luma):
    around = bordered(luma, 1)
    across, down = around[..., 1:-1, 2:] - around[..., 1:-1, :-2], around[..., 2:, 1:-1] - around[..., :-2, 1:-1]
    angles = (torch.arange(ORIENTATIONS) * math.pi / ORIENTATIONS).view(1, -1, 1, 1)
    along = across * torch.cos(angles) + down * torch.sin(angles)
    nearest = along.abs().argmax(1, keepdim=True)
    direction = nearest + ORIENTATIONS * (along.gather(1, nearest) <= 0)
    length = (across.square() + down.square()).sqrt()
    histograms = torch.zeros(len(luma), DIRECTIONS, WINDOW, WINDOW).scatter_(1, direction, length)
    shares = torch.tensor([1, 3, 5, 7, 7, 5, 3, 1]) / 8  # of a pixel in the two nearest cells, in a direction
    shares = torch.outer(shares, shares).expand(DIRECTIONS, 1, -1, -1)
    histograms = functional.conv2d(histograms, shares, stride=CELL, padding=CELL // 2, groups=DIRECTIONS)
    energies = (histograms[:, :ORIENTATIONS] + histograms[:, ORIENTATIONS:]).square().sum(1, keepdim=True)
    scales = (4 * functional.avg_pool2d(bordered(energies, 1), 2, 1) + LEAST_ENERGY).rsqrt()
    return sum((histograms * scales[..., y:y + GRID, x:x + GRID]).clamp(max=LONGEST_GRADIENT)
               for y, x in ((0, 0), (0, 1), (1, 0), (1, 1))) / 2


def color_channels(colors):
    """Those that learned ones are compared with: eight hues and, of what is gray, six levels of luma."""
    luma, blue, red = (sum(colors[..., y::CELL, x::CELL] for y in (1, 3) for x in (1, 3)) / 4).split(1, 1)
    diagonal, length = math.sqrt(0.5), torch.hypot(blue, red).clamp(min=40)
    purity = torch.hypot(blue, red) / length
    along = torch.cat([blue, (blue + red) * diagonal, red, (red - blue) * diagonal], 1)
    hues = 0.7 / (1 - diagonal) * (torch.cat([along, -along], 1) / length - diagonal * purity).clamp(min=0)
    level = (luma * 6 / 256 - 0.5).clamp(0, 5) - torch.arange(6).view(1, -1, 1, 1)
    return torch.cat([hues, (1 - purity) / 2 * (1 - level.abs()).clamp(min=0)], 1)


def layer_keys(layer):
    return f'img.c.{layer}.weight', f'img.c.{layer}.bias'


def shapes():
    """{name: its shape} of parameters."""
    found = {}
    for layer, (before, after, size, _) in enumerate(LAYERS):
        found |= dict(zip(layer_keys(layer), ((after, before, size, size), (after,))))
    return found | {'g': (DIRECTIONS,), 'q': ()}


def first_parameters():
    """Random ones."""
    found = {'g': torch.full((DIRECTIONS,), math.log(0.7)), 'q': torch.tensor(math.log(0.3))}
    for layer, (before, _, size, _) in enumerate(LAYERS):
        reach = 1 / math.sqrt(before * size ** 2)
        found |= {name: torch.empty(shapes()[name]).uniform_(-reach, reach) for name in layer_keys(layer)}
    weights = found[layer_keys(0)[0]]
    edges = len(weights) * 3 // 4  # so many channels begin with sums that are 0 where all is alike
    weights[:edges] -= weights[:edges].mean((2, 3), keepdim=True)
    weights *= 2
    return found


def learned_channels(colors, parameters):
    # The tracker reads chroma once for 2 x 2 pixels.
    chroma = colors[:, 1:, 1::2, 1::2].repeat_interleave(2, 2).repeat_interleave(2, 3)
    values = torch.cat([(colors[:, :1] - MIDDLE_LUMA) / UNIT_OF_LUMA, chroma / UNIT_OF_CHROMA], 1)
    for layer, (_, _, size, stride) in enumerate(LAYERS):
        weights, added = (parameters[name] for name in layer_keys(layer))
        values = functional.conv2d(values, weights, added, stride, (size - 1) // 2)
        if layer + 1 < len(LAYERS):
            values = values.relu()
        if layer == 0:
            squares = values.square().mean(1, keepdim=True)
            squares = functional.avg_pool2d(squares, 2 * SQUARE_REACH + 1, 1, SQUARE_REACH)
            values = values * (squares + LEAST_SQUARE).rsqrt()
    return values * (values.square().sum(1, keepdim=True) + LEAST_SQUARE).rsqrt()


def feature_maps(windows, parameters=None):
    """Without parameters those that are made by hand."""
    luma = luma_of(windows)
    colors = torch.cat([luma, (windows[:, 2:] - luma) * 9 / 16, (windows[:, :1] - luma) * 23 / 32], 1)
    if parameters is None:
        return torch.cat([gradient_channels(luma), color_channels(colors)], 1)
    return torch.cat([gradient_channels(luma) * parameters['g'].exp().view(1, -1, 1, 1),
                      learned_channels(colors, parameters) * parameters['q'].exp()], 1)


# ---- filters ------------------------------------------------------------------------------------------


def spectra(maps):
    fade = 0.5 - 0.5 * torch.cos(2 * math.pi * torch.arange(1, GRID + 1) / (GRID + 1))
    maps = maps * torch.outer(fade, fade)
    energy = maps.square().sum((1, 2, 3), keepdim=True)
    return torch.fft.rfft2(maps * (maps.shape[1] * CELLS / (energy + 1e-4)).sqrt())


def inner(left, right):
    return (left.conj() * right).sum(1, keepdim=True)


def inverse(samples, weights, pull):
    """Of the matrix of a filter's equation: a function that applies it to the right side. Each sample adds a matrix of
    rank one, so the inverse is found sample by sample (Sherman and Morrison)."""
    applied, shares = [], []

    def solve(right):
        result = right / pull
        for vector, share in zip(applied, shares):
            result = result - vector * (inner(vector, right) * share)
        return result

    for sample, weight in zip(samples, weights):
        vector = solve(sample)
        shares.append(1 / (CELLS / weight + inner(sample, vector).real))
        applied.append(vector)
    return solve


def trained(samples, weights, sizes):
    """(filters, what of them lies on targets of `sizes`, in cells). `samples`: of all filters the spectra of the first
    sample, then those of the second one and so on; `weights`: [sample][filter], of which some may be 0."""
    weights = weights.view(len(samples), -1, 1, 1, 1)
    away = torch.arange(GRID).minimum(GRID - torch.arange(GRID))
    wanted = torch.exp(-away.square() / (2 * (TARGET * RESPONSE_WIDTH) ** 2))
    wanted = torch.fft.rfft2(torch.outer(wanted, wanted)).real
    from_middle = (torch.arange(GRID) - (GRID - 1) / 2).abs()
    across, down = (from_middle <= sizes.clamp(min=1)[..., None] / 2 + 0.01).unbind(1)
    target = (down[:, :, None] & across[:, None])[:, None]

    def on_target(filters):
        return torch.fft.rfft2(torch.fft.irfft2(filters, s=(GRID, GRID)) * target)

    right = sum(sample * weight for sample, weight in zip(samples, weights)) * wanted / CELLS
    first = inverse(samples, weights, FIRST_PULL)(right)
    part = on_target(first)
    second = inverse(samples, weights, SECOND_PULL)(right + SECOND_PULL * part - FIRST_PULL * (first - part))
    return second, on_target(second)


def responses(filters, searched):
    return torch.fft.irfft2(inner(filters, searched)[:, 0], s=(GRID, GRID))


def centred(cells):
    """From the middle of a window, whose edges meet."""
    return (cells + GRID / 2) % GRID - GRID / 2


def places(whole, part):
    """Where the tracker would find targets by the responses of whole filters and of what of these lies on targets: in
    cells from the middle."""
    best, best_part = whole.flatten(1).argmax(1), part.flatten(1).argmax(1)
    beside = functional.max_pool2d(functional.pad(part[:, None], (1,) * 4, mode='circular'), 3, 1).flatten(1)
    alone = part.flatten(1).amax(1) > MOST_ELSEWHERE * beside.gather(1, best[:, None])[:, 0]
    best = torch.where(alone, best_part, best)
    return centred(torch.stack([best % GRID, best // GRID], 1))

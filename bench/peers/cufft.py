# SPDX-License-Identifier: LGPL-2.1-or-later
"""cuFFT alone: pad, forward, multiply, inverse, with plans and memory made beforehand, in the fastest of several
sizes of transform. The least that a match by FFT can take: it gives products only, not scores."""
import ctypes
import dataclasses
import functools
import itertools

from . import Peer, cuda_torch, timing
from .library import load, require

R2C, C2R = 0x2a, 0x2c


class Plan:
    """A transform of `batch` images on the stream that is PyTorch's when it runs."""

    def __init__(self, torch, library, kind, size, batch=1):
        self.torch, self.library = torch, library
        self.run = {R2C: library.cufftExecR2C, C2R: library.cufftExecC2R}[kind]
        self.handle = ctypes.c_int()
        extents = (ctypes.c_int * 2)(*size)
        require(library.cufftPlanMany(ctypes.byref(self.handle), 2, extents, None, 1, 0, None, 1, 0, kind, batch),
                'cufftPlanMany')

    def __call__(self, source, destination):
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        require(self.library.cufftSetStream(self.handle, stream), 'cufftSetStream')
        require(self.run(self.handle, ctypes.c_void_p(source.data_ptr()), ctypes.c_void_p(destination.data_ptr())),
                'cufftExec')

    def __del__(self):
        self.library.cufftDestroy(self.handle)


def prepare_at(torch, library, size, problem):
    """With transforms of `size` (height, width), at least the frame's: what wraps round is not a valid shift."""
    frame = torch.from_numpy(problem.frame).cuda()
    padded = torch.zeros(size, dtype=torch.float32, device='cuda')
    inside = padded[:problem.height, :problem.width]
    spectrum = torch.empty((size[0], size[1] // 2 + 1), dtype=torch.complex64, device='cuda')
    templates = torch.from_numpy(problem.centred).to(device='cuda', dtype=torch.float32)
    spectra = torch.fft.rfft2(templates, s=size).conj().resolve_conj() / (size[0] * size[1])
    products = torch.empty_like(spectra)
    surfaces = torch.empty((problem.count, *size), dtype=torch.float32, device='cuda')
    forward = Plan(torch, library, R2C, size)
    inverse = Plan(torch, library, C2R, size, problem.count)
    height, width = problem.valid

    def run():
        inside.copy_(frame)
        forward(padded, spectrum)
        torch.mul(spectrum, spectra, out=products)
        inverse(products, surfaces)
        return surfaces[:, :height, :width]

    return run


def lengths(least):
    """The next multiples of powers of two that have no prime factor above 7."""
    def smooth(n):
        for prime in (2, 3, 5, 7):
            while n % prime == 0:
                n //= prime
        return n == 1

    return sorted({next(n for n in itertools.count(-(-least // step) * step, step) if smooth(n))
                   for step in (2, 16, 64, 256)})


@functools.lru_cache
def best_size(torch, library, problem):
    """Of the frame's transforms, by what they take with one template."""
    def ms(size):
        return timing.on_gpu(prepare_at(torch, library, size, problem), 0.005, captured=True).ms

    return min(itertools.product(lengths(problem.height), lengths(problem.width)), key=ms)


def prepare(torch, library, problem):
    one = dataclasses.replace(problem, side=16, count=1)
    return prepare_at(torch, library, best_size(torch, library, one), problem)


def peers(backend):
    torch = cuda_torch(backend)
    library = load('cufft')
    version = ctypes.c_int()
    require(library.cufftGetVersion(ctypes.byref(version)), 'cufftGetVersion')
    return [Peer('cufft', 'products', 'cuda', f'cuFFT {version.value}', functools.partial(prepare, torch, library),
                 tolerance=1e-3, captured=True)]

# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyTorch: a convolution (cuDNN's on a GPU, the fastest that it finds; TF32 is allowed, as is its default, and is
enough for bytes), and transforms of the frame's size. Both give products only, not scores."""
import functools

import torch

from . import Peer, cuda_torch

HALF_UNIT = 2.0**-13  # float16 ends at 65504; with it any byte, and sums of 256x256 of a photograph, fit


def _upload(device, array, dtype):
    return torch.from_numpy(array).to(device=device, dtype=dtype)


def prepare_convolution(device, dtype, unit, problem):
    frame = _upload(device, problem.frame, torch.uint8)
    templates = _upload(device, problem.centred * unit, dtype)[:, None]
    return lambda: torch.nn.functional.conv2d(frame.to(dtype)[None, None], templates)[0]


def prepare_transforms(device, problem):
    frame = _upload(device, problem.frame, torch.uint8)
    size = problem.frame.shape
    # What wraps round falls outside the valid shifts.
    spectra = torch.fft.rfft2(_upload(device, problem.centred, torch.float32), s=size).conj().resolve_conj()
    height, width = problem.valid
    return lambda: torch.fft.irfft2(torch.fft.rfft2(frame.float()) * spectra, s=size)[:, :height, :width]


def peers(backend):
    gpu = backend == 'cuda'
    version = f'PyTorch {torch.__version__}'
    if gpu:
        cuda_torch(backend)
        torch.backends.cudnn.benchmark = True
        version += f' with cuDNN {torch.backends.cudnn.version()}'

    def peer(name, tolerance, prepare, *settings, **more):
        return Peer(name, 'products', backend, version, functools.partial(prepare, backend, *settings), tolerance,
                    captured=gpu, **more)

    found = [peer('torch-conv-fp32', 1e-3, prepare_convolution, torch.float32, 1.0),
             peer('torch-fft', 1e-3, prepare_transforms)]
    if gpu:  # no CPU multiplies it by itself
        found.append(peer('torch-conv-fp16', 1e-2, prepare_convolution, torch.float16, HALF_UNIT, unit=HALF_UNIT))
    return found

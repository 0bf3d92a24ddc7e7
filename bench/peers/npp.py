# SPDX-License-Identifier: LGPL-2.1-or-later
"""NVIDIA Performance Primitives: NormLevel is ccoeff-normed, Norm is ccorr-normed. One call a template."""
import ctypes
import functools

from . import Peer, cuda_torch
from .library import load, require

NORM, NORM_LEVEL = (f'nppiCrossCorrValid_{kind}_8u32f_C1R_Ctx' for kind in ('Norm', 'NormLevel'))
SCRATCH = 'nppiValidNormLevelGetBufferHostSize_8u32f_C1R_Ctx'


class Size(ctypes.Structure):
    _fields_ = [('width', ctypes.c_int), ('height', ctypes.c_int)]


class StreamContext(ctypes.Structure):
    _fields_ = [('stream', ctypes.c_void_p), ('device', ctypes.c_int), ('multiprocessors', ctypes.c_int),
                ('threads_of_multiprocessor', ctypes.c_int), ('threads_of_block', ctypes.c_int),
                ('shared_memory_of_block', ctypes.c_size_t), ('major', ctypes.c_int), ('minor', ctypes.c_int),
                ('stream_flags', ctypes.c_uint), ('reserved', ctypes.c_int)]


def stream_context(torch):
    """Of PyTorch's present stream, which does not wait for the default one unless it is that."""
    of = torch.cuda.get_device_properties(torch.cuda.current_device())
    stream = torch.cuda.current_stream().cuda_stream
    return StreamContext(stream, torch.cuda.current_device(), of.multi_processor_count,
                         of.max_threads_per_multi_processor, 1024, getattr(of, 'shared_memory_per_block', 49152),
                         of.major, of.minor, 1 if stream else 0, 0)


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def scratch(torch, library, problem):
    """NormLevel's working memory."""
    size = ctypes.c_size_t(0)
    frame = Size(problem.width, problem.height)
    require(getattr(library, SCRATCH)(frame, ctypes.byref(size), stream_context(torch)), SCRATCH)
    return torch.empty(max(size.value, 1), dtype=torch.uint8, device='cuda')


def prepare(torch, library, name, problem):
    frame = torch.from_numpy(problem.frame).cuda()
    templates = torch.from_numpy(problem.templates).cuda()
    surfaces = torch.empty((problem.count, *problem.valid), dtype=torch.float32, device='cuda')
    function = getattr(library, name)
    more = [scratch(torch, library, problem)] if name == NORM_LEVEL else []
    pitch = 4 * surfaces.shape[2]
    pairs = [(pointer(template), pointer(surface)) for template, surface in zip(templates, surfaces)]

    def run():
        context = stream_context(torch)
        for template, surface in pairs:
            require(function(pointer(frame), problem.width, Size(problem.width, problem.height),
                             template, problem.side, Size(problem.side, problem.side),
                             surface, pitch, *map(pointer, more), context), name)
        return surfaces

    return run


def version():
    class Version(ctypes.Structure):
        _fields_ = [('major', ctypes.c_int), ('minor', ctypes.c_int), ('build', ctypes.c_int)]

    function = load('nppc').nppGetLibVersion
    function.restype = ctypes.POINTER(Version)
    of = function().contents
    return f'NPP {of.major}.{of.minor}.{of.build}'


def peers(backend):
    torch = cuda_torch(backend)
    library = load('nppist')
    return [Peer(name, 'scores', 'cuda', version(), functools.partial(prepare, torch, library, function),
                 tolerance=1e-2)
            for name, function in (('npp-normlevel', NORM_LEVEL), ('npp-norm', NORM))]

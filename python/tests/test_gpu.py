# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays on a GPU: in and out without copies, on their stream. Each test says what it needs."""
import concurrent.futures

import numpy
import pytest

import xcorr
from conftest import noise

if "cuda:0" not in xcorr.devices():
    pytest.skip("no GPU, or a build without CUDA", allow_module_level=True)


class OfTorch:
    def __init__(self):
        self.module = pytest.importorskip("torch")
        if not self.module.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")

    def put(self, array, device=0):
        return self.module.as_tensor(numpy.array(array), device=f"cuda:{device}")

    def get(self, array):
        return array.cpu().numpy()

    def stream(self):
        return self.module.cuda.stream(self.module.cuda.Stream())

    def busy(self):
        """A kernel of some 50 ms on the current stream."""
        self.module.cuda._sleep(100_000_000)

    def empty(self, shape):
        return self.module.empty(shape, dtype=self.module.float32, device="cuda:0")

    def count(self):
        return self.module.cuda.device_count()

    def current(self):
        return self.module.cuda.current_device()


class OfCupy:
    def __init__(self):
        self.module = pytest.importorskip("cupy")
        # One thread that counts to a number.
        self.sleep = self.module.RawKernel("""extern "C" __global__ void sleep(long long cycles) {
            const long long end = clock64() + cycles; while (clock64() < end); }""", "sleep")

    def put(self, array, device=0):
        with self.module.cuda.Device(device):
            return self.module.asarray(array)

    def get(self, array):
        return array.get()

    def stream(self):
        return self.module.cuda.Stream(non_blocking=True)

    def busy(self):
        self.sleep((1,), (1,), (numpy.int64(100_000_000),))

    def empty(self, shape):
        return self.module.empty(shape, "f4")

    def count(self):
        return self.module.cuda.runtime.getDeviceCount()

    def current(self):
        return self.module.cuda.runtime.getDevice()


@pytest.fixture(params=[OfTorch, OfCupy], ids=["torch", "cupy"])
def library(request):
    return request.param()


class OnlyInterface:
    """What Numba and others hand over."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


class OnlyDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


IMAGE = noise((120, 150), 1)
TEMPLATE = IMAGE[30:46, 60:84]


@pytest.mark.parametrize("method", xcorr.METHODS)
@pytest.mark.parametrize("pad_input", [False, True])
def test_bytes_score_as_on_the_cpu_bit_for_bit(library, method, pad_input):
    result = xcorr.match_template(library.put(IMAGE), library.put(TEMPLATE), pad_input, method=method)
    assert type(result).__module__.split(".")[0] == library.module.__name__
    numpy.testing.assert_array_equal(library.get(result),
                                     xcorr.match_template(IMAGE, TEMPLATE, pad_input, method=method))


@pytest.mark.parametrize("method", xcorr.METHODS)
def test_floats_score_nearly_as_on_the_cpu(library, method):
    image = IMAGE.astype("f4") / 255
    expected = xcorr.match_template(image, image[30:46, 60:84], method=method)
    result = library.get(xcorr.match_template(library.put(image), library.put(image[30:46, 60:84]), method=method))
    numpy.testing.assert_allclose(result, expected, atol=1e-4 * numpy.abs(expected).max())


def test_masks_and_templates_in_host_memory(library):
    mask = numpy.zeros(TEMPLATE.shape, bool)
    mask[2:12, 3:20] = True
    expected = xcorr.match_template(IMAGE, TEMPLATE, mask=mask)
    for template in (TEMPLATE, library.put(TEMPLATE)):
        for counts in (mask, library.put(mask)):
            result = xcorr.match_template(library.put(IMAGE), template, mask=counts)
            numpy.testing.assert_array_equal(library.get(result), expected)


@pytest.mark.parametrize("view", [lambda a: a[5:100, 7:140], lambda a: a[::2, ::3], lambda a: a.T],
                         ids=["crop", "strided", "transposed"])
def test_layouts(library, view):
    expected = xcorr.match_template(view(IMAGE), view(IMAGE)[4:12, 5:12])
    whole = library.put(IMAGE)
    numpy.testing.assert_array_equal(library.get(xcorr.match_template(view(whole), view(whole)[4:12, 5:12])), expected)


def test_results_are_written_where_they_are_wanted(library):
    expected = xcorr.match_template(IMAGE, TEMPLATE)
    whole = library.empty((130, 160))
    whole[...] = -7
    out = whole[3:108, 4:131]
    assert xcorr.match_template(library.put(IMAGE), library.put(TEMPLATE), out=out) is out
    numpy.testing.assert_array_equal(library.get(out), expected)
    out[...] = -7
    assert (library.get(whole) == -7).all()


def test_work_is_in_order_with_what_the_library_does_on_its_stream(library):
    """The image is written, read and overwritten on a stream that is busy."""
    expected = xcorr.match_template(IMAGE, TEMPLATE)
    for _ in range(3):
        with library.stream():
            image, template = library.put(numpy.zeros_like(IMAGE)), library.put(TEMPLATE)
            true = library.put(IMAGE)
            library.busy()
            image[...] = true
            result = xcorr.match_template(image, template)
            image[...] = 0
            doubled = result + result
            got = library.get(doubled)
        numpy.testing.assert_array_equal(got, expected + expected)


@pytest.mark.parametrize("wrapper", [OnlyInterface, OnlyDlpack])
def test_arrays_of_other_libraries_give_numpys_results(library, wrapper):
    result = xcorr.match_template(wrapper(library.put(IMAGE)), wrapper(library.put(TEMPLATE)))
    assert isinstance(result, numpy.ndarray)
    numpy.testing.assert_array_equal(result, xcorr.match_template(IMAGE, TEMPLATE))
    with pytest.raises(TypeError, match="needs arrays of NumPy, CuPy or PyTorch"):
        xcorr.match_template(wrapper(library.put(IMAGE)), wrapper(library.put(TEMPLATE)), pad_input=True)


def test_numpys_arrays_on_a_gpu():
    numpy.testing.assert_array_equal(xcorr.match_template(IMAGE, TEMPLATE, device="cuda"),
                                     xcorr.match_template(IMAGE, TEMPLATE))


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_correlations(library, dtype, mode):
    for a, b in ((IMAGE, TEMPLATE), (TEMPLATE, IMAGE[:40, :60])):
        expected = xcorr.correlate2d(a.astype(dtype), b.astype(dtype), mode)
        for second in (library.put(b.astype(dtype)), b.astype(dtype)):
            result = library.get(xcorr.correlate2d(library.put(a.astype(dtype)), second, mode))
            numpy.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), rtol=0,
                                          atol=1e-5 * expected.max() if dtype == "f4" else 1e-12 * expected.max())


def test_matchers(library):
    bank = [IMAGE[30:46, 60:84], IMAGE[5:14, 9:30], IMAGE[70:102, 100:140]]
    here = xcorr.Matcher(bank, device="cpu", max_peaks=3, threshold=-1.0)
    there = xcorr.Matcher([library.put(each) for each in bank], device="cuda:0", max_peaks=3, threshold=-1.0)
    expected = here.match(IMAGE)
    for frame in (library.put(IMAGE), IMAGE):
        got = there.match(frame)
        for field in ("template_index", "x", "y", "score"):
            numpy.testing.assert_allclose(got[field], expected[field], atol=1e-9)
    with library.stream():
        frame = library.put(IMAGE)
        there.enqueue(frame)
        frame = None
        numpy.testing.assert_array_equal(there.collect()["score"], expected["score"])
    for index in range(3):
        numpy.testing.assert_array_equal(library.get(there.score(library.put(IMAGE), index)), here.score(IMAGE, index))
        numpy.testing.assert_array_equal(there.respond(library.put(IMAGE), index), here.respond(IMAGE, index))


def test_live_templates(library):
    live = xcorr.LiveTemplate(TEMPLATE, device="cuda:0")
    matcher = xcorr.Matcher([live], device="cuda:0", subpixel=False)
    live.blend(library.put(IMAGE), 3, 4, 1.0)
    numpy.testing.assert_array_equal(live.read(), IMAGE[4:20, 3:27])
    assert matcher.match(library.put(IMAGE))["x"][0] == 3


def test_what_lies_elsewhere_is_refused(library):
    image, template = library.put(IMAGE), library.put(TEMPLATE)
    with pytest.raises(TypeError, match="out must be"):
        xcorr.match_template(image, template, out=numpy.empty((105, 127), "f4"))
    with pytest.raises(ValueError, match="the frame is on cuda:0, the matcher on cpu"):
        xcorr.Matcher([TEMPLATE], device="cpu").match(image)
    with pytest.raises(ValueError, match="the frame is on cuda:0, the template on cpu"):
        xcorr.LiveTemplate(TEMPLATE, device="cpu").blend(image, 0, 0, 1.0)
    with pytest.raises(ValueError, match="image is on cuda:0, which 'cpu' is not"):
        xcorr.match_template(image, template, device="cpu")
    with pytest.raises(TypeError, match="in host memory"):
        xcorr.Matcher([OnlyInterface(template)], device="cuda:0")
    with pytest.raises(TypeError, match="image has elements of type float64; uint8, uint16 or float32"):
        xcorr.match_template(library.put(IMAGE.astype("f8")), template)


def refused(error, call):
    with pytest.raises(error):
        call()


ON_THE_SECOND = {
    "matcher": lambda: xcorr.Matcher([TEMPLATE], device="cuda:1").match(IMAGE),
    "scores": lambda: xcorr.Matcher([TEMPLATE], device="cuda:1").score(IMAGE),
    "response": lambda: xcorr.Matcher([TEMPLATE], device="cuda:1").respond(IMAGE),
    "no such kernel": lambda: refused(ValueError, lambda: xcorr.Matcher([TEMPLATE], device="cuda:1",
                                                                        kernel="quick").match(IMAGE)),
    "live template": lambda: xcorr.LiveTemplate(TEMPLATE, device="cuda:1").blend(IMAGE, 0, 0, 0.5),
    "blended outside": lambda: refused(ValueError, lambda: xcorr.LiveTemplate(TEMPLATE, device="cuda:1").blend(
        IMAGE, 149, 0, 0.5)),
    "field": lambda: xcorr.FieldMatcher(IMAGE, windows=(16,), device="cuda:1").match(IMAGE),
    "function": lambda: xcorr.match_template(IMAGE, TEMPLATE, device="cuda:1"),
    "kept ready": xcorr.clear_cache,
}


@pytest.mark.parametrize("entry", ON_THE_SECOND)
def test_the_current_gpu_stays(library, entry):
    """In a thread that has used it, and in one that has used none."""
    if library.count() < 2:
        pytest.skip("one GPU")

    def work():
        ON_THE_SECOND[entry]()
        assert library.current() == 0
        numpy.testing.assert_array_equal(library.get(library.put(IMAGE)), IMAGE)

    library.put(IMAGE)
    work()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def test_correlations_elsewhere_leave_the_current_gpu(library):
    if library.count() < 2:
        pytest.skip("one GPU")
    library.put(IMAGE)
    result = library.get(xcorr.correlate2d(library.put(IMAGE, 1), library.put(TEMPLATE, 1), "valid"))
    numpy.testing.assert_array_equal(result, xcorr.correlate2d(IMAGE, TEMPLATE, "valid"))
    assert library.current() == 0


def test_several_gpus(library):
    if library.count() < 2:
        pytest.skip("one GPU")
    image, template = library.put(IMAGE, 1), library.put(TEMPLATE, 1)
    numpy.testing.assert_array_equal(library.get(xcorr.match_template(image, template)),
                                     xcorr.match_template(IMAGE, TEMPLATE))
    assert library.current() == 0
    with pytest.raises(ValueError, match="the frame is on cuda:1, the matcher on cuda:0"):
        xcorr.Matcher([TEMPLATE], device="cuda:0").match(image)
    live = xcorr.LiveTemplate(TEMPLATE, device="cuda:0")
    with pytest.raises(ValueError, match="the frame is on cuda:1, the template on cuda:0"):
        live.blend(image, 0, 0, 1.0)
    with pytest.raises(ValueError, match="template 0 lives on another device"):
        xcorr.Matcher([live], device="cuda:1")
    with pytest.raises(ValueError, match="template is on cuda:0, other arrays are on cuda:1"):
        xcorr.match_template(image, library.put(TEMPLATE, 0))

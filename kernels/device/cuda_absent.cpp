// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A build without CUDA: there is no device, so nothing else of the backend can be reached.
#include "device/cuda_runtime.hpp"

namespace xcorr::cuda {
namespace {

Status absent() { return {Code::unsupported, "built without CUDA"}; }

constexpr Runtime no_runtime = {
    [](std::size_t, Memory) -> Result<void*> { return absent(); },
    [](void*, Memory) {},
    [](const Copy&, Memory, Memory, Stream) { return absent(); },
    [](void*, std::size_t) { return absent(); },
    [](void*) {},
    [](const void*, std::size_t) { return true; },
    [](const void*) { return true; },
    []() -> Result<Stream> { return absent(); },
    [](Stream) {},
    [](Stream) { return absent(); },
    []() -> Result<void*> { return absent(); },
    [](void*) {},
    [](void*, Stream) { return absent(); },
    [](Stream, void*) { return absent(); },
    [](void*) { return absent(); },
    [](Stream, Stream, void*) { return absent(); },
    []() -> Result<void*> { return absent(); },
    [](void*) {},
    [](void*, Stream) { return absent(); },
    [](void*, Stream) { return absent(); },
    [](void*) -> Result<double> { return absent(); },
    [](Stream) { return absent(); },
    [](Stream) -> Result<void*> { return absent(); },
    [](void*) {},
    [](void*, Stream) { return absent(); },
};

}  // namespace

const Runtime& runtime() { return no_runtime; }
Result<int> count_devices() { return absent(); }
Result<Device> open_device(int) { return absent(); }
Status make_current(const Device&) { return absent(); }
Status push_current(const Device&) { return absent(); }
void pop_current() {}

}  // namespace xcorr::cuda

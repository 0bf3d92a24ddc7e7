// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The runtime API's streams, events and graphs on a CPU: all is done at once and in order, or kept
// by the graph that captures it.
#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "attempt.hpp"

using simt::attempt;
using simt::attempt_to_free;
using simt::fail;

/// How much of each stream's captured work something comes behind.
using Behind = std::map<CUstream_st*, std::size_t>;

/// What a graph does, in the order in which it was captured.
struct CUgraph_st {
  std::vector<std::function<cudaError_t()>> work;
  Behind all;
};
struct CUgraphExec_st : CUgraph_st {};

struct CUstream_st {
  CUgraph_st* capture = nullptr;  ///< the graph that captures it
  Behind behind = {};
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  CUgraph_st* capture = nullptr;
  Behind behind = {};
};

namespace {

/// That captures what this thread does.
thread_local CUgraph_st* capturing = nullptr;

bool is_allowed(cudaStream_t stream) { return !capturing || (stream && !stream->capture); }

}  // namespace

bool simt::is_capturing() { return capturing; }

cudaError_t simt::enqueue(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (capturing && !stream) return fail(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = call()) return fail(error);
  if (!stream || !stream->capture) return work();
  stream->capture->work.push_back(std::move(work));
  stream->behind[stream] = ++stream->capture->all[stream];
  return cudaSuccess;
}

// ---- streams and events ---------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return attempt([&] {
    *stream = new CUstream_st;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return attempt_to_free([&] {
    delete stream;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!is_allowed(stream)) return fail(cudaErrorStreamCaptureUnsupported);
  return attempt([] { return cudaSuccess; });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return attempt([&] {
    if (flags == cudaEventWaitDefault && event->capture && event->capture == capturing) {
      stream->capture = event->capture;
      stream->capture->all.try_emplace(stream);
      for (const auto& [other, work] : event->behind)
        stream->behind[other] = std::max(stream->behind[other], work);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return attempt([&] {
    *event = new CUevent_st{};
    return cudaSuccess;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return attempt_to_free([&] {
    delete event;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return attempt([&] {
    event->time = std::chrono::steady_clock::now();
    event->capture = stream ? stream->capture : nullptr;
    event->behind = stream ? stream->behind : Behind();
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags == cudaEventRecordDefault) return cudaEventRecord(event, stream);
  // What a graph does is done when its launch returns, so that the event has happened then.
  if (!stream || !stream->capture) return fail(cudaErrorInvalidValue);
  return attempt([] { return cudaSuccess; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->capture) return fail(cudaErrorStreamCaptureUnsupported);
  return attempt([] { return cudaSuccess; });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return attempt([&] {
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
    return cudaSuccess;
  });
}

// ---- graphs ---------------------------------------------------------------------------------

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream && stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!stream || stream->capture || capturing) return fail(cudaErrorStreamCaptureUnsupported);
  return attempt([&] {
    capturing = stream->capture = new CUgraph_st;
    capturing->all.try_emplace(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  CUgraph_st* const made = stream->capture;
  if (!made) return fail(cudaErrorInvalidValue);
  const bool joined = std::ranges::all_of(
      made->all, [&](const auto& last) { return stream->behind[last.first] >= last.second; });
  for (const auto& [captured, work] : made->all) {
    captured->capture = nullptr;
    captured->behind.clear();
  }
  capturing = nullptr;
  const cudaError_t error = simt::call();
  if (joined && !error) {
    *graph = made;
    return cudaSuccess;
  }
  delete made;
  return fail(error ? error : cudaErrorStreamCaptureUnjoined);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  return attempt([&] {
    *made = new CUgraphExec_st{*graph};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  return attempt([&] {
    for (const auto& work : graph->work)
      if (const cudaError_t error = work()) return error;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return attempt_to_free([&] {
    delete graph;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return attempt_to_free([&] {
    delete graph;
    return cudaSuccess;
  });
}

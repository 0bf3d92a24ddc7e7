// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/refusals.h"

#include <utility>

#include "cudaxcorr/element.h"

namespace cudaxcorr {

void warn_refused(GstCudaXCorr* self, Fault fault) {
  {
    const ObjectLock lock(self);
    if (GST_STATE(self) == GST_STATE_NULL) {
      self->element->refusals.push_back(std::move(fault));
      return;
    }
  }
  post_warning(self, fault);
}

void post_refusals(GstCudaXCorr* self) {
  std::vector<Fault> refusals;
  {
    const ObjectLock lock(self);
    refusals = std::exchange(self->element->refusals, {});
  }
  for (const Fault& fault : refusals) post_warning(self, fault);
}

}  // namespace cudaxcorr

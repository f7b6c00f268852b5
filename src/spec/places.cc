#include "spec/places.h"

namespace weft::host {

std::string registration_error(const HostPlaces& places, const Placement& placement) {
  const GpuModel& gpu = places.gpus[*placement.gpu].model;
  if (placement.dmabuf ? gpu.dmabuf : gpu.peermem && places.gpudirect) return {};
  const std::string call =
      placement.dmabuf ? "ibv_reg_dmabuf_mr: errno 95 (Operation not supported)" : "ibv_reg_mr: errno 14 (Bad address)";
  if (gpu.dmabuf && !placement.dmabuf)
    return call + ": no peer memory module for " + gpu.name + "; use --use_" + gpu.api + "_dmabuf";
  return call + ": GPUDirect RDMA of " + gpu.name + ": " + gpu.gpudirect;
}

}  // namespace weft::host

#include "host/places.h"

namespace weft::host {

std::string registration_error(const GpuModel& gpu, bool dmabuf) {
  if (dmabuf ? gpu.dmabuf : gpu.peermem) return {};
  const std::string call =
      dmabuf ? "ibv_reg_dmabuf_mr: errno 95 (Operation not supported)" : "ibv_reg_mr: errno 14 (Bad address)";
  if (gpu.dmabuf && !dmabuf) return call + ": no peer memory module for " + gpu.name + "; use --use_cuda_dmabuf";
  return call + ": GPUDirect RDMA of " + gpu.name + ": " + gpu.gpudirect;
}

}  // namespace weft::host

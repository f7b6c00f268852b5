// Objects that another open device has made, in this process or in another one on the node: the descriptor of that
// device is the right to use them.
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

using namespace weft::verbs;

namespace {

int import_object(const ibv_context* context, Kind kind, std::uint32_t handle, Imported& imported) {
  const Context& of = context_of(const_cast<ibv_context*>(context));
  return call(Op::kImport, Import{of.secret, kind, handle}, imported);
}

}  // namespace

ibv_context* ibv_import_device(int command_fd) {
  DeviceToken token;
  if (pread(command_fd, &token, sizeof token, 0) != sizeof token) return fail(EINVAL);
  ibv_device* device = device_at(token.device);
  return device == nullptr ? fail(ENODEV) : open_context(device, command_fd, token.secret);
}

ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t handle) {
  Imported imported;
  if (const int error = import_object(context, Kind::kPd, handle, imported); error != 0) return fail(error);
  auto* pd = make<Pd>();
  if (pd == nullptr) return fail(ENOMEM);
  pd->context = context;
  pd->handle = imported.handle;
  return pd;
}

void ibv_unimport_pd(ibv_pd* pd) {
  std::free(static_cast<Pd*>(pd));
}

ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t handle) {
  Imported imported;
  if (const int error = import_object(pd->context, Kind::kMr, handle, imported); error != 0) return fail(error);
  auto* mr = make<Mr>();
  if (mr == nullptr) return fail(ENOMEM);
  static_cast<ibv_mr&>(*mr) = {pd->context,   pd,           nullptr, imported.length_B, imported.handle,
                               imported.lkey, imported.rkey};
  return mr;
}

void ibv_unimport_mr(ibv_mr* mr) {
  std::free(static_cast<Mr*>(mr));
}

ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t handle) {
  Imported imported;
  if (const int error = import_object(context, Kind::kDm, handle, imported); error != 0) return fail(error);
  return make_dm(context, imported.handle);
}

void ibv_unimport_dm(ibv_dm* dm) {
  std::free(dm);
}

#include "preload/sockets/refusals.h"

#include <errno.h>
#include <string.h>

#include "preload/connection.h"
#include "preload/files/paths.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "verbs/node_protocol.h"
#include "verbs/world_call.h"

namespace weft::preload {

void say_refusal() {
  const int saved = errno;
  verbs::Refusal refusal{};
  std::size_t size_B = sizeof refusal;
  const int error = call_in_pieces(verbs::Op::kRefusal, nullptr, 0, &refusal, &size_B, nullptr);
  refusal.text[sizeof refusal.text - 1] = '\0';
  if (error == 0 && refusal.text[0] != '\0') say("%s", refusal.text);
  errno = saved;
}

void say_refusal_of(const Path& path) {
  if (!this_process().attached || !is_own_process()) return;
  const int saved = errno;
  verbs::LookUp file{};
  strncpy(file.name, path.program_path(), sizeof file.name - 1);
  verbs::call(verbs::Op::kWriteFile, file);
  say_refusal();
  errno = saved;
}

}  // namespace weft::preload

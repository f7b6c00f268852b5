// The ethtool ioctl: the structure that the program points to goes to the world as far as it is a question, and comes
// back as the answer.
#include <errno.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "preload/connection.h"
#include "preload/sockets/interfaces.h"
#include "preload/sockets/refusals.h"

namespace weft::preload {

namespace {

// How much of the structure the question is: what follows may not be there.
std::size_t question_B(std::uint32_t command) {
  switch (command) {
    case ETHTOOL_GLINKSETTINGS:
      return sizeof(ethtool_link_settings);
    case ETHTOOL_GSSET_INFO:
      return 16;
    case ETHTOOL_GSTRINGS:
      return sizeof(ethtool_gstrings);
    case ETHTOOL_GFEATURES:
      return sizeof(ethtool_gfeatures);
    case ETHTOOL_SFECPARAM:
      return sizeof(ethtool_fecparam);
    case ETHTOOL_SPAUSEPARAM:
      return sizeof(ethtool_pauseparam);
    default:
      return sizeof command;
  }
}

}  // namespace

int ask_ethtool(void* argument) {
  const auto& question = *static_cast<const ifreq*>(argument);
  if (question.ifr_data == nullptr) return EFAULT;
  std::uint32_t command;
  memcpy(&command, question.ifr_data, sizeof command);
  verbs::EthtoolRequest head{};
  memcpy(head.interface, question.ifr_name, sizeof head.interface - 1);
  head.size_B = static_cast<std::uint32_t>(question_B(command));
  const iovec pieces[] = {{&head, sizeof head}, {question.ifr_data, head.size_B}};
  std::size_t told_B = verbs::kMaxEthtool_B;
  void* told = malloc(told_B);
  if (told == nullptr) return ENOMEM;
  const int error = call_in_pieces(verbs::Op::kEthtool, pieces, 2, told, &told_B, nullptr);
  if (error == 0) memcpy(question.ifr_data, told, told_B);
  if (error == EPERM) say_refusal();
  free(told);
  return error;
}

}  // namespace weft::preload

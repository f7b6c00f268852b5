// Extended reliable connections (IBTA annex A14): RC whose requests name a shared receive queue of the target's domain,
// so that one connection serves every process of a node. An initiator only sends requests (message_send.cc), a target
// only answers them (responder.cc).
#include "nic/transports/reliable_transport.h"

namespace weft::nic {

constinit const Transport kXrcTransport = reliable_transport("XRC", kXrcNumber, &send_xrc, &receive_xrc);

}  // namespace weft::nic

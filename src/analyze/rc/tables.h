// Tables of the transport: "qps", "messages" (where they were kept) and "retransmissions".
#pragma once

#include <span>
#include <vector>

#include "analyze/findings/table.h"
#include "analyze/rc/conversations.h"

namespace weft::analyze {

void add_transport_tables(const RcContext& context, std::span<const RcConversation> conversations,
                          std::vector<Table>& tables);

}  // namespace weft::analyze

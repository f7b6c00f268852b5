// Options of TCP that the calls of stream_options.cc ask for.
#pragma once

#include <sys/socket.h>

#include "preload/sockets/streams.h"

namespace weft::preload {

// False: an option without a meaning here.
bool get_tcp_option(const Stream& stream, int option, void* value, socklen_t* size_B);
bool set_tcp_option(Stream& stream, int option, const void* value, socklen_t size_B, int& error);

// IP_TOS and IPV6_TCLASS of a stream of TCP.
void set_type_of_service(const Stream& stream, int value);
int type_of_service(const Stream& stream);

}  // namespace weft::preload

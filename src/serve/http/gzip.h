// Answers as gzip (RFC 1952), for clients that accept it: those about large runs shrink to a fifth or less.
#pragma once

#include <string>
#include <string_view>

#include "serve/http/request.h"

namespace weft::serve {

// Empty if there is not enough memory.
std::string gzip(std::string_view text);
bool is_gzip(std::string_view bytes);

// True if the value of Accept-Encoding of a request allows gzip.
bool accepts_gzip(const Request& request);
// Compresses an answer that is text and long enough to gain from it. One that is compressed already stays.
void compress(Response& response);

}  // namespace weft::serve

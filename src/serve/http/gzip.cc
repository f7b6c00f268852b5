#include "serve/http/gzip.h"

#include <zlib.h>

#include <memory>

namespace weft::serve {

std::string gzip(std::string_view text) {
  constexpr int kLevel = 3;  // most of what the best level gains, in a fifth of its time
  constexpr int kGzipHeader = 16, kWindowBits = 15, kMemoryLevel = 8;
  z_stream stream = {};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kWindowBits + kGzipHeader, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    return "";
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool ended = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(ended ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

bool accepts_gzip(const Request& request) {
  const auto at = request.header.find("accept-encoding");
  if (at == request.header.end()) return false;
  const std::size_t word = at->second.find("gzip");
  return word != std::string::npos && at->second.compare(word, 8, "gzip;q=0") != 0;
}

void compress(Response& response) {
  constexpr std::size_t kLeast_B = 1400;  // less is one packet either way
  const bool is_text = response.type.starts_with("application/json") || response.type.starts_with("text/");
  if (response.stream || !response.file.empty() || !is_text || response.text().size() < kLeast_B ||
      response.header.contains("Content-Encoding"))
    return;
  std::string packed = gzip(response.text());
  if (packed.empty()) return;
  response.body.clear();
  response.shared = std::make_shared<const std::string>(std::move(packed));
  response.header["Content-Encoding"] = "gzip";
  response.header["Vary"] = "Accept-Encoding";
}

}  // namespace weft::serve

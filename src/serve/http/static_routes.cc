#include "serve/http/static_routes.h"

#include <algorithm>
#include <string>

#include "serve/http/page_files.h"

namespace weft::serve {

namespace {

std::string type_of(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

// The address of a view, which the page reads itself (web/src/lib/address.svelte.ts).
bool is_view(std::string_view path) {
  static constexpr std::string_view kViews[] = {"labs", "lab", "runs", "run", "compare", "sweep", "worlds"};
  return std::find(std::begin(kViews), std::end(kViews), path.substr(0, path.find('/'))) != std::end(kViews);
}

Response page_file(const Request& request) {
  std::string path = request.path == "/" ? "index.html" : request.path.substr(1);
  const PageFile* file = find_page_file(path);
  if (file == nullptr || path.ends_with(".gz")) {
    if (!is_view(path)) return problem(404, "nothing is at " + request.path);
    path = "index.html";
    file = find_page_file(path);
  }
  if (file == nullptr)
    return {200, "text/plain; charset=utf-8", "built without the page (WEFT_PAGE=OFF); /api works\n", {}, {}};
  Response response{200, type_of(path), std::string(file->bytes), {{"Cache-Control", "no-cache"}}, {}};
  const auto accepted = request.header.find("accept-encoding");
  const PageFile* packed = find_page_file(path + ".gz");
  if (packed != nullptr && accepted != request.header.end() && accepted->second.find("gzip") != std::string::npos) {
    response.body = packed->bytes;
    response.header["Content-Encoding"] = "gzip";
  }
  response.header["Vary"] = "Accept-Encoding";
  return response;
}

}  // namespace

const PageFile* find_page_file(std::string_view path) {
  const auto files = page_files();
  const auto it = std::find_if(files.begin(), files.end(), [&](const PageFile& file) { return file.path == path; });
  return it == files.end() ? nullptr : &*it;
}

void add_static_routes(Router& router) {
  router.add("GET", "/**", page_file);
}

}  // namespace weft::serve

#include "serve/http/static_routes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

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

// The address of a view, which the page parses itself (web/src/lib/address.svelte.ts).
bool is_view(std::string_view path) {
  static constexpr std::string_view kViews[] = {"labs", "lab", "runs", "run", "compare", "sweep", "worlds"};
  return std::find(std::begin(kViews), std::end(kViews), path.substr(0, path.find('/'))) != std::end(kViews);
}

// The files as answers, in memory once.
using SharedFiles = std::map<std::string, std::shared_ptr<const std::string>, std::less<>>;

Response page_file(const Request& request, const SharedFiles& files) {
  std::string path = request.path == "/" ? "index.html" : request.path.substr(1);
  auto file = files.find(path);
  if (file == files.end() || path.ends_with(".gz")) {
    if (!is_view(path)) return problem(404, "unknown path " + request.path);
    path = "index.html";
    file = files.find(path);
  }
  if (file == files.end())
    return {200, "text/plain; charset=utf-8", "built without the page (WEFT_PAGE=OFF); /api works\n", {}, {}};
  Response response = shared_answer(file->second, type_of(path));
  response.header["Cache-Control"] = "no-cache";
  const auto accepted = request.header.find("accept-encoding");
  const auto packed = files.find(path + ".gz");
  if (packed != files.end() && accepted != request.header.end() && accepted->second.find("gzip") != std::string::npos) {
    response.shared = packed->second;
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
  SharedFiles files;
  for (const PageFile& file : page_files())
    files.emplace(std::string(file.path), std::make_shared<const std::string>(file.bytes));
  router.add("GET", "/**", [files = std::move(files)](const Request& request) { return page_file(request, files); });
}

}  // namespace weft::serve

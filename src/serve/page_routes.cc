#include "serve/page_routes.h"

#include <memory>

#include "serve/http/static_routes.h"

namespace weft::serve {

void add_page_routes(Router& router) {
  auto files = std::make_shared<Router>();
  add_static_routes(*files);
  router.add("GET", "/**", [files](const Request& request) {
    Response response = files->answer(request);
    const auto accepted = request.header.find("accept");
    const bool browser = accepted != request.header.end() && accepted->second.find("text/html") != std::string::npos;
    if (response.status != 404 || !browser || request.path.starts_with("/api/")) return response;
    Request page = request;
    page.path = "/";
    response = files->answer(page);
    if (response.status == 200) response.status = 404;
    return response;
  });
}

}  // namespace weft::serve

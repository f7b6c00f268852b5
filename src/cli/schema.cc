// weft schema: what a lab file can say, for editors (JSON schema) and for docs/lab-file.md (its tables).
#include "text/schema.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "labfile/lab_fields.h"

namespace weft::cli {

namespace {

int print_docs(const std::string& path) {
  const auto page = read_file(path, 1 << 20);
  if (!page) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return kExitWrongInput;
  }
  const auto made = lab::with_key_tables(*page, lab::kLabKeys);
  if (!made) {
    fmt::print(stderr, "{}: {}\n", path, made.error());
    return kExitWrongInput;
  }
  put(*made);
  return kExitWell;
}

}  // namespace

void add_schema(CLI::App& app, int& status) {
  auto docs = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON schema (draft-07) of lab files");
  verb->add_option("--docs", *docs, "Print this Markdown page with its tables of keys made anew");
  verb->callback([docs, &status] {
    if (!docs->empty()) {
      status = print_docs(*docs);
      return;
    }
    put(lab::schema_of(lab::kLabKeys, "Weft lab, version 1"));
    status = kExitWell;
  });
}

}  // namespace weft::cli

// What is made from the rows of text/fields.h for people and editors: a JSON schema (draft-07), and tables of keys.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "text/fields.h"

namespace weft::lab {

// Of a file whose top is a map with the keys of `root`.
std::string schema_of(const Section& root, std::string_view title);

// Keys of a section in Markdown, a row each.
std::string key_table(const Section& section);
// `page` with the table of a section between each pair of lines "<!-- keys: NAME -->" and "<!-- /keys -->". The error
// says which section there is none of, or has no table.
tl::expected<std::string, std::string> with_key_tables(std::string_view page, const Section& root);

// Markdown without its marks.
std::string plain_text(std::string_view markdown);

}  // namespace weft::lab

// The XML that NCCL reads and writes: elements with attributes, comments, no text between tags, no entities but the
// five of XML itself. Any bytes are a tree or an error with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace weft::nccl {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;
  std::uint32_t line = 0;

  // Null when there is none.
  const std::string* attribute(std::string_view key) const;
  void set(std::string key, std::string value) { attributes.emplace_back(std::move(key), std::move(value)); }
  XmlElement& add(std::string child);
};

struct XmlError {
  std::uint32_t line = 0, column = 0;
  std::string message;
};

tl::expected<XmlElement, XmlError> parse_xml(std::string_view text);
std::string write_xml(const XmlElement& element);

}  // namespace weft::nccl

// As much of JSON Schema (draft-07) as the schema of a lab uses. A keyword that is not handled
// here is an error, so that the schema cannot outgrow its test.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/matching.h"

namespace weft::lab {

class JsonSchema {
 public:
  using Json = nlohmann::ordered_json;
  explicit JsonSchema(Json root) : root_(std::move(root)) {}

  const Json& root() const { return root_; }
  std::vector<std::string> errors_of(const Json& value) const {
    std::vector<std::string> errors;
    check(value, root_, "", errors);
    return errors;
  }

 private:
  using Errors = std::vector<std::string>;

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    return type == "number" && value.is_number();
  }

  bool accepts(const Json& value, const Json& schema) const {
    Errors errors;
    check(value, schema, "", errors);
    return errors.empty();
  }

  void check(const Json& value, const Json& schema, const std::string& path, Errors& errors) const {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) errors.push_back(path + ": not allowed here");
      return;
    }
    for (const auto& [keyword, wanted] : schema.items()) check_keyword(keyword, wanted, schema, value, path, errors);
  }

  void check_keyword(const std::string& keyword, const Json& wanted, const Json& schema, const Json& value,
                     const std::string& path, Errors& errors) const {
    const auto fail_unless = [&](bool good) {
      if (!good) errors.push_back(path + ": " + keyword);
    };
    if (keyword == "$ref") {
      check(value, root_.at(Json::json_pointer(wanted.get<std::string>().substr(1))), path, errors);
    } else if (keyword == "type") {
      bool good = false;
      for (const Json& type : wanted.is_array() ? wanted : Json::array({wanted})) good = good || has_type(value, type);
      fail_unless(good);
    } else if (keyword == "enum") {
      fail_unless(std::find(wanted.begin(), wanted.end(), value) != wanted.end());
    } else if (keyword == "const") {
      fail_unless(value == wanted);
    } else if (keyword == "pattern") {
      if (value.is_string()) fail_unless(!test::match(value.get<std::string>(), wanted.get<std::string>()).empty());
    } else if (keyword == "minimum") {
      if (value.is_number()) fail_unless(value >= wanted);
    } else if (keyword == "maximum") {
      if (value.is_number()) fail_unless(value <= wanted);
    } else if (keyword == "minItems") {
      if (value.is_array()) fail_unless(value.size() >= wanted);
    } else if (keyword == "maxItems") {
      if (value.is_array()) fail_unless(value.size() <= wanted);
    } else if (keyword == "minProperties") {
      if (value.is_object()) fail_unless(value.size() >= wanted);
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        check(value[i], wanted, path + "[" + std::to_string(i) + "]", errors);
      }
    } else if (keyword == "anyOf" || keyword == "oneOf") {
      const auto count = std::count_if(wanted.begin(), wanted.end(), [&](const Json& s) { return accepts(value, s); });
      fail_unless(keyword == "anyOf" ? count >= 1 : count == 1);
    } else if (keyword == "allOf") {
      for (const Json& each : wanted) check(value, each, path, errors);
    } else if (keyword == "if") {
      if (accepts(value, wanted)) check(value, schema.at("then"), path, errors);
    } else if (keyword == "not") {
      fail_unless(!accepts(value, wanted));
    } else if (!check_object_keyword(keyword, wanted, schema, value, path, errors)) {
      static const std::vector<std::string> kSilent = {"$schema", "definitions", "title", "description", "then"};
      if (std::find(kSilent.begin(), kSilent.end(), keyword) == kSilent.end())
        errors.push_back("unknown keyword " + keyword);
    }
  }

  // True when it is a keyword about objects; other values pass.
  bool check_object_keyword(const std::string& keyword, const Json& wanted, const Json& schema, const Json& value,
                            const std::string& path, Errors& errors) const {
    static const std::vector<std::string> kKeywords = {"properties", "additionalProperties", "propertyNames",
                                                       "required", "dependencies"};
    if (std::find(kKeywords.begin(), kKeywords.end(), keyword) == kKeywords.end()) return false;
    if (!value.is_object()) return true;
    if (keyword == "required") {
      for (const Json& key : wanted) {
        if (!value.contains(key)) errors.push_back(path + ": no " + key.get<std::string>());
      }
    } else if (keyword == "dependencies") {
      for (const auto& [key, others] : wanted.items()) {
        for (const Json& other : others) {
          if (value.contains(key) && !value.contains(other))
            errors.push_back(path + ": " + key + " without " + other.get<std::string>());
        }
      }
    } else {
      for (const auto& [key, child] : value.items()) {
        const bool is_named = schema.contains("properties") && schema["properties"].contains(key);
        if (keyword == "propertyNames") check(key, wanted, path + "." + key, errors);
        if (keyword == "properties" && is_named) check(child, wanted[key], path + "." + key, errors);
        if (keyword == "additionalProperties" && !is_named) check(child, wanted, path + "." + key, errors);
      }
    }
    return true;
  }

  Json root_;
};

}  // namespace weft::lab

#include "text/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft::lab {
namespace {

constexpr Quantity kQuantities[] = {Quantity::kBitRate,     Quantity::kLength,        Quantity::kSize,
                                    Quantity::kTime,        Quantity::kProbability,   Quantity::kPackets,
                                    Quantity::kMessageRate, Quantity::kDelayPerLength};

std::string_view quantity_name(Quantity quantity) {
  switch (quantity) {
    case Quantity::kBitRate:
      return "rate";
    case Quantity::kLength:
      return "length";
    case Quantity::kSize:
      return "size";
    case Quantity::kTime:
      return "time";
    case Quantity::kProbability:
      return "probability";
    case Quantity::kPackets:
      return "packets";
    case Quantity::kMessageRate:
      return "message_rate";
    case Quantity::kDelayPerLength:
      return "delay_per_length";
  }
  return "";
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class Texts>
std::string enumeration(const Texts& texts) {
  std::string list;
  for (const auto& text : texts) list += (list.empty() ? "" : ", ") + json_quoted(text);
  return "\"enum\": [" + list + "]";
}

std::string reference(std::string_view name) {
  return fmt::format("{{\"$ref\": \"#/definitions/{}\"}}", name);
}

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

// The keywords of a value, without braces.
std::string type_of(const ValueInfo& value) {
  switch (value.kind) {
    case FieldKind::kNumber:
      return fmt::format("\"type\": \"integer\", \"minimum\": {}", value.min) +
             (value.max < kUnbounded ? fmt::format(", \"maximum\": {}", value.max) : "");
    case FieldKind::kQuantity:
      return fmt::format("\"allOf\": [{}]", reference(quantity_name(value.quantity)));
    case FieldKind::kBytes:
      return fmt::format("\"anyOf\": [{}, {{\"type\": \"integer\", \"minimum\": 0}}]", reference("size"));
    case FieldKind::kDecimal:
      return "\"type\": \"number\"";
    case FieldKind::kFlag:
      return "\"type\": \"boolean\"";
    case FieldKind::kChoice:
      return enumeration(value.words.texts());
    case FieldKind::kText:
      return value.names == nullptr ? "\"type\": \"string\"" : enumeration(value.names());
    case FieldKind::kName:
      return fmt::format("\"allOf\": [{}]", reference("name"));
    case FieldKind::kOther:
      return std::string(value.shape);
    case FieldKind::kSection:
      break;
  }
  const std::string own = reference(value.section->name);
  switch (value.nesting) {
    case Nesting::kOne:
      return fmt::format("\"allOf\": [{}]", own);
    case Nesting::kByClass:
      return "\"type\": \"object\", \"propertyNames\": {\"pattern\": \"^[0-7]$\"}, \"additionalProperties\": " + own;
    case Nesting::kByName:
      return fmt::format("\"type\": \"object\", \"propertyNames\": {}, \"additionalProperties\": {}", reference("name"),
                         own);
    case Nesting::kList:
      return "\"type\": \"array\", \"items\": " + own;
    case Nesting::kSome:
      return "\"type\": \"array\", \"minItems\": 1, \"items\": " + own;
  }
  return "";
}

std::string property(const FieldInfo& field, bool or_null) {
  std::string type = type_of(field.value);
  if (!field.value.also.empty())
    type = fmt::format("\"anyOf\": [{{{}}}, {{\"const\": {}}}]", type, json_quoted(field.value.also));
  if (or_null && field.value.kind == FieldKind::kSection)
    type = fmt::format("\"anyOf\": [{{{}}}, {{\"type\": \"null\"}}]", type);
  return fmt::format("{}: {{\"description\": {}, {}}}", json_quoted(field.key), json_quoted(plain_text(field.help)),
                     type);
}

// Its keys, those of its parts that stand beside them, and `base`'s.
std::string object_of(const Section& section, const Section* base, bool or_null) {
  std::string properties, required;
  std::vector<std::string_view> keys;
  const auto add = [&](const Section& of, const auto& add_parts) -> void {
    for (const FieldInfo& field : of.fields) {
      if (std::find(keys.begin(), keys.end(), field.key) != keys.end()) continue;
      keys.push_back(field.key);
      properties += (properties.empty() ? "\n      " : ",\n      ") + property(field, or_null);
      if (!field.notes.required.empty()) required += (required.empty() ? "" : ", ") + json_quoted(field.key);
    }
    if (of.parts.kind != Parts::kTogether) return;
    for (const Section* part : of.parts) add_parts(*part, add_parts);
  };
  if (base != nullptr) add(*base, add);
  add(section, add);
  std::string text = "\"type\": \"object\", \"additionalProperties\": false";
  if (!section.help.empty()) text += ", \"description\": " + json_quoted(plain_text(section.help));
  text += ",\n    \"properties\": {" + properties + "\n    }";
  if (!required.empty()) text += ",\n    \"required\": [" + required + "]";
  if (!section.rules.empty()) text += ",\n    " + std::string(section.rules);
  return text;
}

std::string alternatives_of(const Section& section) {
  std::string text = "\"description\": " + json_quoted(plain_text(section.help));
  std::string any, choices;
  for (const Section* part : section.parts) {
    any += (any.empty() ? "" : ", ") + (section.parts.kind == Parts::kAny
                                            ? reference(part->name)
                                            : fmt::format("{{\"required\": [{}]}}", json_quoted(part->fields[0].key)));
    choices += (choices.empty() ? "" : ",") + fmt::format("\n      {{\"if\": {{\"required\": [{}]}}, \"then\": {}}}",
                                                          json_quoted(part->fields[0].key), reference(part->name));
  }
  if (section.parts.kind == Parts::kAny) return text + ", \"anyOf\": [" + any + "]";
  return text + ",\n    \"type\": \"object\",\n    \"oneOf\": [" + any + "],\n    \"allOf\": [" + choices + "\n    ]";
}

std::string pattern_of(Quantity quantity) {
  std::string units;
  for (const Unit& unit : units_of(quantity)) units += (units.empty() ? "" : "|") + std::string(unit.name);
  return R"(^(0|[1-9][0-9]*)(\\.[0-9]+)? ?()" + units + ")$";
}

// "0 to 63", "time", "`drop` or `pass`".
std::string form_of(const ValueInfo& value) {
  const auto listed = [](const auto& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
      text += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
    return text;
  };
  if (!value.form.empty()) return std::string(value.form);
  switch (value.kind) {
    case FieldKind::kNumber:
      if (value.max < UINT32_MAX) return fmt::format("{} to {}", value.min, value.max);
      return value.min == 0 ? "number" : fmt::format("number from {}", value.min);
    case FieldKind::kQuantity:
      return value.quantity == Quantity::kMessageRate ? "message rate" : std::string(quantity_name(value.quantity));
    case FieldKind::kBytes:
      return "size";
    case FieldKind::kDecimal:
      return "number";
    case FieldKind::kFlag:
      return "true or false";
    case FieldKind::kChoice:
      return listed(value.words.texts());
    case FieldKind::kText:
    case FieldKind::kOther:
      return "text";
    case FieldKind::kName:
      return "name";
    case FieldKind::kSection:
      break;
  }
  constexpr std::array<std::string_view, 5> kForms = {"map", "map by class, 0 to 7", "map by name", "list", "list"};
  return std::string(kForms[static_cast<std::size_t>(value.nesting)]);
}

}  // namespace

std::string plain_text(std::string_view markdown) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    if (c == '[' && markdown.find("](", i) < markdown.find(']', i) + 1) {
      const std::size_t end = markdown.find("](", i);
      text += plain_text(markdown.substr(i + 1, end - i - 1));
      i = markdown.find(')', end);
      if (i == markdown.npos) break;
    } else if (c == '\\' && i + 1 < markdown.size()) {
      text += markdown[++i];
    } else if (c != '`') {
      text += c;
    }
  }
  return text;
}

std::string schema_of(const Section& root, std::string_view title) {
  std::string text =
      "{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n  \"title\": " + json_quoted(title) + ",\n  " +
      object_of(root, nullptr, true) + ",\n  \"definitions\": {";
  const std::vector<const Section*> all = sections_below(root);
  // A part that is one of several has the keys of its section too.
  const auto base_of = [&](const Section* part) -> const Section* {
    for (const Section* each : all) {
      if (each->parts.kind == Parts::kByKey &&
          std::find(each->parts.begin(), each->parts.end(), part) != each->parts.end())
        return each;
    }
    return nullptr;
  };
  for (const Section* section : all) {
    if (section == &root) continue;
    text += fmt::format("\n    {}: {{{}}},", json_quoted(section->name),
                        section->parts.kind == Parts::kTogether || section->parts.kind == Parts::kElsewhere
                            ? object_of(*section, base_of(section), false)
                            : alternatives_of(*section));
  }
  for (const Quantity quantity : kQuantities) {
    text += fmt::format("\n    {}: {{\"type\": \"string\", \"pattern\": \"{}\"}},",
                        json_quoted(quantity_name(quantity)), pattern_of(quantity));
  }
  return text + "\n    \"name\": {\"type\": \"string\", \"pattern\": \"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$\"}\n  }\n}\n";
}

std::string key_table(const Section& section) {
  std::string text = "| key | value | left out | |\n|---|---|---|---|\n";
  for (const FieldInfo& field : section.fields) {
    std::string form = form_of(field.value);
    if (!field.value.also.empty()) form += fmt::format(" or `{}`", field.value.also);
    text += fmt::format("| `{}` | {} | {} | {} |\n", field.key, form,
                        field.notes.required.empty() ? field.fallback : "required", field.help);
  }
  return text;
}

tl::expected<std::string, std::string> with_key_tables(std::string_view page, const Section& root) {
  constexpr std::string_view kBegin = "<!-- keys: ", kBeginEnd = " -->\n", kEnd = "<!-- /keys -->";
  std::vector<const Section*> rest = sections_below(root);
  std::string text;
  for (std::size_t at = page.find(kBegin); at != page.npos; at = page.find(kBegin)) {
    const std::size_t name_end = page.find(kBeginEnd, at), end = page.find(kEnd, at);
    if (name_end == page.npos || end == page.npos || end < name_end)
      return tl::unexpected(fmt::format("a line {}NAME --> without {}", kBegin, kEnd));
    const std::string_view name = page.substr(at + kBegin.size(), name_end - at - kBegin.size());
    const auto found = std::find_if(rest.begin(), rest.end(), [&](const Section* each) { return each->name == name; });
    if (found == rest.end())
      return tl::unexpected(fmt::format("there is no section {}, or it has a table above", name));
    text += page.substr(0, name_end + kBeginEnd.size());
    text += key_table(**found);
    rest.erase(found);
    page.remove_prefix(end);
  }
  std::erase_if(rest, [](const Section* each) { return each->fields.size() == 0; });
  if (!rest.empty()) return tl::unexpected(fmt::format("section {} has no table", rest.front()->name));
  return text + std::string(page);
}

}  // namespace weft::lab

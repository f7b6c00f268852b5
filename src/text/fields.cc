#include "text/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

void add_below(const Section& section, std::vector<const Section*>& all) {
  if (std::find(all.begin(), all.end(), &section) != all.end()) return;
  all.push_back(&section);
  for (const FieldInfo& field : section.fields) {
    if (field.value.section != nullptr) add_below(*field.value.section, all);
  }
  for (const Section* part : section.parts) add_below(*part, all);
}

}  // namespace

std::vector<std::string_view> WordList::texts() const {
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < size(); ++i) texts.push_back(text(i));
  return texts;
}

const FieldInfo* Section::find(std::string_view key) const {
  for (const FieldInfo& field : fields) {
    if (field.key == key) return &field;
  }
  if (parts.kind != Parts::kTogether && parts.kind != Parts::kByKey) return nullptr;
  for (const Section* part : parts) {
    if (const FieldInfo* field = part->find(key)) return field;
  }
  return nullptr;
}

std::vector<std::string_view> Section::keys() const {
  std::vector<std::string_view> keys;
  const auto add = [&](std::string_view key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const FieldInfo& field : fields) add(field.key);
  if (parts.kind != Parts::kTogether && parts.kind != Parts::kByKey) return keys;
  for (const Section* part : parts) {
    for (std::string_view key : part->keys()) add(key);
  }
  return keys;
}

std::optional<std::int64_t> read_value(const YamlNode& node, const FieldInfo& field, ProblemList& problems) {
  const ValueInfo& value = field.value;
  const std::string_view what = field.what();
  const auto number = [](const auto& read) {
    return read ? std::optional(static_cast<std::int64_t>(*read)) : std::nullopt;
  };
  const Range<std::int64_t> range{value.min, static_cast<std::int64_t>(value.max)};
  switch (value.kind) {
    case FieldKind::kNumber:
      return number(read_unsigned(node, what, {static_cast<std::uint64_t>(value.min), value.max}, problems));
    case FieldKind::kQuantity:
      return read_quantity(node, what, value.quantity, range, problems);
    case FieldKind::kBytes:
      return read_bytes(node, what, range, problems);
    case FieldKind::kFlag:
      return number(read_bool(node, what, problems));
    case FieldKind::kChoice: {
      const auto index = read_word(node, what, value.words.texts(), problems);
      return index ? std::optional(value.words.value(*index)) : std::nullopt;
    }
    case FieldKind::kOther:
      return value.parse(node, what, problems);
    default:
      return std::nullopt;
  }
}

bool read_field(const YamlNode& node, const FieldInfo& field, void* object, ProblemList& problems) {
  const ValueInfo& value = field.value;
  const std::string_view what = field.what();
  WEFT_CHECK(value.is_readable(), "a row without a member");
  if (!value.also.empty() && value.clear != nullptr && node.is_scalar() && node.text == value.also) {
    value.clear(object);
    return true;
  }
  if (value.store_decimal != nullptr) {
    const auto read = read_number(node, what, problems);
    if (read) value.store_decimal(object, *read);
    return read.has_value();
  }
  if (value.store_text != nullptr) {
    const auto read =
        value.kind == FieldKind::kText ? read_text(node, what, problems) : read_name(node, what, problems);
    if (read) value.store_text(object, *read);
    return read.has_value();
  }
  const auto read = read_value(node, field, problems);
  if (read) value.store(object, *read);
  return read.has_value();
}

std::optional<std::string> field_text(const FieldInfo& field, const void* object) {
  const ValueInfo& value = field.value;
  if (value.load_text != nullptr) return std::string(value.load_text(object));
  const auto number = value.load == nullptr ? std::nullopt : value.load(object);
  if (!number) return std::nullopt;
  if (value.format != nullptr) return value.format(*number);
  switch (value.kind) {
    case FieldKind::kQuantity:
    case FieldKind::kBytes:
      // Exact, and in the units that data sheets have.
      return value.quantity == Quantity::kSize && *number > 0 && *number % 1000 == 0
                 ? fmt::format("{} kB", *number / 1000)
                 : format_quantity(*number, value.quantity);
    case FieldKind::kFlag:
      return *number != 0 ? "true" : "false";
    case FieldKind::kChoice:
      for (std::size_t i = 0; i < value.words.size(); ++i) {
        if (value.words.value(i) == *number) return std::string(value.words.text(i));
      }
      return std::nullopt;
    default:
      return fmt::format("{}", *number);
  }
}

const FieldInfo* find_field(const Section& section, std::string_view path) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const FieldInfo* field = section.find(path.substr(0, dot));
  if (field == nullptr || dot == path.size()) return field;
  path.remove_prefix(dot + 1);
  if (field->value.kind != FieldKind::kSection) return nullptr;
  if (field->value.nesting != Nesting::kOne) {
    const std::size_t end = std::min(path.find('.'), path.size());
    if (end == path.size()) return nullptr;
    path.remove_prefix(end + 1);
  }
  return find_field(*field->value.section, path);
}

std::vector<const Section*> sections_below(const Section& section) {
  std::vector<const Section*> all;
  add_below(section, all);
  return all;
}

}  // namespace weft::lab

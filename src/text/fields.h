// A setting, said once: one row has its key, the member that holds it, unit and range, what holds when it is left out,
// a sentence of help, and where it applies to them, a title for the page, whether a world that is up takes a change,
// and the name that other tools give it. A table of rows makes a Section. From sections come the reader with its
// errors, the list of known keys, `weft set`, the knobs of the page, `weft schema` and the tables of docs/lab-file.md.
//
//   constexpr Field<EcnRamp> kEcn[] = {
//       {"min", quantity_at<&EcnRamp::min_B>(Quantity::kSize, kBufferSizes), "", "nothing is marked below"}, ...
//
// What a row cannot say (checks across keys, defaults that depend on others, names that are looked up) the section's
// own reader does; such a row has no member, and yet key, help and the shape of its value.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/problem.h"
#include "text/units.h"
#include "text/word.h"
#include "text/yaml_tree.h"

namespace weft::lab {

enum class FieldKind : std::uint8_t {
  kNumber,    // unsigned
  kQuantity,  // with a unit
  kBytes,     // likewise; a number alone is one
  kDecimal,
  kFlag,
  kChoice,
  kText,
  kName,
  kSection,
  kOther  // its shape says what
};

// Below the key of a section; kSome: a list that is not empty.
enum class Nesting : std::uint8_t { kOne, kByClass, kByName, kList, kSome };

// What takes a change in a world that is up, and how.
enum class Live : std::uint8_t {
  kNo,
  kQueue,       // switches: ECN and alpha of queues and groups
  kCongestion,  // hosts: parameters of congestion control
  kPfc,         // both
  kPauseMode,   // hosts, as are those below
  kTrust,
  kPriorityOfDscp,
  kDscp,
  kMtu
};
constexpr bool is_live(Live live, bool at_switch) {
  return live != Live::kNo && (live == Live::kPfc || (live == Live::kQueue) == at_switch);
}

// The words of a choice, whatever it is a choice of.
struct WordList {
  std::size_t (*size)() = nullptr;
  std::string_view (*text)(std::size_t) = nullptr;
  std::int64_t (*value)(std::size_t) = nullptr;

  std::vector<std::string_view> texts() const;
};

struct FieldInfo;

class FieldList {
 public:
  using At = const FieldInfo& (*)(std::size_t);
  class Iterator {
   public:
    constexpr Iterator(At at, std::size_t index) : at_(at), index_(index) {}
    const FieldInfo& operator*() const { return at_(index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    At at_;
    std::size_t index_;
  };

  constexpr FieldList() = default;
  constexpr FieldList(std::size_t size, At at) : size_(size), at_(at) {}
  constexpr std::size_t size() const { return size_; }
  const FieldInfo& operator[](std::size_t index) const { return at_(index); }
  constexpr Iterator begin() const { return {at_, 0}; }
  constexpr Iterator end() const { return {at_, size_}; }

 private:
  std::size_t size_ = 0;
  At at_ = nullptr;
};

struct Section;

// Sections whose keys stand in the same map: beside those of the section; those of one of them, which its first key
// says; or a map of its own each, of which a value has to be one. kElsewhere: maps that a shape names.
struct Parts {
  enum Kind : std::uint8_t { kTogether, kByKey, kAny, kElsewhere };

  std::size_t size = 0;
  const Section* const* sections = nullptr;
  Kind kind = kTogether;

  constexpr Parts() = default;
  template <std::size_t kSize>
  constexpr Parts(const Section* const (&all)[kSize], Kind how = kTogether) : size(kSize), sections(all), kind(how) {}
  const Section* const* begin() const { return sections; }
  const Section* const* end() const { return sections + size; }
};

// A map of the lab file.
struct Section {
  std::string_view name;  // "ecn": of its definition in the schema, and of its table in the docs
  std::string_view help;
  FieldList fields;
  Parts parts = {};
  std::string_view rules = "";  // more keywords of JSON schema: what keys have to do with each other

  // With those of all parts, each once.
  const FieldInfo* find(std::string_view key) const;
  std::vector<std::string_view> keys() const;
};

struct ValueInfo {
  FieldKind kind = FieldKind::kOther;
  Quantity quantity = Quantity::kSize;
  std::int64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::int64_t>::max();
  WordList words;
  std::string_view also;  // a word in place of a value: "auto", "off"
  // Without: the section's own reader sees to it.
  void (*store)(void* object, std::int64_t value) = nullptr;
  void (*store_decimal)(void* object, double value) = nullptr;
  void (*store_text)(void* object, std::string_view text) = nullptr;
  void (*clear)(void* object) = nullptr;  // for `also`
  std::optional<std::int64_t> (*load)(const void* object) = nullptr;
  std::string_view (*load_text)(const void* object) = nullptr;
  // Of kOther: reads the text to a number, and writes it.
  std::optional<std::int64_t> (*parse)(const YamlNode& node, std::string_view what, ProblemList& problems) = nullptr;
  std::string (*format)(std::int64_t value) = nullptr;
  std::vector<std::string_view> (*names)() = nullptr;  // of kText: the only ones that there are
  std::string_view shape;                              // of kOther: JSON schema
  std::string_view form;                               // what the docs call such a value
  const Section* section = nullptr;
  Nesting nesting = Nesting::kOne;
  void* (*nested)(void* object, std::size_t index) = nullptr;  // the object of the section

  // Of a section `store` and `load` are of what `also` ("off") switches.
  bool is_readable() const {
    return kind != FieldKind::kSection && (store != nullptr || store_decimal != nullptr || store_text != nullptr);
  }
};

// What only some rows have.
struct FieldNotes {
  std::string_view required = "";  // an example: then the key is
  std::string_view title = "";     // on the page, where it is a knob
  std::string_view called = "";    // in problems, in place of the key
  Live live = Live::kNo;
  // Names of the vendors' tools: SONiC's CONFIG_DB, NVUE; mlxconfig's where the key is another.
  std::string_view sonic = "";
  std::string_view nvue = "";
  std::string_view mlxconfig = "";
};

struct FieldInfo {
  std::string_view key;
  ValueInfo value;
  std::string_view fallback;  // when it is left out, for the docs
  std::string_view help;      // Markdown; the schema has it as plain text
  FieldNotes notes;

  std::string_view what() const { return notes.called.empty() ? key : notes.called; }
};

// A value that is held by a member of T; void: by none.
template <class T>
struct Value {
  ValueInfo info;
  constexpr Value(ValueInfo value) : info(value) {}
  template <class U>
  requires(std::is_void_v<U> && !std::is_void_v<T>) constexpr Value(const Value<U>& value) : info(value.info) {}
  constexpr Value or_word(std::string_view word) const {
    Value value = *this;
    value.info.also = word;
    return value;
  }
  // Of a section: `off` in place of a map.
  template <auto... Path>
  constexpr Value or_off() const;
};

template <class T>
struct Field {
  FieldInfo info;
  constexpr Field(std::string_view key, Value<T> value, std::string_view fallback, std::string_view help,
                  FieldNotes notes = {})
      : info{key, value.info, fallback, help, notes} {}
};

// A section whose rows have members of T.
template <class T>
struct SectionOf : Section {};

// `Fields` is an array of Field<T> with static storage.
template <const auto& Fields>
constexpr FieldList list_of() {
  return {std::size(Fields), [](std::size_t index) -> const FieldInfo& { return Fields[index].info; }};
}
template <class T>
T object_of(const Field<T>&);
template <const auto& Fields>
constexpr auto section_of(std::string_view name, std::string_view help, Parts parts = {}, std::string_view rules = "") {
  return SectionOf<decltype(object_of(Fields[0]))>{{name, help, list_of<Fields>(), parts, rules}};
}

namespace fields {

template <class Member>
struct MemberPointer;
template <class T, class M>
struct MemberPointer<M T::*> {
  using Owner = T;
};
template <auto... Path>
struct OwnerOf;
template <auto First, auto... Rest>
struct OwnerOf<First, Rest...> : MemberPointer<decltype(First)> {};
// Of the first member.
template <auto... Path>
using Owner = typename OwnerOf<Path...>::Owner;

// `object.*first.*second`.
template <class Object, class First, class... Rest>
constexpr auto& reach(Object& object, First first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*first;
  } else {
    return reach(object.*first, rest...);
  }
}

template <class T>
struct Plain {
  using Type = T;
  static constexpr bool kOptional = false;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
  static constexpr bool kOptional = true;
};

template <auto... Path>
void store(void* object, std::int64_t value) {
  auto& member = reach(*static_cast<Owner<Path...>*>(object), Path...);
  using Type = typename Plain<std::remove_reference_t<decltype(member)>>::Type;
  member = static_cast<Type>(value);
}
template <auto... Path>
void store_decimal(void* object, double value) {
  reach(*static_cast<Owner<Path...>*>(object), Path...) = value;
}
template <auto... Path>
void store_text(void* object, std::string_view text) {
  reach(*static_cast<Owner<Path...>*>(object), Path...) = std::string(text);
}
template <auto... Path>
std::string_view load_text(const void* object) {
  return reach(*static_cast<const Owner<Path...>*>(object), Path...);
}
template <auto... Path>
void clear(void* object) {
  reach(*static_cast<Owner<Path...>*>(object), Path...).reset();
}
template <auto... Path>
std::optional<std::int64_t> load(const void* object) {
  const auto& member = reach(*static_cast<const Owner<Path...>*>(object), Path...);
  if constexpr (Plain<std::remove_cvref_t<decltype(member)>>::kOptional) {
    return member ? std::optional(static_cast<std::int64_t>(*member)) : std::nullopt;
  } else {
    return static_cast<std::int64_t>(member);
  }
}
template <auto... Path>
constexpr ValueInfo numeric(FieldKind kind) {
  ValueInfo info;
  info.kind = kind;
  info.store = store<Path...>;
  info.load = load<Path...>;
  using Member = std::remove_cvref_t<decltype(reach(std::declval<Owner<Path...>&>(), Path...))>;
  if constexpr (Plain<Member>::kOptional) info.clear = clear<Path...>;
  return info;
}
template <auto Words>
constexpr WordList words_of() {
  return {[]() -> std::size_t { return std::size(Words()); }, [](std::size_t i) { return Words()[i].text; },
          [](std::size_t i) { return static_cast<std::int64_t>(Words()[i].value); }};
}

struct Bounds {
  std::int64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};
struct Sizes {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

}  // namespace fields

// Values that are held by the member at the end of a path of members.
template <auto... Path>
constexpr auto number_at(fields::Bounds range = {}) {
  ValueInfo info = fields::numeric<Path...>(FieldKind::kNumber);
  info.min = range.min;
  info.max = range.max;
  return Value<fields::Owner<Path...>>(info);
}
template <auto... Path>
constexpr auto quantity_at(Quantity quantity, fields::Sizes range = {}) {
  ValueInfo info = fields::numeric<Path...>(FieldKind::kQuantity);
  info.quantity = quantity;
  info.min = range.min;
  info.max = static_cast<std::uint64_t>(range.max);
  return Value<fields::Owner<Path...>>(info);
}
// A size that every tool gives in bytes, so that a number alone is one.
template <auto... Path>
constexpr auto bytes_at(fields::Sizes range = {}) {
  ValueInfo info = quantity_at<Path...>(Quantity::kSize, range).info;
  info.kind = FieldKind::kBytes;
  return Value<fields::Owner<Path...>>(info);
}
template <auto... Path>
constexpr auto decimal_at() {
  ValueInfo info;
  info.kind = FieldKind::kDecimal;
  info.store_decimal = fields::store_decimal<Path...>;
  return Value<fields::Owner<Path...>>(info);
}
template <auto... Path>
constexpr auto flag_at() {
  return Value<fields::Owner<Path...>>(fields::numeric<Path...>(FieldKind::kFlag));
}
template <auto Words, auto... Path>
constexpr auto choice_at() requires(sizeof...(Path) > 0) {
  ValueInfo info = fields::numeric<Path...>(FieldKind::kChoice);
  info.words = fields::words_of<Words>();
  return Value<fields::Owner<Path...>>(info);
}
template <auto... Path>
constexpr auto text_at() requires(sizeof...(Path) > 0) {
  ValueInfo info;
  info.kind = FieldKind::kText;
  info.store_text = fields::store_text<Path...>;
  info.load_text = fields::load_text<Path...>;
  return Value<fields::Owner<Path...>>(info);
}
template <auto... Path>
constexpr auto name_at() requires(sizeof...(Path) > 0) {
  ValueInfo info;
  info.kind = FieldKind::kName;
  info.store_text = fields::store_text<Path...>;
  info.load_text = fields::load_text<Path...>;
  return Value<fields::Owner<Path...>>(info);
}
// A number in a notation of its own.
template <auto... Path>
constexpr auto parsed_at(decltype(ValueInfo::parse) parse, decltype(ValueInfo::format) format, std::string_view shape,
                         std::string_view form) {
  ValueInfo info = fields::numeric<Path...>(FieldKind::kOther);
  info.parse = parse;
  info.format = format;
  info.shape = shape;
  info.form = form;
  return Value<fields::Owner<Path...>>(info);
}

// Of an array of words, for choice_at<> and choice_value<>.
template <const auto& Words>
constexpr auto choice_words() {
  return std::span(Words);
}

// Values that the section's own reader sees to.
constexpr Value<void> number_value(fields::Bounds range = {}) {
  ValueInfo info;
  info.kind = FieldKind::kNumber;
  info.min = range.min;
  info.max = range.max;
  return info;
}
constexpr Value<void> quantity_value(Quantity quantity) {
  ValueInfo info;
  info.kind = FieldKind::kQuantity;
  info.quantity = quantity;
  return info;
}
constexpr Value<void> value_of(FieldKind kind) {
  ValueInfo info;
  info.kind = kind;
  return info;
}
template <auto Words>
constexpr Value<void> choice_value() {
  ValueInfo info;
  info.kind = FieldKind::kChoice;
  info.words = fields::words_of<Words>();
  return info;
}
constexpr Value<void> one_of(std::vector<std::string_view> (*names)(), std::string_view form) {
  ValueInfo info;
  info.kind = FieldKind::kText;
  info.names = names;
  info.form = form;
  return info;
}
constexpr Value<void> shaped(std::string_view shape, std::string_view form) {
  ValueInfo info;
  info.shape = shape;
  info.form = form;
  return info;
}
constexpr Value<void> section_value(const Section& section, Nesting nesting = Nesting::kOne) {
  ValueInfo info;
  info.kind = FieldKind::kSection;
  info.section = &section;
  info.nesting = nesting;
  return info;
}
// A section whose object is a member: `weft set` and the page find its values there. kByClass: of an array of them.
template <auto... Path>
constexpr auto section_at(const Section& table, Nesting nesting = Nesting::kOne) {
  ValueInfo info = section_value(table, nesting).info;
  info.nested = [](void* object, std::size_t index) -> void* {
    auto& member = fields::reach(*static_cast<fields::Owner<Path...>*>(object), Path...);
    if constexpr (requires { member[index]; }) {
      return &member[index];
    } else {
      return &member;
    }
  };
  return Value<fields::Owner<Path...>>(info);
}

// A section whose keys are members of the object that has the section.
constexpr Value<void> section_here(const Section& table) {
  ValueInfo info = section_value(table).info;
  info.nested = [](void* object, std::size_t) { return object; };
  return info;
}
template <class T>
template <auto... Path>
constexpr Value<T> Value<T>::or_off() const {
  Value value = or_word("off");
  value.info.store = fields::store<Path...>;
  value.info.load = fields::load<Path...>;
  return value;
}

// What the row says, where that is a number: in the base unit, 0 or 1, the value of a word. Nothing: a problem was
// reported.
std::optional<std::int64_t> read_value(const YamlNode& node, const FieldInfo& field, ProblemList& problems);
// Reads what the row says to the member of `object`, which is of the row's T. False: a problem was reported.
bool read_field(const YamlNode& node, const FieldInfo& field, void* object, ProblemList& problems);
// The value as the lab file writes it; nothing: it has none, or it is `also`.
std::optional<std::string> field_text(const FieldInfo& field, const void* object);

// "ecn.min" of a section, "queues.3.ecn" where a number stands for a class; null: there is no such key.
const FieldInfo* find_field(const Section& section, std::string_view path);
// `section` and all that are below it, each once.
std::vector<const Section*> sections_below(const Section& section);

}  // namespace weft::lab

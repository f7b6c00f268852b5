#include "catalog/host_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "spec/pcie_link.h"

namespace weft::lab {
namespace {

constexpr std::string_view kNumaRemedy =
    "write it like cpus 0-7,32-39 memory 64 GB lanes 32; memory and lanes may be left out";
constexpr std::string_view kLinkRemedy = "write it like 0-1 170 Gbps 60 ns, or 0-1 170 Gbps 60 ns load 5 % burst 5 KiB";
constexpr std::string_view kSlotRemedy =
    "write it like slot6 node1 3.0 x16, or slot1 switch0 4.0 x16 below a PCIe switch";
constexpr std::uint64_t kMaxCpu = 4095;

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<std::uint64_t> number_in(std::string_view text, std::string_view before, std::string_view after) {
  if (text.size() < before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after))
    return std::nullopt;
  const auto number = parse_unsigned(text.substr(before.size(), text.size() - before.size() - after.size()));
  return number ? std::optional(*number) : std::nullopt;
}

class LayoutParser {
 public:
  LayoutParser(const LayoutText& text, host::Layout& layout) : text_(text), layout_(layout) {}

  std::vector<LayoutProblem> parse() {
    each(LayoutList::kNuma, text_.numa, [&](std::string_view line) { numa(line); });
    each(LayoutList::kLinks, text_.links, [&](std::string_view line) { link(line); });
    each(LayoutList::kSlots, text_.slots, [&](std::string_view line) { slot(line); });
    if (!problems_.empty()) return std::move(problems_);
    at(LayoutList::kNuma, 0);
    if (layout_.nodes.empty()) wrong("a host without NUMA nodes", std::string(kNumaRemedy));
    for (std::uint32_t i = 1; i < layout_.nodes.size(); ++i) {
      at(LayoutList::kNuma, i);
      if (!layout_.joined(0, i))
        wrong(fmt::format("nothing joins node {} and node 0", i), fmt::format("add a link: 0-{} 170 Gbps 60 ns", i));
    }
    return std::move(problems_);
  }

 private:
  template <class Read>
  void each(LayoutList list, const std::vector<std::string>& lines, const Read& read) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      at(list, i);
      read(lines[i]);
    }
  }
  void at(LayoutList list, std::size_t index) {
    list_ = list;
    index_ = index;
  }
  void wrong(std::string message, std::string remedy) {
    problems_.push_back({list_, index_, {std::move(message), std::move(remedy)}});
  }

  void numa(std::string_view line) {
    host::NumaNode& node = layout_.nodes.emplace_back();
    const auto words = words_in(line);
    const auto misread = [&] {
      wrong(fmt::format("\"{}\" does not describe a NUMA node", line), std::string(kNumaRemedy));
    };
    for (std::size_t i = 0; i < words.size();) {
      const bool size_follows = i + 2 < words.size();
      if (words[i] == "cpus" && i + 1 < words.size()) {
        if (!cpus(words[i + 1], node)) return;
        i += 2;
      } else if (words[i] == "memory" && size_follows) {
        const auto size_B = parse_quantity(fmt::format("{} {}", words[i + 1], words[i + 2]), Quantity::kSize);
        if (!size_B) return misread();
        node.memory_B = *size_B;
        i += 3;
      } else if (words[i] == "lanes" && i + 1 < words.size() && parse_unsigned(words[i + 1]).value_or(257) <= 256) {
        node.lanes = static_cast<std::uint32_t>(*parse_unsigned(words[i + 1]));
        i += 2;
      } else {
        return misread();
      }
    }
    if (node.cpus.empty() && node.memory_B == 0) misread();
  }

  bool cpus(std::string_view text, host::NumaNode& node) {
    while (!text.empty()) {
      const std::string_view range = text.substr(0, text.find(','));
      text.remove_prefix(std::min(range.size() + 1, text.size()));
      const std::size_t dash = range.find('-');
      const auto first = parse_unsigned(range.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : parse_unsigned(range.substr(dash + 1));
      if (!first || !last || *last < *first || *last > kMaxCpu) {
        wrong(fmt::format("\"{}\" is not a range of CPUs", range), "write it like 0-7,32-39");
        return false;
      }
      std::vector<std::uint32_t>& list = node.cpus.emplace_back();
      for (auto cpu = static_cast<std::uint32_t>(*first); cpu <= *last; ++cpu) {
        const auto [other, is_new] = node_of_cpu_.try_emplace(cpu, layout_.nodes.size() - 1);
        if (!is_new) {
          wrong(fmt::format("CPU {} is on node {} already", cpu, other->second), "give each CPU to one node");
          return false;
        }
        list.push_back(cpu);
      }
      if (list.size() != node.cpus.front().size()) {
        wrong(fmt::format("{} CPUs in {}, and {} in the first range", list.size(), range, node.cpus.front().size()),
              "each range has one thread of every core: make them equally long");
        return false;
      }
    }
    return true;
  }

  std::optional<std::uint32_t> node_number(std::string_view text) {
    const auto number = parse_unsigned(text);
    if (!number) return std::nullopt;
    if (*number < layout_.nodes.size()) return static_cast<std::uint32_t>(*number);
    wrong(fmt::format("there is no NUMA node {}", *number),
          layout_.nodes.size() < 2 ? "there is node 0"
                                   : fmt::format("there are nodes 0 to {}", layout_.nodes.size() - 1));
    return std::nullopt;
  }

  void link(std::string_view line) {
    const std::size_t before = problems_.size();
    const auto words = words_in(line);
    const auto misread = [&] {
      if (problems_.size() == before)
        wrong(fmt::format("\"{}\" does not describe a link between NUMA nodes", line), std::string(kLinkRemedy));
    };
    const std::size_t dash = words.empty() ? std::string_view::npos : words[0].find('-');
    if ((words.size() != 5 && words.size() != 11) || dash == std::string_view::npos) return misread();
    host::NumaLink link;
    const auto a = node_number(words[0].substr(0, dash)), b = node_number(words[0].substr(dash + 1));
    const auto rate_bps = parse_quantity(fmt::format("{} {}", words[1], words[2]), Quantity::kBitRate);
    const auto latency_ps = parse_quantity(fmt::format("{} {}", words[3], words[4]), Quantity::kTime);
    if (!a || !b || *a == *b || !rate_bps || *rate_bps < 1'000'000 || !latency_ps || *latency_ps > us(100))
      return misread();
    link.a = *a;
    link.b = *b;
    link.rate_bps = *rate_bps;
    link.latency_ps = *latency_ps;
    if (words.size() == 11) {
      const auto load = parse_unsigned(words[6]);
      const auto burst_B = parse_quantity(fmt::format("{} {}", words[9], words[10]), Quantity::kSize);
      if (words[5] != "load" || words[7] != "%" || words[8] != "burst" || !load || *load > 95 || !burst_B ||
          *burst_B > 1 << 30)
        return misread();
      link.load_permille = static_cast<std::uint32_t>(*load * 10);
      link.burst_B = *burst_B;
    }
    const bool twice = std::any_of(layout_.links.begin(), layout_.links.end(), [&](const host::NumaLink& other) {
      return std::minmax(other.a, other.b) == std::minmax(link.a, link.b);
    });
    if (twice)
      wrong(fmt::format("nodes {} and {} have a link already", link.a, link.b), "write their rate as one link");
    layout_.links.push_back(link);
  }

  void slot(std::string_view line) {
    const auto words = words_in(line);
    if (words.size() != 4 || words[0].starts_with("node")) {
      wrong(fmt::format("\"{}\" does not describe a slot", line), std::string(kSlotRemedy));
      return;
    }
    host::PcieSlot slot;
    slot.name = words[0];
    if (layout_.slot(slot.name))
      return wrong(fmt::format("there is a slot {} already", slot.name), "give each slot a name of its own");
    if (!parent(words[1], slot)) return;
    const auto generation = number_in(words[2], "", ".0");
    if (!generation || *generation < 1 || *generation > 6)
      return wrong(fmt::format("there is no PCIe {}", words[2]), "write 1.0 to 6.0");
    const auto lanes = number_in(words[3], "x", "");
    if (!lanes || *lanes > 16 || !std::has_single_bit(*lanes))
      return wrong(fmt::format("PCIe has no {} link", words[3]), "write x1, x2, x4, x8 or x16");
    slot.generation = static_cast<std::uint32_t>(*generation);
    slot.lanes = static_cast<std::uint32_t>(*lanes);
    layout_.slots.push_back(slot);
    const std::uint32_t has = layout_.nodes[slot.node].lanes;
    std::uint32_t used = 0;
    for (const host::PcieSlot& each : layout_.slots) used += each.parent < 0 && each.node == slot.node ? each.lanes : 0;
    if (slot.parent < 0 && has > 0 && used > has)
      wrong(fmt::format("the slots of node {} take {} lanes with {}, and it has {}", slot.node, used, slot.name, has),
            "make slots narrower, or hang them on a PCIe switch");
  }

  bool parent(std::string_view text, host::PcieSlot& slot) {
    if (const auto other = layout_.slot(text)) {
      slot.parent = static_cast<std::int32_t>(*other);
      slot.node = layout_.slots[*other].node;
      slot.bridge = layout_.slots[*other].bridge;
      return true;
    }
    if (!text.starts_with("node")) {
      wrong(fmt::format("there is no slot {} above", text), "name a slot of an earlier line, or node0");
      return false;
    }
    const std::string_view number = text.substr(4);
    const std::size_t slash = number.find('/');
    const std::size_t before = problems_.size();
    const auto node = node_number(number.substr(0, slash));
    const auto bridge = number_in(slash == std::string_view::npos ? "/0" : number.substr(slash), "/", "");
    if (!node || !bridge || *bridge > 255) {
      if (problems_.size() == before) wrong(fmt::format("\"{}\" is not a NUMA node", text), std::string(kSlotRemedy));
      return false;
    }
    slot.node = *node;
    slot.bridge = static_cast<std::uint32_t>(*bridge);
    return true;
  }

  const LayoutText& text_;
  host::Layout& layout_;
  std::map<std::uint32_t, std::size_t> node_of_cpu_;
  std::vector<LayoutProblem> problems_;
  LayoutList list_ = LayoutList::kNuma;
  std::size_t index_ = 0;
};

}  // namespace

std::vector<LayoutProblem> parse_layout(const LayoutText& text, host::Layout& layout) {
  return LayoutParser(text, layout).parse();
}

}  // namespace weft::lab

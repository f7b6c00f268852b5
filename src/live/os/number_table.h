// Objects by a number that is not used again for a long time: its lower bits are a place in a table, its upper ones
// count the uses of that place, and the place that has been free longest is used first. Whoever holds a number from
// before finds nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace weft::live {

template <typename T>
class NumberTable {
 public:
  std::uint32_t add(T& object) {
    if (free_.size() <= kResting) {
      places_.push_back({&object, static_cast<std::uint32_t>(places_.size())});
      return places_.back().number;
    }
    Place& place = places_[free_.front()];
    free_.pop_front();
    place.object = &object;
    return place.number;
  }
  void remove(std::uint32_t number) {
    std::uint32_t index = number & kPlaceMask;
    if (find(number) == nullptr) return;
    places_[index] = {nullptr, number + kPlaceMask + 1};
    free_.push_back(index);
  }
  T* find(std::uint32_t number) const {
    std::uint32_t index = number & kPlaceMask;
    return index < places_.size() && places_[index].number == number ? places_[index].object : nullptr;
  }

 private:
  static constexpr std::uint32_t kPlaceMask = (1u << 22) - 1;  // more queues than a host has room for
  static constexpr std::size_t kResting = 64;

  struct Place {
    T* object;
    std::uint32_t number;
  };
  std::vector<Place> places_;
  std::deque<std::uint32_t> free_;
};

}  // namespace weft::live

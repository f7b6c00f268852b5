// Hostile config_db.json and .clab.yml: a contract, a lab's text, or problems with places. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/targets.h"
#include "gear/import/clab.h"
#include "gear/import/sonic.h"

int weft::fuzz::gear_import_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto check = [](const std::vector<lab::Problem>& problems) {
    if (problems.empty() || problems[0].message.empty() || problems[0].line < 1) std::abort();
  };
  if (data[0] % 2 == 0) {
    const auto imported = gear::import_sonic(text);
    if (!imported) {
      check(imported.error());
    } else if (gear::contract_values(imported->contract).empty() || gear::contract_yaml(imported->contract).empty()) {
      std::abort();
    }
  } else {
    const auto imported = gear::import_clab(text, {});
    if (!imported) {
      check(imported.error());
    } else if (imported->lab.empty()) {
      std::abort();
    }
  }
  return 0;
}

// weft down [WORLD]: ends a world.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/common.h"
#include "cli/verbs.h"
#include "cli/worlds.h"
#include "live/os/place.h"

namespace weft::cli {

namespace {

constexpr int kPatience = 3000;  // times 10 ms

struct DownArguments {
  std::string world;
  bool json = false;
};

int down(const DownArguments& arguments) {
  use_json(arguments.json);
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  auto world = choose_world(*directory, arguments.world);
  if (!world) return complain(world.error());
  if (auto reply = live::ask_world(live::socket_path(*directory, *world), verbs::Op::kDown); !reply)
    return complain(fmt::format("{}: {}", *world, reply.error()));
  // It takes its folder away when its captures are complete.
  std::error_code error;
  const std::string folder = *directory + "/" + *world;
  for (int i = 0; i < kPatience && std::filesystem::exists(folder, error); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (std::filesystem::exists(folder, error))
    return complain(fmt::format("{} is still busy; it will be down when it has written its captures", *world));
  if (arguments.json) {
    put(fmt::format("{{\"world\": {}, \"down\": true}}\n", json_string(*world)));
  } else {
    put(fmt::format("world {} is down\n", *world));
  }
  return kExitWell;
}

}  // namespace

void add_down(CLI::App& app, int& status) {
  auto arguments = std::make_shared<DownArguments>();
  CLI::App* verb = app.add_subcommand("down", "End a world");
  verb->add_option("WORLD", arguments->world, "Name of the world (default: the only one that is up)");
  verb->add_flag("--json", arguments->json, "Print the result as JSON");
  verb->callback([arguments, &status] { status = down(*arguments); });
}

}  // namespace weft::cli

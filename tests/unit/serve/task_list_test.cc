#include "serve/tasks/task_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace weft::serve {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> shell(std::string script) {
  return {"/bin/sh", "-c", std::move(script)};
}

bool has_ended(TaskState state) {
  return state != TaskState::kWaits && state != TaskState::kRuns;
}

class TaskListTest : public testing::Test {
 protected:
  TaskLimits limits_{2, 3, 60s, 300ms, 0, 0};
  TaskList::Observer observer_{[](const Task&) {}, [](std::uint64_t) {}};

  static Task wait_for_end(const TaskList& tasks, std::uint64_t id) {
    for (int i = 0; i < 3000; ++i) {
      const auto task = tasks.find(id);
      if (!task || has_ended(task->state)) return task.value_or(Task());
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "task " << id << " does not end";
    return {};
  }
  static void wait_for_output(const TaskList& tasks, std::uint64_t id, const std::string& text) {
    for (int i = 0; i < 3000 && tasks.find(id)->output.find(text) == std::string::npos; ++i)
      std::this_thread::sleep_for(10ms);
  }
};

TEST_F(TaskListTest, KeepsOutputAndProgress) {
  TaskList tasks(limits_, observer_);
  const auto added = tasks.add(
      "run", "a", shell("echo report; echo '{\"now_ps\": 5, \"workload\": \"w\", \"wall_s\": 0.5}' >&2; echo note >&2"),
      "");
  ASSERT_TRUE(added);
  const Task task = wait_for_end(tasks, added->id);
  EXPECT_EQ(task.state, TaskState::kDone);
  EXPECT_EQ(task.status, 0);
  EXPECT_EQ(task.now_ps, 5);
  EXPECT_EQ(task.workload, "w");
  EXPECT_EQ(task.output, "report\nnote\n");
}

TEST_F(TaskListTest, TellsFailureFromUnmetExpectations) {
  TaskList tasks(limits_, observer_);
  const auto unmet = tasks.add("run", "a", shell("exit 1"), "/dev/null");
  EXPECT_EQ(wait_for_end(tasks, unmet->id).state, TaskState::kDone);
  const auto broken = tasks.add("run", "b", shell("exit 1"), "/nowhere/results.json");
  EXPECT_EQ(wait_for_end(tasks, broken->id).state, TaskState::kFailed);
  const auto wrong = tasks.add("run", "c", shell("exit 2"), "/dev/null");
  EXPECT_EQ(wait_for_end(tasks, wrong->id).state, TaskState::kFailed);
  const auto missing = tasks.add("run", "d", {"/nowhere/weft"}, "");
  const Task task = wait_for_end(tasks, missing->id);
  EXPECT_EQ(task.state, TaskState::kFailed);
  EXPECT_NE(task.output.find("could not be started"), std::string::npos);
}

TEST_F(TaskListTest, CancelIsInterruptThenKill) {
  TaskList tasks(limits_, observer_);
  const auto kind =
      tasks.add("run", "a", shell("trap 'echo wrote; exit 130' INT; echo up; while :; do sleep 0.05; done"), "");
  wait_for_output(tasks, kind->id, "up");
  EXPECT_TRUE(tasks.is_busy("a"));
  EXPECT_TRUE(tasks.cancel(kind->id));
  const Task polite = wait_for_end(tasks, kind->id);
  EXPECT_EQ(polite.state, TaskState::kCancelled);
  EXPECT_EQ(polite.status, 130);
  EXPECT_NE(polite.output.find("wrote"), std::string::npos);
  EXPECT_FALSE(tasks.is_busy("a"));
  const auto stubborn = tasks.add("run", "b", shell("trap '' INT; echo up; while :; do sleep 0.05; done"), "");
  wait_for_output(tasks, stubborn->id, "up");
  EXPECT_TRUE(tasks.cancel(stubborn->id));
  EXPECT_EQ(wait_for_end(tasks, stubborn->id).status, 128 + SIGKILL);
  EXPECT_FALSE(tasks.cancel(stubborn->id));
  EXPECT_FALSE(tasks.cancel(77));
}

TEST_F(TaskListTest, EndsChildrenOfItsChild) {
  TaskList tasks(limits_, observer_);
  const auto task = tasks.add("run", "a", shell("sleep 1000 & echo pid $!; exit 0"), "");
  const Task ended = wait_for_end(tasks, task->id);
  const pid_t grandchild = std::stoi(ended.output.substr(4));
  int left = 0;
  for (int i = 0; i < 300 && (left = kill(grandchild, 0)) == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_NE(left, 0);
}

TEST_F(TaskListTest, EndsAtItsTimeLimit) {
  limits_.time = 200ms;
  TaskList tasks(limits_, observer_);
  const auto task = tasks.add("run", "a", shell("sleep 1000"), "");
  const Task ended = wait_for_end(tasks, task->id);
  EXPECT_EQ(ended.state, TaskState::kFailed);
  EXPECT_NE(ended.output.find("--task-time"), std::string::npos);
}

TEST_F(TaskListTest, HoldsChildrenToTheirLimits) {
  limits_.memory_B = 300'000'000;
  limits_.file_B = 50'000;
  TaskList tasks(limits_, observer_);
  const auto task = tasks.add("run", "a", shell("ulimit -v; ulimit -f; ulimit -c"), "");
  EXPECT_EQ(wait_for_end(tasks, task->id).output, "292968\n97\n0\n");
}

TEST_F(TaskListTest, SomeRunAndSomeWait) {
  TaskList tasks(limits_, observer_);
  std::vector<std::uint64_t> ids;
  while (ids.size() < 5) {
    auto task = tasks.add("run", "a", shell("sleep 1000"), "");
    // Those that run do not wait any more, soon.
    if (!task) {
      std::this_thread::sleep_for(10ms);
      continue;
    }
    ids.push_back(task->id);
  }
  for (int i = 0; i < 300 && tasks.find(ids[1])->state != TaskState::kRuns; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(tasks.add("run", "a", shell("true"), ""));
  EXPECT_EQ(tasks.find(ids[0])->state, TaskState::kRuns);
  EXPECT_EQ(tasks.find(ids[2])->state, TaskState::kWaits);
  EXPECT_TRUE(tasks.cancel(ids[4]));
  EXPECT_EQ(wait_for_end(tasks, ids[4]).state, TaskState::kCancelled);
  tasks.stop();
  for (const std::uint64_t id : ids) EXPECT_EQ(tasks.find(id)->state, TaskState::kCancelled);
  EXPECT_FALSE(tasks.add("run", "a", shell("true"), ""));
}

TEST_F(TaskListTest, BoundsWhatItKeeps) {
  std::atomic<int> removed{0};
  observer_.removed = [&](std::uint64_t) { ++removed; };
  TaskList tasks(limits_, observer_);
  const auto loud =
      tasks.add("run", "a", shell("i=0; while [ $i -lt 20000 ]; do echo a line of text; i=$((i+1)); done"), "");
  EXPECT_LT(wait_for_end(tasks, loud->id).output.size(), 40'000U);
  for (int i = 0; i < 20; ++i) wait_for_end(tasks, tasks.add("run", "a", shell("true"), "")->id);
  tasks.stop();
  EXPECT_LE(tasks.list().size(), 17U);
  EXPECT_GE(removed, 4);
}

}  // namespace
}  // namespace weft::serve

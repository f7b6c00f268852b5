// What a child may do with its parent's verbs objects: it has the same file of the device, so the kernel takes its
// commands. Their queues and their memory are the parent's.
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interop/programs/waits_probe.h"
#include "interop/programs/waits_verbs.h"

namespace {

int set_error(const Verbs& verbs) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  return ibv_modify_qp(verbs.near, &attr, IBV_QP_STATE);
}
int state_of(const Verbs& verbs) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr made{};
  const int error = ibv_query_qp(verbs.near, &attr, IBV_QP_STATE, &made);
  return error != 0 ? error : -static_cast<int>(attr.qp_state);
}

// The result of the child's call, and whether a WRITE that its parent posts afterwards succeeds.
template <typename Act>
void in_child(const char* name, Act act) {
  const Verbs verbs;
  const pid_t child = fork();
  if (child == 0) _exit(act(verbs) & 0xff);
  int status = 0;
  waitpid(child, &status, 0);
  ibv_wc entry{};
  int found = 0;
  if (verbs.post() == 0) {
    const int64_t until_ns = now_ns() + 50'000'000;
    while ((found = ibv_poll_cq(verbs.cq, 1, &entry)) == 0 && now_ns() < until_ns) {
    }
  }
  printf("%s %d, then %s\n", name, static_cast<signed char>(WEXITSTATUS(status)),
         found == 0                       ? "nothing"
         : entry.status == IBV_WC_SUCCESS ? "success"
                                          : "an error");
  fflush(stdout);
}

int children_of_verbs() {
  in_child("poll", [](const Verbs& verbs) {
    ibv_wc entry;
    return ibv_poll_cq(verbs.cq, 1, &entry);
  });
  in_child("query_qp", state_of);
  in_child("modify_qp", set_error);
  in_child("dereg_mr", [](const Verbs& verbs) { return ibv_dereg_mr(verbs.region); });
  in_child("destroy_qp", [](const Verbs& verbs) { return ibv_destroy_qp(verbs.near); });
  in_child("destroy_cq", [](const Verbs& verbs) { return ibv_destroy_cq(verbs.cq) == EBUSY ? 1 : 0; });
  in_child("dealloc_pd", [](const Verbs& verbs) { return ibv_dealloc_pd(verbs.pd) == EBUSY ? 1 : 0; });
  in_child("close_device", [](const Verbs& verbs) { return ibv_close_device(verbs.context); });
  in_child("reg_mr", [](const Verbs& verbs) { return ibv_reg_mr(verbs.pd, verbs.memory, 64, 0) != nullptr ? 1 : 0; });
  in_child("pd_in_use", [](const Verbs& verbs) {
    // Of the child's own region in it, which goes with the child.
    ibv_pd* const own = ibv_alloc_pd(verbs.context);
    ibv_mr* const region = ibv_reg_mr(own, verbs.memory, 64, 0);
    if (own == nullptr || region == nullptr || ibv_dealloc_pd(own) != EBUSY) return 0;
    return ibv_dereg_mr(region) == 0 && ibv_dealloc_pd(own) == 0 ? 1 : 0;
  });
  return 0;
}

}  // namespace

extern const Case kChildCases[] = {
    {"children_of_verbs", children_of_verbs},
    {nullptr, nullptr},
};

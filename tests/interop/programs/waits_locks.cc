// Locks that threads hold around polls of a completion queue, and that another thread wants.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "interop/programs/waits_probe.h"
#include "interop/programs/waits_verbs.h"

namespace {

struct Lock {
  const char* name;
  std::function<void()> take, give;
};

// Threads that poll inside of a lock, and one that wants it every 100 us, 20 times.
int locks_around_polls() {
  Verbs verbs;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_spinlock_t spin;
  static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
  static sem_t semaphore;
  static mtx_t c11;
  pthread_spin_init(&spin, 0);
  sem_init(&semaphore, 0, 1);
  mtx_init(&c11, mtx_plain);
  const Lock locks[] = {
      {"mutex", [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); }},
      {"spin", [] { pthread_spin_lock(&spin); }, [] { pthread_spin_unlock(&spin); }},
      {"rwlock", [] { pthread_rwlock_wrlock(&both); }, [] { pthread_rwlock_unlock(&both); }},
      {"semaphore", [] { sem_wait(&semaphore); }, [] { sem_post(&semaphore); }},
      {"c11", [] { mtx_lock(&c11); }, [] { mtx_unlock(&c11); }},
  };
  for (const int pollers : {1, 3}) {
    for (const Lock& lock : locks) {
      static std::atomic<bool> stop;
      stop = false;
      std::thread threads[3];
      for (int i = 0; i < pollers; ++i) {
        threads[i] = std::thread([&] {
          ibv_wc entry;
          while (!stop) {
            lock.take();
            ibv_poll_cq(verbs.cq, 1, &entry);
            lock.give();
          }
        });
      }
      const int64_t since_ns = now_ns();
      for (int i = 0; i < 20; ++i) {
        usleep(100);
        lock.take();
        lock.give();
      }
      // 2 ms of sleep, and a tenth more at most.
      print(lock.name, now_ns() - since_ns < 2'200'000 ? 2 : (now_ns() - since_ns) / 1'000'000);
      stop = true;
      for (int i = 0; i < pollers; ++i) threads[i].join();
    }
  }
  return 0;
}

// One thread posts and another polls, each inside of the same lock.
int posts_beside_polls() {
  Verbs verbs;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<int> done{0};
  constexpr int kPosts = 300;
  const int64_t since_ns = now_ns();
  std::thread progress([&] {
    ibv_wc entry;
    while (done < kPosts) {
      pthread_mutex_lock(&mutex);
      if (ibv_poll_cq(verbs.cq, 1, &entry) > 0) ++done;
      pthread_mutex_unlock(&mutex);
    }
  });
  for (int posted = 0; posted < kPosts;) {
    pthread_mutex_lock(&mutex);
    posted += verbs.post() == 0 ? 1 : 0;
    pthread_mutex_unlock(&mutex);
  }
  progress.join();
  print("completions", done);
  print("within_ms", (now_ns() - since_ns) / 1'000'000 < 5 ? 5 : (now_ns() - since_ns) / 1'000'000);
  return 0;
}

}  // namespace

extern const Case kLockCases[] = {
    {"locks_around_polls", locks_around_polls},
    {"posts_beside_polls", posts_beside_polls},
    {nullptr, nullptr},
};

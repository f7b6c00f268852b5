/* One-sided MPI, every byte compared: puts, gets and sums under a shared lock, between fences and under exclusive
   locks; windows that MPI allocates and that the program brings; single words by fetch-and-op and compare-and-swap.
   Prints how long the first of these took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 16, kSum = 100, kWords = 1024, kLarge = 1 << 15 };

static int rank, size, right, left;

/* What a rank writes at an index of a round. */
static long value_of(int writer, int round, int index) {
  return 1000003L * writer + 7919L * round + index;
}

static int shared_lock(double* took_us) {
  long *memory, sent[kCount], got[kCount];
  const long addend = rank + 1;
  int wrong = 0;
  MPI_Win window;
  MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, kWords * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) sent[i] = value_of(rank, 0, i);
  const double start_s = MPI_Wtime();
  MPI_Win_lock_all(0, window);
  MPI_Put(sent, kCount, MPI_LONG, right, 0, kCount, MPI_LONG, window);
  MPI_Accumulate(&addend, 1, MPI_LONG, 0, kSum, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_flush_all(window);
  MPI_Get(got, kCount, MPI_LONG, right, 0, kCount, MPI_LONG, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  *took_us = 1e6 * (MPI_Wtime() - start_s);
  for (int i = 0; i < kCount; ++i) wrong += (memory[i] != value_of(left, 0, i)) + (got[i] != sent[i]);
  if (rank == 0) wrong += memory[kSum] != (long)size * (size + 1) / 2;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  return wrong;
}

/* 256 KiB each way in every epoch, in memory of the program's own. */
static int fences(void) {
  long *memory = calloc(kLarge, sizeof(long)), *sent = calloc(kLarge, sizeof(long)),
       *got = calloc(kLarge, sizeof(long));
  int wrong = 0;
  MPI_Win window;
  MPI_Win_create(memory, kLarge * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kLarge; ++i) sent[i] = value_of(rank, round, i);
    MPI_Win_fence(0, window);
    MPI_Put(sent, kLarge, MPI_LONG, right, 0, kLarge, MPI_LONG, window);
    MPI_Win_fence(0, window);
    MPI_Get(got, kLarge, MPI_LONG, right, 0, kLarge, MPI_LONG, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < kLarge; ++i) wrong += (memory[i] != value_of(left, round, i)) + (got[i] != sent[i]);
  }
  MPI_Win_free(&window);
  free(memory);
  free(sent);
  free(got);
  return wrong;
}

/* A counter on rank 0 that every rank reads and writes back under its lock, one that it adds to, and one that the ranks
   move on in turn. */
static int words(void) {
  long *memory, old = -1, one = 1;
  int wrong = 0;
  MPI_Win window;
  MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, 3 * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
    ++old;
    MPI_Put(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    wrong += old < i || old >= 5L * size;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < size; ++turn) {
    const long next = rank + 1, expected = rank;
    if (turn == rank) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
      MPI_Compare_and_swap(&next, &expected, &old, MPI_LONG, 0, 2, window);
      MPI_Win_unlock(0, window);
      wrong += old != rank;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) wrong += (memory[0] != 5L * size) + (memory[1] != 5L * size) + (memory[2] != size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  double took_us = 0;
  int wrong = shared_lock(&took_us) + fences() + words(), all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char name[MPI_MAX_PROCESSOR_NAME];
  int name_size;
  MPI_Get_processor_name(name, &name_size);
  printf("rank %d of %d on %s: %d wrong, %.3f us\n", rank, size, name, all_wrong, took_us);
  MPI_Finalize();
  return all_wrong != 0;
}

/* One-sided MPI: each rank puts into its right neighbour, reads back from it, and adds to a sum on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kCount = 16, kSum = 100, kWords = 1024 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;

  long* memory;
  MPI_Win window;
  MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, kWords * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);

  long sent[kCount], got[kCount];
  const long addend = rank + 1;
  for (int i = 0; i < kCount; ++i) sent[i] = 100L * rank + i;
  const double start_s = MPI_Wtime();
  MPI_Win_lock_all(0, window);
  MPI_Put(sent, kCount, MPI_LONG, right, 0, kCount, MPI_LONG, window);
  MPI_Accumulate(&addend, 1, MPI_LONG, 0, kSum, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_flush_all(window);
  MPI_Get(got, kCount, MPI_LONG, right, 0, kCount, MPI_LONG, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  const double took_us = 1e6 * (MPI_Wtime() - start_s);

  int wrong = 0, all_wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += (memory[i] != 100L * left + i) + (got[i] != sent[i]);
  if (rank == 0) wrong += memory[kSum] != (long)size * (size + 1) / 2;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char name[MPI_MAX_PROCESSOR_NAME];
  int name_size;
  MPI_Get_processor_name(name, &name_size);
  printf("rank %d of %d on %s: %d wrong, %.3f us\n", rank, size, name, all_wrong, took_us);
  MPI_Win_free(&window);
  MPI_Finalize();
  return all_wrong != 0;
}

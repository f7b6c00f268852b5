// A program for Open MPI: allreduce and alltoall of several sizes, every element checked. Built by ucx_mpi_test.cc with
// mpicc; exits with 1 when anything is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long check_allreduce(int rank, int ranks, int count) {
  double* in = malloc(sizeof(double) * (size_t)count);
  double* out = malloc(sizeof(double) * (size_t)count);
  for (int i = 0; i < count; ++i) in[i] = rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  double start_s = MPI_Wtime();
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double took_s = MPI_Wtime() - start_s;
  long wrong = 0;
  for (int i = 0; i < count; ++i) wrong += out[i] != ranks * (ranks - 1) / 2 + (double)ranks * i;
  if (rank == 0) printf("allreduce %zu B: %.2f us\n", sizeof(double) * (size_t)count, took_s * 1e6);
  free(in);
  free(out);
  return wrong;
}

static long check_alltoall(int rank, int ranks, int count) {
  size_t size = (size_t)count * (size_t)ranks;
  int* in = malloc(sizeof(int) * size);
  int* out = malloc(sizeof(int) * size);
  for (size_t i = 0; i < size; ++i) in[i] = rank * 100000000 + (int)i;
  MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
  long wrong = 0;
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < count; ++i) wrong += out[from * count + i] != from * 100000000 + rank * count + i;
  }
  free(in);
  free(out);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long wrong = 0, all = 0;
  for (int count = 1; count <= 1 << 18; count *= 8)
    wrong += check_allreduce(rank, ranks, count) + check_alltoall(rank, ranks, count);
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %ld elements wrong\n", ranks, all);
  MPI_Finalize();
  return all != 0;
}

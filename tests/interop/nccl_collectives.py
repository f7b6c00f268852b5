"""One rank of NCCL's collectives through PyTorch, every element checked. tests/interop/nccl.sh starts the ranks.

    nccl_collectives.py RANK RANKS STORE
"""

import sys
import time

import torch
import torch.distributed as dist

rank, ranks, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=ranks)


def pattern(of, count):
    return torch.arange(count, device="cuda", dtype=torch.float32) % 1021 + of


def check(name, got, wanted):
    if not torch.equal(got, wanted):
        sys.exit(f"rank {rank}: {name} is wrong in {(got != wanted).sum().item()} of {wanted.numel()} elements")


for size in (1024, 1 << 20, 16 << 20):  # elements of four bytes
    start = time.monotonic()

    mine = pattern(rank, size)
    dist.all_reduce(mine)
    check("all_reduce", mine, ranks * pattern(0, size) + ranks * (ranks - 1) / 2)

    gathered = torch.empty(ranks * (size // ranks), device="cuda")
    dist.all_gather_into_tensor(gathered, pattern(rank, size // ranks))
    check("all_gather", gathered, torch.cat([pattern(r, size // ranks) for r in range(ranks)]))

    part = torch.empty(size // ranks, device="cuda")
    dist.reduce_scatter_tensor(part, torch.cat([pattern(rank + r, size // ranks) for r in range(ranks)]))
    check("reduce_scatter", part, ranks * pattern(rank, size // ranks) + ranks * (ranks - 1) / 2)

    turned = torch.empty(ranks * (size // ranks), device="cuda")
    dist.all_to_all_single(turned, torch.cat([pattern(100 * rank + r, size // ranks) for r in range(ranks)]))
    check("all_to_all", turned, torch.cat([pattern(100 * r + rank, size // ranks) for r in range(ranks)]))

    torch.cuda.synchronize()
    if rank == 0:
        print(f"{4 * size} B: all_reduce, all_gather, reduce_scatter, all_to_all right, {time.monotonic() - start:.2f} s",
              flush=True)

dist.destroy_process_group()
if rank == 0:
    print(f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}, {ranks} ranks: all right")

"""Prints what rdma_core_runner.py wrote, as Markdown: a table by file, then every skip and error with its reason.

rdma_core_table.py CLOCK=RESULTS_FILE …
Exits with 1 when a test failed or fewer passed than expected of the files that concern every device (LEAST).
"""
import collections
import json
import os
import sys

# Files for devices that Weft is not: their libraries' stand-ins refuse, and the tests skip themselves.
OF_OTHER_DEVICES = ("test_mlx5", "test_efa")

runs = {}
for argument in sys.argv[1:]:
    clock, path = argument.split("=", 1)
    with open(path) as lines:
        runs[clock] = [json.loads(line) for line in lines]

files = sorted({each["file"] for run in runs.values() for each in run})
print("| file | " + " | ".join(f"{clock}: passed | skipped | errors" for clock in runs) + " |")
print("|---" * (1 + 3 * len(runs)) + "|")


def row(name, chosen):
    cells = []
    for run in runs.values():
        count = collections.Counter(each["outcome"] for each in run if chosen(each["file"]))
        cells += [str(count[outcome]) for outcome in ("passed", "skipped", "error")]
    print(f"| {name} | " + " | ".join(cells) + " |")


def is_general(file):
    return not file.startswith(OF_OTHER_DEVICES)


for file in files:
    if is_general(file):
        row(f"`{file}.py`", lambda each, file=file: each == file)
row("together", is_general)
row("of mlx5 and EFA alone", lambda file: not is_general(file))

reasons = collections.defaultdict(set)
failed = False
for clock, run in runs.items():
    for each in run:
        if each["outcome"] == "error":
            failed = True
            print(f"\nerror, {clock}: {each['file']}.{each['test']}: {each['reason']}")
        elif each["outcome"] == "skipped" and is_general(each["file"]):
            reasons[each["reason"]].add(f"{each['file']}.{each['test']}")
print("\nSkipped:\n")
for reason, tests in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
    print(f"- {reason}: {', '.join(f'`{test}`' for test in sorted(tests))}")

least = int(os.environ.get("LEAST", "0"))
for clock, run in runs.items():
    passed = sum(each["outcome"] == "passed" and is_general(each["file"]) for each in run)
    if passed < least:
        failed = True
        print(f"\n{clock}: {passed} passed, {least} expected")
sys.exit(1 if failed else 0)

"""Runs rdma-core's own tests, as they are, and writes what became of each as a line of JSON.

rdma_core_runner.py TESTS_DIR RESULTS_FILE [options of the suite, names of tests]
Started by rdma_core_suite.sh inside a world. TESTS_DIR is the folder `tests` of a checkout of rdma-core.
"""
import importlib.util
import json
import os
import sys
import unittest


class Recorder(unittest.TextTestResult):
    def write(self, test, outcome, reason=""):
        names = test.id().split(".")
        file = next((name for name in names if name.startswith("test_")), names[0])
        line = {"file": file, "test": names[-1], "outcome": outcome, "reason": reason}
        with open(results_file, "a") as out:
            out.write(json.dumps(line) + "\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write(test, "skipped", reason)

    def addError(self, test, err):
        super().addError(test, err)
        self.write(test, "error", str(err[1]))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.write(test, "error", str(err[1]))


tests_dir, results_file = sys.argv[1:3]
sys.argv = ["run_tests.py"] + sys.argv[3:]
sys.path.insert(0, tests_dir)
os.chdir(tests_dir)
spec = importlib.util.spec_from_file_location("tests", os.path.join(tests_dir, "__init__.py"),
                                              submodule_search_locations=[tests_dir])
tests = importlib.util.module_from_spec(spec)
sys.modules["tests"] = tests
spec.loader.exec_module(tests)
from args_parser import parser  # noqa: E402  of the suite

parser.parse_args()
unittest.main(module=tests, testRunner=unittest.TextTestRunner(resultclass=Recorder))

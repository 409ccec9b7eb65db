"""What is the same for all tests: how one that cannot run is reported, and fixtures of what can be installed.

`pytest` ends with a line ``ignored: WHAT: WHY`` for every test that was skipped, and a line ``test WHAT ... FAILED``
for every one that failed, as scripts/phases.sh counts them.
"""

import pytest

from helpers import need


@pytest.fixture(scope="session")
def np():
    return need("numpy")


@pytest.fixture(scope="session")
def sq(np):
    return need("squall.random")


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.line(f"ignored: {report.nodeid}: {reason.removeprefix('Skipped: ')}")
    for report in stats.get("failed", []) + stats.get("error", []):
        terminalreporter.line(f"test {report.nodeid} ... FAILED")

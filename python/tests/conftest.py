"""What is the same for all tests: how one that cannot run is reported.

`pytest` ends with a line ``ignored: WHAT: WHY`` for every test that was skipped, and a line ``test WHAT ... FAILED``
for every one that failed, as scripts/phases.sh counts them.
"""


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.line(f"ignored: {report.nodeid}: {reason.removeprefix('Skipped: ')}")
    for report in stats.get("failed", []) + stats.get("error", []):
        terminalreporter.line(f"test {report.nodeid} ... FAILED")

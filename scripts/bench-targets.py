#!/usr/bin/env python3
"""Judges a report of `squall bench --json` by the project's targets, in bench-targets.json.

    squall bench --json | scripts/bench-targets.py
    scripts/bench-targets.py REPORT

Prints a line for each target of which everything was measured: met or missed, the target, and the
median of the measured ratios with their quartiles. The last line is about all rows together; it
needs a whole run, and is left out if the run was too noisy to rank the sources.
"""

import json
import statistics
import sys
from pathlib import Path

TARGETS = Path(__file__).with_suffix(".json")


def point(workload, source, at):
    """The time of `source` at the point `at` of `workload`; None if it was not measured."""
    for series in workload["series"]:
        if series["source"] == source:
            return next((point["ns"] for point in series["points"] if point["at"] == at), None)
    return None


def places(workload):
    return sorted({point["at"] for series in workload["series"] for point in series["points"]})


def ratios(above, below):
    """The ratios of single rounds: their quartiles and their median."""
    parts = [one / other for one, other in zip(above["samples"], below["samples"])]
    if len(parts) < 2:
        return parts * 3
    return statistics.quantiles(parts, n=4, method="inclusive")


def judge(report, target):
    """Whether `target` was met, its text, and the measurement; None if it was not measured."""
    workload = next((w for w in report["workloads"] if w["name"] == target["workload"]), None)
    if not workload or not places(workload):
        return None
    named = {"most": places(workload)[-1], "cpus": report["machine"]["cpus"]}
    at, peer_at = target["at"], target.get("peer_at", target["at"])
    at, peer_at = named.get(at, at), named.get(peer_at, peer_at)
    if target["at"] == "most" and at <= peer_at:
        return None
    ours, theirs = point(workload, target["source"], at), point(workload, target["peer"], peer_at)
    if not ours or not theirs:
        return None
    peer = target["peer"] if at == peer_at else f"{peer_at} {workload['axis']}"
    if "at_most_more_us" in target:
        limit = target["at_most_more_us"]
        more = (ours["median"] - theirs["median"]) / 1e3
        met, measured = more <= limit, f"{more:+.1f} µs"
        claim = f"at most {limit:g} µs more than {peer}"
    else:
        if "at_least" in target:
            low, ratio, high = ratios(theirs, ours)
            met = ratio >= target["at_least"]
            claim = f"at least {target['at_least']:g} × as fast as {peer}"
        else:
            low, ratio, high = ratios(ours, theirs)
            met = ratio <= target["at_most"]
            claim = f"at most {target['at_most']:g} × the time of {peer}"
        measured = f"{ratio:.2f} × ({low:.2f} to {high:.2f})"
    subject = f"{workload['name']}: {target['source']} at {at} {workload['axis']}"
    return met, f"{subject}: {claim}", measured


def judge_firsts(report, rule):
    """Whether squall is first in every row, among the sources that are fit for secrets."""
    is_whole = report["complete"] and len(report["workloads"]) == rule["workloads"]
    if not is_whole or report["noise"]["warning"]:
        return None
    rivals = {s["name"] for s in report["sources"] if s["secure"] and s["group"] != "variant"}
    first, level, behind = 0, [], []
    for workload in report["workloads"]:
        for at in places(workload):
            row = {name: point(workload, name, at) for name in rivals}
            row = {name: figure for name, figure in row.items() if figure}
            ours = [row[name] for name in rule["sources"] if name in row]
            if len(row) < 2 or not ours:
                return None
            winner = min(row, key=lambda name: row[name]["median"])
            lag = min(ratios(own, row[winner])[1] for own in ours)
            if winner in rule["sources"]:
                first += 1
            else:
                rows = level if lag <= rule["level_within"] else behind
                rows.append(f"{workload['name']} at {at} ({winner})")
    measured = f"first in {first}; level: {', '.join(level) or 'none'}; behind: {', '.join(behind) or 'none'}"
    return not level and not behind, "squall first in every row, among sources fit for secrets", measured


def main():
    targets = json.loads(TARGETS.read_text())
    with open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin as file:
        report = json.load(file)
    verdicts = [judge(report, target) for target in targets["targets"]]
    verdicts.append(judge_firsts(report, targets["first_in_every_row"]))
    verdicts = [verdict for verdict in verdicts if verdict]
    for met, claim, measured in verdicts:
        print(f"{'met' if met else 'missed':6}  {claim}: {measured}")
    print(f"{sum(met for met, _, _ in verdicts)} of {len(verdicts)} targets met")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""The rules, checked by promtool: they are well-formed, and their test cases hold."""
import pathlib
import re
import subprocess

import yaml
from asked import WAYS

import tools
from dashboard import DASHBOARD, TARGETS, VARIABLES

RULES = pathlib.Path(__file__).resolve().parents[2] / "packaging/prometheus"


def promtool(*argv):
    r = subprocess.run([tools.find("promtool"), *argv], cwd=RULES, capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r.stdout + r.stderr
    return r.stdout


def test_rules_are_well_formed():
    said = promtool("check", "rules", "--lint-fatal", "blklat.rules.yml")
    assert re.search(r"SUCCESS: \d+ rules found", said), said


def test_cases():
    assert "SUCCESS" in promtool("test", "rules", "blklat.rules.test.yml")


def test_every_alert_has_a_case_that_fires_and_one_that_does_not():
    rules = yaml.safe_load((RULES / "blklat.rules.yml").read_text())
    alerts = {r["alert"] for g in rules["groups"] for r in g["rules"] if "alert" in r}
    cases = [c for t in yaml.safe_load((RULES / "blklat.rules.test.yml").read_text())["tests"]
             for c in t.get("alert_rule_test", [])]
    assert {c["alertname"] for c in cases if c.get("exp_alerts")} == alerts
    assert {c["alertname"] for c in cases if not c.get("exp_alerts")} == alerts


def test_every_alert_has_its_section_in_the_runbooks():
    """In the same order, each with what it means, what to look at and what to do; its link ends where the package puts the page."""
    page = (RULES.parents[1] / "docs/runbooks.md").read_text()
    rules = [r for g in yaml.safe_load((RULES / "blklat.rules.yml").read_text())["groups"] for r in g["rules"] if "alert" in r]
    sections = re.split(r"^## ", page, flags=re.M)[1:]
    assert [s.split("\n")[0] for s in sections] == [r["alert"] for r in rules]
    for section, rule in zip(sections, rules, strict=True):
        assert re.findall(r"^\*\*(.+):\*\*", section, re.M) == ["Means", "Look at", "Do"], section
        assert rule["annotations"]["runbook_url"] == f"file:///usr/share/doc/blklat/runbooks.md#{rule['alert'].lower()}"


def test_the_dashboard_shows_parts_of_any_kind():
    """The list to choose from has all kinds; in a legend, only the label that a series has takes room."""
    ways, by = set(WAYS), VARIABLES["by"]
    assert set(by["query"].split(",")) == {o["value"] for o in by["options"]} == ways
    legends = [t["legendFormat"] for p in DASHBOARD["panels"] for t in p["targets"] if "$by" in t["expr"]]
    assert len(legends) == 3 and all(set(re.findall(r"{{(\w+)}}", legend)) == ways | {"op"} for legend in legends)


def test_whatever_hosts_divide_by_is_added_up():
    """Rules and panels that add parts up name every label that may occur."""
    ways = set(WAYS)
    lists = re.findall(r"without \(([^)]*)\)", (RULES / "blklat.rules.yml").read_text() + "".join(e for _, _, e in TARGETS))
    assert len(lists) > 10 and "size" in ways
    for labels in set(lists) - {"reason", "result"}:  # neither losses, health nor pushes are divided
        assert set(re.findall(r"\w+", labels)) - {"op"} == ways, labels

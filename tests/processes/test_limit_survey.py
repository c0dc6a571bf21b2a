from __future__ import annotations

from toolwright.processes.cgroup_location import CgroupLocation
from toolwright.processes.limit_survey import held_limits, survey_limits
from toolwright.processes.resource_limits import SETTINGS_KEYS


def test_every_limit_has_its_row() -> None:
    assert {row.key for row in survey_limits()} == set(SETTINGS_KEYS)


def test_what_nothing_holds_is_said() -> None:
    rows = {row.key: row for row in held_limits(None, root=True)}
    assert [key for key, row in rows.items() if not row.holds] == ["processes"]
    assert "root" in rows["processes"].mechanism
    assert rows["processes"].missing
    assert all(row.holds for row in held_limits(None, root=False))


def test_a_cgroup_holds_processes_and_where_it_can_memory() -> None:
    rows = {row.key: row for row in held_limits(CgroupLocation("/x", 2, True), root=True)}
    assert (rows["processes"].mechanism, rows["memoryMb"].mechanism) == (
        "cgroup v2 pids, the whole command",
        "cgroup v2 memory, the whole command",
    )
    assert held_limits(CgroupLocation("/x", 1, True, "/y"), root=True)[1].mechanism == "cgroup v1 memory, the whole command"
    assert "soft" in held_limits(CgroupLocation("/x", 1, False), root=True)[1].mechanism


def test_what_the_limit_of_a_single_process_does_not_count_is_said() -> None:
    row = held_limits(None, root=False)[1]
    assert "memfd" in row.mechanism
    assert "together" in row.mechanism
    assert "cgroup" in row.missing

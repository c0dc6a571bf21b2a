"""Permission updates on the wire."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.types import MessageParseError, PermissionRuleValue, PermissionUpdate


@pytest.mark.parametrize(
    ("update", "wire"),
    [
        (
            PermissionUpdate(
                "addRules",
                rules=[PermissionRuleValue("Bash", "git log:*"), PermissionRuleValue("Read")],
                behavior="allow",
                destination="session",
            ),
            {
                "type": "addRules",
                "destination": "session",
                "rules": [{"toolName": "Bash", "ruleContent": "git log:*"}, {"toolName": "Read", "ruleContent": None}],
                "behavior": "allow",
            },
        ),
        (PermissionUpdate("removeRules", rules=[]), {"type": "removeRules", "rules": []}),
        (PermissionUpdate("setMode", mode="plan"), {"type": "setMode", "mode": "plan"}),
        (PermissionUpdate("addDirectories", directories=["/a"]), {"type": "addDirectories", "directories": ["/a"]}),
    ],
)
def test_update_goes_over_the_wire_and_back(update: PermissionUpdate, wire: dict[str, Any]) -> None:
    assert update.to_dict() == wire
    assert PermissionUpdate.from_dict(wire) == update


def test_fields_that_do_not_belong_to_the_type_stay_home() -> None:
    update = PermissionUpdate("setMode", mode="plan", behavior="allow", directories=["/a"])
    assert update.to_dict() == {"type": "setMode", "mode": "plan"}


def test_unknown_fields_are_ignored() -> None:
    wire = {"type": "addRules", "rules": [{"toolName": "Read", "since": 1}], "note": "x"}
    assert PermissionUpdate.from_dict(wire) == PermissionUpdate("addRules", rules=[PermissionRuleValue("Read")])


@pytest.mark.parametrize(
    "wire",
    [{}, {"rules": []}, {"type": "addRules", "rules": ["Read"]}, {"type": "addRules", "rules": [{"ruleContent": "x"}]}],
)
def test_update_without_its_required_fields_is_refused(wire: dict[str, Any]) -> None:
    with pytest.raises(MessageParseError) as caught:
        PermissionUpdate.from_dict(wire)
    assert caught.value.data == wire


rules = st.lists(st.builds(PermissionRuleValue, st.text(), st.none() | st.text()))


@given(
    st.builds(
        PermissionUpdate,
        st.sampled_from(["addRules", "replaceRules", "removeRules"]),
        rules=rules,
        behavior=st.sampled_from(["allow", "deny", "ask"]),
        destination=st.sampled_from(["userSettings", "session"]) | st.none(),
    )
)
def test_every_update_of_rules_comes_back_as_it_was(update: PermissionUpdate) -> None:
    assert PermissionUpdate.from_dict(update.to_dict()) == update

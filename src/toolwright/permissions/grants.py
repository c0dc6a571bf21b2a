"""Paths outside the working folders that a yes opens. A yes is about one call, and about the paths where it really leads.

Who says yes is decided elsewhere: a rule or a mode in `policy`, a hook or a person in the gate.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolwright.permissions.calls import PermissionCall, SessionFolders

STRICT = "The boundary is strict: a yes does not open it, adding its folder to the session does."


def granted_paths(call: PermissionCall, place: SessionFolders, *, shown: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The real paths that a yes to `call` opens, if one of them lies outside the working folders.

    `shown` is where paths led when the question was put, if the answer changed the call: a path that the person saw then is
    opened where it led then, one that they wrote themselves where it leads now.
    """
    if place.strict or all(place.root_of(real) is not None for real in call.opens.values()):
        return ()
    return tuple(dict.fromkeys((shown or {}).get(written, real) for written, real in call.opens.items()))


def outside_paths(call: PermissionCall, place: SessionFolders) -> tuple[str, ...]:
    """Where the call leads outside the working folders, except to what is read unasked."""
    is_open = place.may_read if call.read_only else lambda path: place.root_of(path) is not None
    return tuple(real for real in call.opens.values() if not is_open(real))


def where_it_leads(call: PermissionCall, place: SessionFolders) -> str:
    """Sentences on what the call would open outside the working folders, for whoever is asked; empty if nothing."""
    outside = set(outside_paths(call, place))
    leads = [_led(written, real) for written, real in call.opens.items() if real in outside]
    return " ".join([*leads, *((STRICT,) if outside and place.strict else ())])


def _led(written: str, real: str) -> str:
    leads = real if written == real else f"{written} really leads to {real}, which"
    return f"{leads} is outside the working folders."

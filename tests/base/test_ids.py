"""Ids and times."""

import re
from datetime import UTC, datetime
from uuid import UUID

from toolwright.base.ids import new_uuid, timestamp


def test_ids_are_random_uuids() -> None:
    ids = {new_uuid() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(UUID(text).version == 4 and str(UUID(text)) == text for text in ids)


def test_times_are_utc_with_milliseconds() -> None:
    text = timestamp()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()) < 60

"""What the model's provider says about its rate limits."""

from dataclasses import dataclass, field
from typing import Any, Literal

RateLimitStatus = Literal["allowed", "allowed_warning", "rejected"]
RateLimitType = Literal["five_hour", "seven_day", "seven_day_opus", "seven_day_sonnet", "overage"]


@dataclass
class RateLimitInfo:
    """How much of a limit is used up. Times are in seconds since 1970; `raw` is what came, with fields not named here."""

    status: RateLimitStatus
    resets_at: int | None = None
    rate_limit_type: RateLimitType | None = None
    utilization: float | None = None
    overage_status: RateLimitStatus | None = None
    overage_resets_at: int | None = None
    overage_disabled_reason: str | None = None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass
class RateLimitEvent:
    """The state of a rate limit changed."""

    rate_limit_info: RateLimitInfo
    uuid: str
    session_id: str

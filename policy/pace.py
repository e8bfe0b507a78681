"""How long to wait before trying again, by who must act; and when two writers fight. Pure: time is a number of seconds."""

from collections.abc import Sequence

from apis.problems import Blocked, Invalid, Problem, Stale, Unavailable

FORBIDDEN_CAP = 30.0
UNAVAILABLE_CAP = 60.0
STALE_STEP = 0.1

FIGHT_WINDOW = 60.0
FIGHT_LIMIT = 5
FIGHT_CAP = 60.0


def backoff(problem: Problem, attempt: int, jitter: float) -> float | None:
    """Seconds until the next try; None: no try before something changes.

    `attempt` counts the failures in a row, from 0. `jitter` in [0, 1) spreads those that failed together.
    Rights have no event: 1, 2, 4 ... 30 s. A server that named a time is obeyed.
    """
    step = min(attempt, 16)
    match problem:
        case Invalid():
            return None
        case Blocked():
            return min(FORBIDDEN_CAP, float(2**step))
        case Unavailable(retry_after=float() as wanted) if wanted > 0:  # "now" is no pace: that would be a hot loop
            return wanted * (1 + jitter / 2)
        case Stale():
            return float(STALE_STEP * 2 ** min(step, 6) * (1 + jitter))
        case _:
            return float(min(UNAVAILABLE_CAP, 0.5 * 2**step) * (0.5 + jitter / 2))


def truce(repairs: Sequence[float], now: float) -> float:
    """Seconds to leave a target alone that was repaired at these times; 0.0 when nobody fights.

    Up to five repairs within a minute are normal life. After that each further one waits twice as long as the one before.
    """
    recent = [at for at in repairs if now - at < FIGHT_WINDOW + FIGHT_CAP]
    excess = len(recent) - FIGHT_LIMIT
    if excess < 0 or not recent:
        return 0.0
    return max(0.0, recent[-1] + min(FIGHT_CAP, float(2**excess)) - now)

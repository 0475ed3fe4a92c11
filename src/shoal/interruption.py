"""Whether somebody asked the process to stop.

An interruption is raised wherever Python happens to be, also inside a library in native code, which may turn
it into an error or a panic of its own. So the signal is noted besides being raised.
"""

from __future__ import annotations

import signal
from types import FrameType

_signals: list[int] = []  # those received


def listen(*signals: int) -> None:
    """Raise `KeyboardInterrupt` for these signals, and note that they came."""
    for each in signals:
        signal.signal(each, _interrupt)


def is_interruption(error: BaseException) -> bool:
    """Return whether an error is an interruption, or follows one."""
    return isinstance(error, KeyboardInterrupt) or bool(_signals)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _signals.append(number)
    raise KeyboardInterrupt

"""How long something that failed waits for its next try: longer each time, and from the bottom again at the top.

1, 2, 4 .. 256 s, then 1 s again, each stretched or cut by up to a fifth. Starting again finds out soon that a receiver
has come back after a long time, for more tries; the swing keeps what failed together from coming back together.
"""

from __future__ import annotations

import msgspec

__all__ = ["Cycle"]


class Cycle(msgspec.Struct, frozen=True):
    """Waits between tries.

    Attributes:
        base_ms: the shortest.
        factor: each is this many times the one before.
        top_ms: the longest; after it the shortest comes again.
        swing: share by which a wait is stretched or cut, 0..1.
    """

    base_ms: int = 1_000
    factor: int = 2
    top_ms: int = 256_000
    swing: float = 0.2

    def compute_delay_ms(self, failures: int, *, draw: float) -> int:
        """Return the wait after the n-th failure, n >= 1; `draw` in [0, 1) places it within the swing."""
        steps = self._steps()
        delay_ms = steps[(failures - 1) % len(steps)]
        return round(delay_ms * (1 + self.swing * (2 * draw - 1)))

    def _steps(self) -> list[int]:
        steps = [self.base_ms]
        while self.factor > 1 and steps[-1] * self.factor <= self.top_ms:
            steps.append(steps[-1] * self.factor)
        return steps

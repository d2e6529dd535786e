"""What every shelf shares: how hard hypothesis looks. Fixtures belong to the shelf that needs them."""

import os

from hypothesis import HealthCheck, settings

# Under CI the examples follow from the test's source alone, so a red run is red again on any machine.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")

"""What every backend of a port must hold, as classes of tests.

Subclass a contract in a test file and give it a `backend` fixture:

    class TestMyLog(LogContract):
        @pytest.fixture
        async def backend(self, clock):
            yield Backend(log=MyLog(clock), state=..., cache=..., clock=clock)

Tests of what a backend does not claim in its `capabilities` are skipped.
"""

from gristmill.testing.contracts.backend import Backend
from gristmill.testing.contracts.cache import CacheContract
from gristmill.testing.contracts.commits import ApartContract, CommitContract
from gristmill.testing.contracts.definitions import DefinitionContract
from gristmill.testing.contracts.fencing import FencesBackend, RunFencesContract
from gristmill.testing.contracts.front import FrontContract
from gristmill.testing.contracts.identities import IdentityContract
from gristmill.testing.contracts.inlet import InletContract
from gristmill.testing.contracts.log import LogContract
from gristmill.testing.contracts.log_ownership import OwnershipContract
from gristmill.testing.contracts.ordering import KeyOrderContract
from gristmill.testing.contracts.outbox import OutboxBackend, OutboxContract
from gristmill.testing.contracts.outbox.outlet import OutletContract
from gristmill.testing.contracts.seeking import SeekingContract
from gristmill.testing.contracts.sharing import SharingContract
from gristmill.testing.contracts.state import StateContract

__all__ = [
    "Backend",
    "ApartContract",
    "CacheContract",
    "CommitContract",
    "FencesBackend",
    "FrontContract",
    "DefinitionContract",
    "IdentityContract",
    "InletContract",
    "KeyOrderContract",
    "LogContract",
    "OutboxBackend",
    "OutboxContract",
    "OutletContract",
    "OwnershipContract",
    "RunFencesContract",
    "SeekingContract",
    "SharingContract",
    "StateContract",
]

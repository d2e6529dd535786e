"""Who calls: tokens, and what each of them may do."""

from gristmill.api.security.gate import SESSION_COOKIE, TokenGate
from gristmill.api.security.rates import RequestRates
from gristmill.api.security.secrets import NewToken, make_token

__all__ = ["SESSION_COOKIE", "NewToken", "RequestRates", "TokenGate", "make_token"]

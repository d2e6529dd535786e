"""Who calls: tokens, and what each of them may do."""

from gristmill.api.security.gate import SESSION_COOKIE, TokenGate, is_same_origin
from gristmill.api.security.rates import RequestRates
from gristmill.api.security.secrets import NewToken, make_token

__all__ = ["SESSION_COOKIE", "NewToken", "RequestRates", "TokenGate", "is_same_origin", "make_token"]

"""The one token that a start hands out, and what is told once none is good any more."""

from gristmill.runtime.faces.first_token import is_locked_out, make_first_token
from tests.faces import face


async def test_the_first_start_makes_a_token_and_no_other_does() -> None:
    async with face() as made:
        tokens = made.store.front.tokens
        assert await is_locked_out(tokens)
        assert await make_first_token(tokens, made.clock) is not None
        assert await make_first_token(tokens, made.clock) is None
        assert not await is_locked_out(tokens)


async def test_whoever_has_revoked_every_token_is_locked_out() -> None:
    async with face() as made:
        tokens = made.store.front.tokens
        await make_first_token(tokens, made.clock)
        [token] = await tokens.all()
        await tokens.revoke(token.token_id, at_ms=made.clock.now_ms())
        assert await is_locked_out(tokens)
        assert await make_first_token(tokens, made.clock) is None

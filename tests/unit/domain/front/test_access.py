"""Roles include each other, tenants do not."""

from gristmill.domain.front.access import EVERY_TENANT, ROLES, Principal


def test_a_role_may_do_what_those_before_it_may() -> None:
    for index, role in enumerate(ROLES):
        principal = Principal("id", "name", role, "main")
        assert [principal.has(other) for other in ROLES] == [place <= index for place in range(len(ROLES))]


def test_a_token_sees_its_tenant_or_all() -> None:
    assert Principal("id", "name", "viewer", "main").sees("main")
    assert not Principal("id", "name", "admin", "main").sees("acme")
    assert Principal("id", "name", "viewer", EVERY_TENANT).sees("acme")

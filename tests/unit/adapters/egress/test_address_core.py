"""Which addresses may be connected to."""

import pytest

from gristmill.adapters.egress.address_core import AddressPolicy
from gristmill.adapters.egress.url_core import parse_url
from gristmill.domain.errors import ConfigError
from gristmill.ports.egress import Refused

INNER = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254
    172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1
    224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1
    100::1 2001:db8::1 2001::1 2002:7f00:1::1 2002:a9fe:a9fe::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1
    2001:0:a9fe:a9fe::1 3fff::1
""".split()

OUTER = ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808", "2a00:1450:4001::64"]


def judge(policy: AddressPolicy, url: str, *addresses: str) -> str:
    refused = policy.judge(parse_url(url), addresses)
    return "" if refused is None else refused.reason


@pytest.mark.parametrize("address", INNER)
def test_inner_addresses_are_blocked(address: str) -> None:
    assert judge(AddressPolicy(), "http://example.com/", address) == "blocked_address"


@pytest.mark.parametrize("address", OUTER)
def test_public_addresses_are_open(address: str) -> None:
    assert judge(AddressPolicy(), "http://example.com/", address) == ""


def test_one_inner_address_among_public_ones_blocks_them_all() -> None:
    assert judge(AddressPolicy(), "http://example.com/", "8.8.8.8", "127.0.0.1") == "blocked_address"


@pytest.mark.parametrize("addresses", [(), ("not an address",), ("fe80::1%eth0",)])
def test_what_is_no_address_is_blocked(addresses: tuple[str, ...]) -> None:
    assert judge(AddressPolicy(), "http://example.com/", *addresses) == "blocked_address"


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 9200])
def test_unusual_ports_are_blocked(port: int) -> None:
    assert judge(AddressPolicy(), f"http://example.com:{port}/", "8.8.8.8") == "blocked_port"


def test_a_port_that_was_set_is_open_everywhere() -> None:
    policy = AddressPolicy(ports=[80, 8080])
    assert judge(policy, "http://example.com:8080/", "8.8.8.8") == ""
    assert judge(policy, "https://example.com/", "8.8.8.8") == "blocked_port"


@pytest.mark.parametrize(
    ("entry", "url", "address", "verdict"),
    [
        ("10.1.0.0/16", "http://a.example/", "10.1.2.3", ""),
        ("10.1.0.0/16", "http://a.example/", "10.2.2.3", "blocked_address"),
        ("10.1.0.0/16", "http://a.example:6379/", "10.1.2.3", "blocked_port"),
        ("10.1.0.0/16:8080", "http://a.example:8080/", "10.1.2.3", ""),
        ("10.1.0.0/16:8080", "http://a.example/", "10.1.2.3", "blocked_address"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", "127.0.0.1", ""),
        ("media.inner", "http://media.inner/", "10.9.9.9", ""),
        ("media.inner", "http://other.inner/", "10.9.9.9", "blocked_address"),
        ("Media.Inner:8443", "https://media.inner:8443/", "10.9.9.9", ""),
        ("fd00::/8", "http://a.example/", "fd00::1", ""),
        ("fd00::/8", "http://a.example/", "10.0.0.1", "blocked_address"),
        ("[fd00::1]:8080", "http://[fd00::1]:8080/", "fd00::1", ""),
        ("[fd00::1]", "http://[fd00::1]/", "fd00::1", ""),
        ("media.inner:8080", "http://example.com:8080/", "8.8.8.8", "blocked_port"),
    ],
)
def test_an_allow_list_opens_what_it_names_and_nothing_else(entry: str, url: str, address: str, verdict: str) -> None:
    assert judge(AddressPolicy([entry]), url, address) == verdict


@pytest.mark.parametrize("entry", ["", "http://a.example/", "10.1.0.0/99", "a b", "a.example:99999", "[a.example]:80"])
def test_an_entry_that_means_nothing_is_refused(entry: str) -> None:
    with pytest.raises(ConfigError, match="allow-list"):
        AddressPolicy([entry])


def test_a_refusal_says_where_the_host_leads() -> None:
    refused = AddressPolicy().judge(parse_url("http://trap.example/"), ["10.0.0.1"])
    assert refused == Refused("blocked_address", "trap.example leads to 10.0.0.1")

"""Decides which addresses outgoing connections may go to.

Without an allow-list: globally routable unicast addresses on the usual ports, and nothing else. IPv6 addresses
that carry an IPv4 address inside (mapped, compatible, 6to4, Teredo, NAT64) are judged by that one as well.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

import msgspec

from gristmill.adapters.egress.url_core import DEFAULT_PORTS, Target
from gristmill.domain.errors import ConfigError
from gristmill.ports.egress import Refused

__all__ = ["AddressPolicy"]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NEVER: tuple[_Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # Globally routable, but a cloud's channel to its own machines.
        "192.88.99.0/24",  # Former 6to4 relays.
        "64:ff9b:1::/48",  # NAT64 of a site: leads inwards.
        "3fff::/20",  # Documentation; not every Python knows it.
        "fec0::/10",  # Site-local, withdrawn but still routed in places.
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
_ENTRY = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<rest>[^\[\]]+?))(?::(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


class _Allowed(msgspec.Struct, frozen=True):
    """One entry of the allow-list; `port` 0 stands for the usual ports."""

    name: str
    network: _Network | None
    port: int


class AddressPolicy:
    """Judges targets and the addresses that their hosts resolve to.

    Args:
        allow: exceptions for inner hosts: a name, an address or a network, each with an optional port
            (`media.inner`, `10.1.0.0/16`, `127.0.0.1:8080`, `[fd00::1]:8080`). A port that is named is allowed there;
            without one the usual ports are.
        ports: ports that may be reached on any host.
    Raises:
        ConfigError: an entry is neither name, address nor network.
    """

    def __init__(self, allow: Sequence[str] = (), *, ports: Sequence[int] = tuple(DEFAULT_PORTS.values())) -> None:
        self._allowed = tuple(_read_entry(entry) for entry in allow)
        self._ports = frozenset(ports)

    def judge(self, target: Target, addresses: Sequence[str]) -> Refused | None:
        """Return why a target must not be connected to, or None.

        One address out of bounds refuses them all: a name that points inwards and outwards at once means no good.
        """
        if not addresses:
            return Refused("blocked_address", f"{target.host} has no address")
        for text in addresses:
            refused = self._judge_one(target, text)
            if refused is not None:
                return refused
        return None

    def _judge_one(self, target: Target, text: str) -> Refused | None:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return Refused("blocked_address", f"{target.host} leads to {text!r}")
        entries = [entry for entry in self._allowed if _covers(entry, target.host, address)]
        if target.port not in self._ports and all(entry.port != target.port for entry in entries):
            return Refused("blocked_port", f"port {target.port} of {target.host}")
        if any(entry.port in (0, target.port) for entry in entries):
            return None
        if all(_is_public(one) for one in _to_judge(address)):
            return None
        return Refused("blocked_address", f"{target.host} leads to {address}")


def _covers(entry: _Allowed, host: str, address: _Address) -> bool:
    if entry.network is None:
        return entry.name == host
    return address.version == entry.network.version and address in entry.network


def _is_public(address: _Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return not any(address.version == network.version and address in network for network in _NEVER)


def _to_judge(address: _Address) -> list[_Address]:
    """Return an address and the IPv4 addresses inside it; of NAT64 only the one inside, for that is where it leads."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64:
        return [last]
    inside: list[_Address] = [*(address.teredo or ()), *([last] if address in _COMPATIBLE else [])]
    return [address, *inside, *(one for one in (address.ipv4_mapped, address.sixtofour) if one is not None)]


def _read_entry(text: str) -> _Allowed:
    plain = text.strip().lower()
    network = _read_network(plain)
    if network is not None:
        return _Allowed("", network, 0)
    found = _ENTRY.fullmatch(plain)
    if found is not None and int(found["port"] or 0) <= 65_535:
        port = int(found["port"] or 0)
        network = _read_network(found["v6"] or found["rest"])
        if network is not None:
            return _Allowed("", network, port)
        if found["rest"] and _NAME.fullmatch(found["rest"]):
            return _Allowed(found["rest"], None, port)
    advice = "write a host, an address or a network, with a port where one is meant: '10.1.0.0/16', 'media.inner:8080'"
    raise ConfigError("entry of the allow-list for outgoing connections", value=text, advice=advice)


def _read_network(text: str) -> _Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None

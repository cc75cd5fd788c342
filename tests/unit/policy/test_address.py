"""May we connect there? The registries as tables, the holes, the ports."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.errors import ConfigError
from outrider.policy.address import AddressRules, Allowed, Refused, judge_address

RULES = AddressRules()

REFUSED_V4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
REFUSED_V6 = [
    "::/96",
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "2002::/16",
    "3ffe::/16",
    "3fff::/20",
    "5f00::/16",
    "::/3",
    "4000::/2",
    "8000::/1",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.215.14",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "192.175.48.1",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2400:cb00::1",
    "2606:4700:4700::1111",
    "2620:4f:8000::1",
    "2620:fe::fe",
    "2800:3f0:4001::1",
    "2a00:1450:4001::1",
    "2c0f:fb50::1",
    "3ffd::1",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "::ffff:808:808",
]


@pytest.mark.parametrize("cidr", REFUSED_V4)
@given(data=st.data())
def test_every_address_of_a_special_ipv4_network_is_refused_however_it_is_written(
    cidr: str, data: st.DataObject
) -> None:
    network = ip_network(cidr)
    number = data.draw(st.integers(int(network[0]), int(network[-1])))
    four = IPv4Address(number)

    mapped = IPv6Address((0xFFFF << 32) | number)
    spellings = [str(four), str(mapped), mapped.exploded, mapped.exploded.upper(), f"::ffff:{four}", f"{mapped}%eth0"]
    for spelling in spellings:
        verdict = judge_address(spelling, 443, RULES)
        assert isinstance(verdict, Refused), spelling
        assert verdict.inward


@pytest.mark.parametrize("cidr", REFUSED_V6)
@given(data=st.data())
def test_every_address_of_a_special_ipv6_network_is_refused_however_it_is_written(
    cidr: str, data: st.DataObject
) -> None:
    network = ip_network(cidr)
    address = IPv6Address(data.draw(st.integers(int(network[0]), int(network[-1])).filter(is_not_mapped)))

    for spelling in [str(address), address.exploded, address.exploded.upper(), f"{address}%1", f"{address}%eth0"]:
        assert isinstance(judge_address(spelling, 443, RULES), Refused), spelling


def is_not_mapped(number: int) -> bool:
    return number >> 32 != 0xFFFF


@pytest.mark.parametrize("cidr", REFUSED_V4)
@given(data=st.data())
def test_an_inner_ipv4_address_points_inside_through_every_tunnel(cidr: str, data: st.DataObject) -> None:
    network = ip_network(cidr)
    inner = data.draw(st.integers(int(network[0]), int(network[-1])))
    upper = data.draw(st.integers(0, 2**64 - 1))

    for wrapped in wrappings(inner, upper):
        verdict = judge_address(str(IPv6Address(wrapped)), 443, RULES)
        assert isinstance(verdict, Refused), wrapped
        assert verdict.inward


def wrappings(inner: int, upper: int) -> list[int]:
    """Compatible, translated, NAT64, 6to4, Teredo (client, then server) and ISATAP in a global prefix."""
    return [
        inner,
        (0xFFFF << 48) | inner,
        (0x64_FF9B << 96) | inner,
        (0x2002 << 112) | (inner << 80) | (upper & 0xFFFF),
        (0x2001_0000 << 96) | (0x0808_0808 << 64) | (~inner & 0xFFFF_FFFF),
        (0x2001_0000 << 96) | (inner << 64) | (~0x0808_0808 & 0xFFFF_FFFF),
        (0x2A00_1450 << 96) | (0x5EFE << 32) | inner,
        (0x2A00_1450 << 96) | (0x0200_5EFE << 32) | inner,
    ]


def test_a_tunnel_around_a_public_address_is_refused_but_does_not_point_inside() -> None:
    for wrapped in wrappings(0x0808_0808, 0):
        verdict = judge_address(str(IPv6Address(wrapped)), 443, RULES)

        assert isinstance(verdict, Refused)
        assert not verdict.inward


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    assert judge_address(address, 443, RULES) == Allowed()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("169.254.169.254", "a cloud's metadata service"),
        ("100.100.100.200", "a cloud's metadata service"),
        ("168.63.129.16", "a cloud's metadata service"),
        ("fd00:ec2::254", "a cloud's metadata service"),
        ("fd20:ce::254", "a cloud's metadata service"),
        ("192.0.0.192", "for protocol assignments"),
        ("10.1.2.3", "private, RFC 1918 (10.0.0.0/8)"),
        ("::1", "loopback"),
        ("::", "unspecified"),
        ("255.255.255.255", "broadcast"),
        ("fe80::1%eth0", "link-local"),
        ("2606:4700::1%eth0", "zone"),
        ("::ffff:8.8.8.8%eth0", "zone"),
        ("64:ff9b::808:808", "NAT64"),
        ("2002:808:808::1", "6to4"),
        ("2001:0:808:808::1", "Teredo"),
        ("2a00:1450::5efe:808:808", "ISATAP"),
    ],
)
def test_a_refusal_says_what_the_address_is(address: str, why: str) -> None:
    verdict = judge_address(address, 80, RULES)

    assert isinstance(verdict, Refused)
    assert why in verdict.why


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "localhost",
        "127.1",
        "0177.0.0.1",
        "010.8.8.8",
        "0x8.8.8.8",
        "134744072",
        "8.8.8",
        "8.8.8.8 ",
        " 8.8.8.8",
        "8.8.8.8\n",
        "8.8.8.8:80",
        "8.8.8.8/32",
        "8.8.8.256",
        "[2606:4700::1]",
        "2606:4700::1::",
        "2606:4700:::1",
        "8.8.8.8%eth0",
        "٨.8.8.8",
        "\uff18.8.8.8",
        "8.8.8.8\0",
        "2606:4700::1%",
    ],
)
def test_what_is_not_plainly_an_address_is_refused(text: str) -> None:
    assert isinstance(judge_address(text, 443, RULES), Refused)


@pytest.mark.parametrize("port", [80, 443, 8080, 8443])
def test_web_ports_are_allowed(port: int) -> None:
    assert judge_address("8.8.8.8", port, RULES) == Allowed()


@pytest.mark.parametrize("port", [1, 22, 25, 110, 3306, 5432, 6379, 9200, 11211, 65_535])
def test_other_ports_are_refused_and_the_setting_is_named(port: int) -> None:
    verdict = judge_address("8.8.8.8", port, RULES)

    assert isinstance(verdict, Refused)
    assert f"port {port}" in verdict.why
    assert "allow_ports" in verdict.remedy
    assert judge_address("8.8.8.8", port, AddressRules(allow_ports=frozenset({port}))) == Allowed()


@pytest.mark.parametrize("port", [0, -1, 65_536, 1_000_000])
def test_a_port_that_is_none_is_refused_even_in_a_hole(port: int) -> None:
    rules = AddressRules(allow_private=("0.0.0.0/0",), allow_ports=frozenset({port}))

    assert isinstance(judge_address("8.8.8.8", port, rules), Refused)


@pytest.mark.parametrize(
    ("hole", "address"),
    [
        ("10.0.0.0/8", "10.1.2.3"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1/32", "::ffff:127.0.0.1"),
        ("::1", "::1"),
        ("fd00::/8", "fd12:3456::1"),
        ("fe80::/10", "fe80::1%eth0"),
        ("169.254.169.254/32", "169.254.169.254"),
        ("64:ff9b::/96", "64:ff9b::808:808"),
    ],
)
def test_a_hole_allows_what_it_names_and_nothing_beside_it(hole: str, address: str) -> None:
    rules = AddressRules(allow_private=(hole,))

    assert judge_address(address, 443, rules) == Allowed()
    assert isinstance(judge_address("192.168.0.1", 443, rules), Refused)
    assert isinstance(judge_address("fc00::1", 443, rules), Refused)
    assert judge_address("8.8.8.8", 443, rules) == Allowed()


def test_in_a_hole_every_port_is_allowed_and_outside_it_the_rule_stays() -> None:
    rules = AddressRules(allow_private=("127.0.0.0/8",))

    assert judge_address("127.0.0.1", 6379, rules) == Allowed()
    assert isinstance(judge_address("8.8.8.8", 6379, rules), Refused)


@pytest.mark.parametrize(
    "address",
    ["::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2a00:1450::5efe:7f00:1"],
)
def test_an_ipv4_hole_is_not_entered_through_a_tunnel(address: str) -> None:
    rules = AddressRules(allow_private=("127.0.0.0/8",))

    assert isinstance(judge_address(address, 443, rules), Refused)


def test_what_comes_out_of_a_trusted_tunnel_is_judged_as_itself() -> None:
    behind_nat64 = AddressRules(allow_private=("64:ff9b::/96",))
    with_lan = AddressRules(allow_private=("64:ff9b::/96", "10.0.0.0/8"))

    assert isinstance(judge_address("64:ff9b::a00:1", 443, behind_nat64), Refused)
    assert isinstance(judge_address("64:ff9b::808:808", 22, behind_nat64), Refused)
    assert judge_address("64:ff9b::a00:1", 22, with_lan) == Allowed()


def test_trust_in_all_of_ipv6_is_no_trust_in_mapped_ipv4() -> None:
    rules = AddressRules(allow_private=("::/0",))

    assert isinstance(judge_address("::ffff:127.0.0.1", 443, rules), Refused)
    assert judge_address("fd00::1", 443, rules) == Allowed()


@pytest.mark.parametrize("cidr", ["", "10.0.0.0/33", "10.0.0.1/8", "lan", "::ffff:10.0.0.0/104", "10.0.0.0-10.1.0.0"])
def test_a_hole_that_is_no_network_is_a_config_error_at_once(cidr: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AddressRules(allow_private=("10.0.0.0/8", cidr))

    assert repr(cidr) in str(caught.value)


@given(number=st.integers(0, 2**32 - 1), port=st.integers(0, 70_000))
def test_an_ipv4_address_and_its_mapped_form_are_judged_alike(number: int, port: int) -> None:
    four = judge_address(str(IPv4Address(number)), port, RULES)
    mapped = judge_address(str(IPv6Address((0xFFFF << 32) | number)), port, RULES)

    assert isinstance(four, Allowed) == isinstance(mapped, Allowed)


@given(number=st.integers(0, 2**128 - 1).filter(is_not_mapped))
def test_no_ipv6_address_outside_global_unicast_is_allowed(number: int) -> None:
    is_global_unicast = IPv6Address(number) in IPv6Network("2000::/3")
    verdict = judge_address(str(IPv6Address(number)), 443, RULES)

    assert is_global_unicast or isinstance(verdict, Refused)


@given(text=st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    assert isinstance(judge_address(text, 443, RULES), Allowed | Refused)

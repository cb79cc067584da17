"""Strings that mean something: quantities, durations, timestamps, versions, addresses, URLs, names, and
the values of settings. What ``isX`` accepts ``X`` reads, and what is printed reads back as the same.
"""

import ipaddress
from collections.abc import Callable
from typing import Any

from policyd import option_values
from policyd._core.eval.program import Program
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.errors import BudgetExceeded
from policyd.versions import supported
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget

LONGEST = 500
COMPILED = Environment.kubernetes().compile
TESTED = ("Quantity", "IP", "CIDR", "URL", "Semver")
TESTS = {
    name: (COMPILED(f"is{name}(object)"), COMPILED(f"{name.lower()}(object)")) for name in TESTED
}
# Printing and reading again.
ROUND = tuple(
    COMPILED(f"dyn({kind}(string({kind}(object)))) == dyn({kind}(object))")
    for kind in ("ip", "cidr", "int", "uint")
)
PRINTED = tuple(
    COMPILED(f"string({kind}(string({kind}(object)))) == string({kind}(object))")
    for kind in ("timestamp", "ip", "cidr")
)
OTHERS = tuple(
    COMPILED(each)
    for each in (
        "duration(object).getMilliseconds()", "timestamp(object).getDayOfYear()", "double(object)", "bool(object)",
        "timestamp('2024-01-01T00:00:00Z').getHours(object)", "quantity(object).asApproximateFloat()",
        "quantity(object).sub(quantity('1')).add(1).isInteger()", "quantity(object).asInteger()",
        "quantity(object).compareTo(quantity('1Ki'))", "semver(object).minor()", "semver(object, true).patch()",
        "ip(object).isGlobalUnicast()", "cidr(object).masked().prefixLength()", "ip.isCanonical(object)",
        "cidr(object).containsCIDR('10.0.0.0/8')", "url(object).getHost()", "url(object).getQuery()",
        "url(object).getEscapedPath()", "object.format([1, 'a', 2.5, [1], {'a': b'b'}])", "'%s%d'.format([object, 1])",
        "object.lowerAscii().upperAscii()", "object.charAt(1)", "object.replace('a', 'b', 1)", "object.split('')",
        "strings.quote(object)", "object.indexOf('a', 1)", "object.trim()", "object.reverse()", "bytes(object)",
        "format.named('dns1123Label').value().validate(object)", "format.named('uri').value().validate(object)",
        "format.named(object).hasValue()", "format.dns1123Subdomain().validate(object)",
        "format.qualifiedName().validate(object)", "format.uuid().validate(object)", "format.byte().validate(object)",
        "format.date().validate(object)", "format.datetime().validate(object)", "format.labelValue().validate(object)",
    )
)  # fmt: skip
SETTINGS: tuple[Callable[[str], Any], ...] = (
    option_values.duration, option_values.positive_duration, option_values.size, option_values.count, option_values.switch, option_values.address,
    option_values.label_selector, option_values.service_port, option_values.object_name, option_values.https_url, option_values.lifetime,
    option_values.placement_mode, option_values.log_format, supported,
)  # fmt: skip
SEEDS = (
    "1Ki",
    "-0.5e3",
    "100m",
    "12E",
    "1e-9",
    ".5",
    "1h30m",
    "-1.5us",
    "2562047h47m16.854775807s",
    "1ns",
    "2024-02-29T23:59:60Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999+23:59",
    "2024-01-01t00:00:00z",
    "1.2.3-rc.1+build",
    "v1.2",
    "01.2.3",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "fe80::1%eth0",
    "1:2::3:4",
    "10.0.0.0/8",
    "::/0",
    "2001:db8::/129",
    "https://user:p@host:80/a%20b?c=d&e#f",
    "http://[::1]:1",
    "https://a/b?c#%zz",
    "//a",
    "a:b",
    "%zz",
    "-9223372036854775808",
    "18446744073709551615",
    "0x1p-2",
    "1e309",
    "NaN",
    "+Inf",
    "true",
    "FALSE",
    "1_000",
    "America/New_York",
    "+05:30",
    "UTC",
    "%.3f%5d%x%X%o%b%e%%",
    "a.b/c-d",
    "app=web,!x,y in (a, b)",
    "1.36",
    "https://a.b:443/c",
    "127.0.0.1:8443",
    "[::1]:9",
    "ns/name:443",
    "2Gi",
    "10k",
    "5m",
    "aGVsbG8=",
)


def check(data: bytes) -> None:
    text = data[:LONGEST].decode("utf-8", "replace")
    for name, (tested, made) in TESTS.items():
        read = not isinstance(result(made, text), CelError)
        # In Kubernetes, isURL accepts paths that begin with // and are read as a wrong host, and any fragment.
        unlike = name == "URL" and (text.startswith("//") or "#" in text)
        assert result(tested, text) is read or (unlike and not read), name
    for program in (*ROUND, *PRINTED):
        value = result(program, text)
        assert value is True or isinstance(value, CelError), program.text
    for program in OTHERS:
        result(program, text)
    addressed(text)
    for setting in SETTINGS:
        try:
            value = setting(text)
        except ValueError as error:
            assert str(error)
        else:
            assert value == setting(text), setting


def result(program: Program, text: str) -> Any:
    try:
        return program.evaluate_with_cost({"object": text})[0]
    except BudgetExceeded as error:
        return CelError(str(error))


def addressed(text: str) -> None:
    """Addresses are those of Python's library, but for zones and IPv4 in IPv6, which Kubernetes refuses."""
    try:
        address: ipaddress.IPv4Address | ipaddress.IPv6Address | None = ipaddress.ip_address(text)
    except ValueError:
        address = None
    if address is not None and (
        getattr(address, "scope_id", None) or getattr(address, "ipv4_mapped", None)
    ):
        address = None
    assert result(TESTS["IP"][0], text) is (address is not None)


def seeds() -> list[bytes]:
    return [each.encode() for each in SEEDS]


TARGET = FuzzTarget(check, seeds, mutating.text_mutation(SEEDS))

"""IP addresses: ``ip("10.0.0.1")``, ``isIP("::1")``, ``ip.isCanonical("::1")``,
``string(ip("::0"))``.

``a.family()`` (4 or 6), ``a.isUnspecified()``, ``a.isLoopback()``, ``a.isLinkLocalMulticast()``,
``a.isLinkLocalUnicast()``, ``a.isGlobalUnicast()``. Zones and IPv4-mapped IPv6 addresses are
errors.

Cost: a tenth of the length of the string to parse it, a fifth for ``ip.isCanonical``, 1 unit for
everything else.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport error
from policyd._core.eval.functions cimport first_fifths, first_tenths, unary
from policyd._core.net.address cimport IP, parse_ip

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object to_ip(Activation act, object text):
    found = parse_ip(<str> text)
    return found if type(found) is IP else error(<str> found)


cdef object is_ip(Activation act, object text):
    return type(parse_ip(<str> text)) is IP


cdef object is_canonical(Activation act, object text):
    found = to_ip(act, text)
    return str(found) == text if type(found) is IP else found


cdef object ip_to_string(Activation act, object address):
    return str(address)


cdef object family(Activation act, object address):
    return 4 if (<IP> address).bits == 32 else 6


# The ranges of RFC 1122, 3927, 4291 and 5771.


cdef bint multicast(IP address):
    return address.number >> 28 == 14 if address.bits == 32 else address.number >> 120 == 0xFF


cdef object is_unspecified(Activation act, object address):
    return (<IP> address).number == 0


cdef object is_loopback(Activation act, object value):
    cdef IP address = <IP> value
    return address.number >> 24 == 127 if address.bits == 32 else address.number == 1


cdef object is_link_local_multicast(Activation act, object address):
    if (<IP> address).bits == 32:
        return (<IP> address).number >> 8 == 0xE00000
    return ((<IP> address).number >> 112) & 0xFF0F == 0xFF02


cdef object is_link_local_unicast(Activation act, object value):
    cdef IP address = <IP> value
    if address.bits == 32:
        return address.number >> 16 == 0xA9FE
    return address.number >> 118 == 0xFE80 >> 6


cdef object is_global_unicast(Activation act, object address):
    if (<IP> address).bits == 32 and (<IP> address).number == 0xFFFFFFFF:
        return False
    return not (
        is_unspecified(act, address)
        or is_loopback(act, address)
        or multicast(<IP> address)
        or is_link_local_unicast(act, address)
    )


LIBRARY = Library("ip", (
    unary(
        "ip", "ip(string) -> net.IP", "string_to_ip", to_ip,
        "ip('127.0.0.1') == ip('127.0.0.1') // true",
    ).costs(first_tenths, estimates.first_tenths),
    unary("isIP", "isIP(string) -> bool", "is_ip", is_ip, "isIP('::1%eth0') // false").costs(
        first_tenths, estimates.first_tenths
    ),
    unary(
        "ip.isCanonical", "ip.isCanonical(string) -> bool", "ip_is_canonical", is_canonical,
        "ip.isCanonical('2001:DB8::abcd') // false",
    ).costs(first_fifths, estimates.first_fifths),
    unary(
        "string", "string(net.IP) -> string", "ip_to_string", ip_to_string,
        "string(ip('2001:DB8:0::1')) // '2001:db8::1'",
    ),
    unary("family", "net.IP.family() -> int", "ip_family", family, "ip('::1').family() // 6"),
    unary(
        "isUnspecified", "net.IP.isUnspecified() -> bool", "ip_is_unspecified", is_unspecified,
        "ip('::').isUnspecified() // true",
    ),
    unary(
        "isLoopback", "net.IP.isLoopback() -> bool", "ip_is_loopback", is_loopback,
        "ip('127.0.0.1').isLoopback() // true",
    ),
    unary(
        "isLinkLocalMulticast", "net.IP.isLinkLocalMulticast() -> bool",
        "ip_is_link_local_multicast", is_link_local_multicast,
        "ip('224.0.0.1').isLinkLocalMulticast() // true",
    ),
    unary(
        "isLinkLocalUnicast", "net.IP.isLinkLocalUnicast() -> bool", "ip_is_link_local_unicast",
        is_link_local_unicast, "ip('fe80::1').isLinkLocalUnicast() // true",
    ),
    unary(
        "isGlobalUnicast", "net.IP.isGlobalUnicast() -> bool", "ip_is_global_unicast",
        is_global_unicast, "ip('10.0.0.1').isGlobalUnicast() // true",
    ),
), kinds={"net.IP": IP})

"""Networks: ``cidr("10.0.0.0/8")``, ``isCIDR("10.0.0.0/8")``, ``string(cidr("10.0.0.0/8"))``.

``c.containsIP("10.0.0.1")``, ``c.containsIP(ip("10.0.0.1"))``, ``c.containsCIDR("10.1.0.0/16")``,
``c.containsCIDR(d)``, ``c.ip()``, ``c.prefixLength()``, ``c.masked()``, ``c.isMask()``.

Cost: a tenth of the length of a string to parse it; ``containsIP`` and ``containsCIDR`` by the
bytes of the prefix; 1 unit for everything else.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD, error
from policyd._core.eval.functions cimport binary, first_tenths, tenths, unary
from policyd._core.net.address cimport CIDR, IP, cidr_of, masked, parse_cidr, parse_ip
from policyd._core.values.types cimport size_of

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object to_cidr(Activation act, object text):
    found = parse_cidr(<str> text)
    if type(found) is CIDR:
        return found
    return error(f"network address parse error during conversion from string: {found}")


cdef object is_cidr(Activation act, object text):
    return type(parse_cidr(<str> text)) is CIDR


cdef object cidr_to_string(Activation act, object network):
    return str(network)


cdef bint agree(IP left, IP right, int length):
    """Whether the first ``length`` bits are the same."""
    if left.bits != right.bits:
        return False
    cdef object rest = left.bits - length
    return left.number >> rest == right.number >> rest


cdef object contains_ip(Activation act, object network, object address):
    return agree((<CIDR> network).address, <IP> address, (<CIDR> network).length)


cdef object contains_ip_string(Activation act, object network, object text):
    address = parse_ip(<str> text)
    # Kubernetes ignores that the address is invalid.
    return contains_ip(act, network, address) if type(address) is IP else NO_SUCH_OVERLOAD


cdef object contains_cidr(Activation act, object network, object other):
    cdef CIDR outer = <CIDR> network, inner = <CIDR> other
    return outer.length <= inner.length and agree(outer.address, inner.address, outer.length)


cdef object contains_cidr_string(Activation act, object network, object text):
    other = to_cidr(act, text)
    return contains_cidr(act, network, other) if type(other) is CIDR else other


cdef object address_of(Activation act, object network):
    return (<CIDR> network).address


cdef object prefix_length(Activation act, object network):
    return (<CIDR> network).length


cdef object without_host(Activation act, object network):
    cdef CIDR given = <CIDR> network
    return cidr_of(masked(given.address, given.length), given.length)


cdef object is_mask(Activation act, object network):
    cdef CIDR given = <CIDR> network
    return masked(given.address, given.length).number == given.address.number


# Costs


cdef int64_t bytes_of(object network):
    return ((<CIDR> network).length + 7) // 8 if type(network) is CIDR else size_of(network)


cdef int64_t comparing(Activation act, object first, object second, object result) except -1:
    return tenths(2 * bytes_of(first))


cdef int64_t comparing_string(Activation act, object first, object second, object result) except -1:
    return tenths(2 * bytes_of(first)) + tenths(size_of(second))


cdef int64_t masking(Activation act, object first, object second, object result) except -1:
    return tenths(2 * bytes_of(first)) + tenths(bytes_of(first)) + 1


cdef int64_t masking_string(Activation act, object first, object second, object result) except -1:
    return masking(act, first, second, result) + tenths(size_of(second))


# Addresses of 4 or 16 bytes are compared.
cdef object BYTES = estimates.Range(4, 16)
cdef object COMPARING = BYTES.plus(BYTES).scaled(0.1)
cdef object MASKING = COMPARING.plus(BYTES.scaled(0.1)).plus(estimates.ONE)


def _comparing_estimate(operands):
    return estimates.Charge(COMPARING)


def _comparing_string_estimate(operands):
    return estimates.Charge(COMPARING.plus(operands[1].size.scaled(0.1)))


def _masking_estimate(operands):
    return estimates.Charge(MASKING)


def _masking_string_estimate(operands):
    return estimates.Charge(MASKING.plus(operands[1].size.scaled(0.1)))


LIBRARY = Library("cidr", (
    unary(
        "cidr", "cidr(string) -> net.CIDR", "string_to_cidr", to_cidr,
        "cidr('10.0.0.0/8') == cidr('10.0.0.0/8') // true",
    ).costs(first_tenths, estimates.first_tenths),
    unary(
        "isCIDR", "isCIDR(string) -> bool", "is_cidr", is_cidr, "isCIDR('10.0.0.0/33') // false",
    ).costs(first_tenths, estimates.first_tenths),
    unary(
        "string", "string(net.CIDR) -> string", "cidr_to_string", cidr_to_string,
        "string(cidr('10.0.0.1/8')) // '10.0.0.1/8'",
    ),
    binary(
        "containsIP", "net.CIDR.containsIP(string) -> bool", "cidr_contains_ip_string",
        contains_ip_string, "cidr('10.0.0.0/8').containsIP('10.1.2.3') // true",
    ).costs(comparing).costs_when_known(comparing_string, _comparing_string_estimate),
    binary(
        "containsIP", "net.CIDR.containsIP(net.IP) -> bool", "cidr_contains_ip_ip", contains_ip,
        "cidr('10.0.0.0/8').containsIP(ip('11.0.0.1')) // false",
    ).costs(comparing, _comparing_estimate),
    binary(
        "containsCIDR", "net.CIDR.containsCIDR(string) -> bool", "cidr_contains_cidr_string",
        contains_cidr_string, "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') // true",
    ).costs(masking).costs_when_known(masking_string, _masking_string_estimate),
    binary(
        "containsCIDR", "net.CIDR.containsCIDR(net.CIDR) -> bool", "cidr_contains_cidr",
        contains_cidr, "cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8')) // false",
    ).costs(masking, _masking_estimate),
    unary(
        "ip", "net.CIDR.ip() -> net.IP", "cidr_ip", address_of,
        "cidr('10.0.0.1/8').ip() == ip('10.0.0.1') // true",
    ),
    unary(
        "prefixLength", "net.CIDR.prefixLength() -> int", "cidr_prefix_length", prefix_length,
        "cidr('10.0.0.0/8').prefixLength() // 8",
    ),
    unary(
        "masked", "net.CIDR.masked() -> net.CIDR", "cidr_masked", without_host,
        "cidr('10.0.0.1/8').masked() == cidr('10.0.0.0/8') // true",
    ),
    unary(
        "isMask", "net.CIDR.isMask() -> bool", "cidr_is_mask", is_mask,
        "cidr('10.0.0.1/8').isMask() // false",
    ).since(38),
), kinds={"net.CIDR": CIDR, "net.IP": IP})

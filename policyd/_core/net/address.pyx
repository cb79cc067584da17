"""IP addresses and prefixes, parsed like Go's net/netip with its error messages. Kubernetes rejects
zones and IPv4-mapped IPv6 addresses.
"""

from ipaddress import IPv4Address, IPv6Address

from libc.stdint cimport int64_t

from policyd._core.values.errors cimport NO_SUCH_OVERLOAD
from policyd._core.go.strings cimport shown
from policyd._core.values.types cimport Opaque

cdef str HEX = "0123456789abcdefABCDEF"


cdef class IP(Opaque):
    """``net.IP``"""
    cdef str type_name(self):
        return "net.IP"

    cdef int64_t size(self):
        return self.bits // 8

    cdef object equals(self, object other):
        if type(other) is not IP:
            return NO_SUCH_OVERLOAD
        return self.bits == (<IP> other).bits and self.number == (<IP> other).number

    def __str__(self):
        return str(IPv4Address(self.number) if self.bits == 32 else IPv6Address(self.number))


cdef class CIDR(Opaque):
    """``net.CIDR``: a prefix length, and an address that may have bits after the prefix."""
    cdef str type_name(self):
        return "net.CIDR"

    cdef int64_t size(self):
        return (self.length + 7) // 8

    cdef object equals(self, object other):
        if type(other) is not CIDR:
            return NO_SUCH_OVERLOAD
        if self.length != (<CIDR> other).length:
            return False
        return self.address.equals((<CIDR> other).address)

    def __str__(self):
        return f"{self.address}/{self.length}"


cdef IP ip_of(object number, int bits):
    cdef IP made = IP.__new__(IP)
    made.number = number
    made.bits = bits
    return made


cdef CIDR cidr_of(IP address, int length):
    cdef CIDR made = CIDR.__new__(CIDR)
    made.address = address
    made.length = length
    return made


cdef IP masked(IP address, int length):
    cdef object rest = address.bits - length
    return ip_of((address.number >> rest) << rest, address.bits)


cdef bint is_mapped(IP address):
    return address.bits == 128 and address.number >> 32 == 0xFFFF


cdef object parse_ip(str text):
    """The IP or CIDR, or Kubernetes' error message."""
    found = parse_address(text)
    if type(found) is str:
        return f"IP Address {shown(text)} parse error during conversion from string: {found}"
    if "%" in text:
        return f"IP address {shown(text)} with zone value is not allowed"
    if is_mapped(<IP> found):
        return f"IPv4-mapped IPv6 address {shown(text)} is not allowed"
    return found


cdef object parse_cidr(str text):
    found = parse_prefix(text)
    if type(found) is str:
        return (
            "network address parse error during conversion from string: "
            f"netip.ParsePrefix({shown(text)}): {found}"
        )
    if is_mapped((<CIDR> found).address):
        return f"IPv4-mapped IPv6 address {shown(text)} is not allowed"
    return found


cdef object parse_prefix(str text):
    cdef str before, slash, bits
    before, slash, bits = text.rpartition("/")
    if not slash:
        return "no '/'"
    address = parse_address(before)
    if type(address) is str:
        return address
    if "%" in before:
        return "IPv6 zones cannot be present in a prefix"
    if not bits.isascii() or not bits.isdigit() or (len(bits) > 1 and bits[0] == "0"):
        return f"bad bits after slash: {shown(bits)}"
    if len(bits) > 19:
        return f"bad bits after slash: {shown(bits)}"
    if int(bits) > (<IP> address).bits:
        return "prefix length out of range"
    return cidr_of(<IP> address, int(bits))


cdef str failed(str text, str message, str at=""):
    said = f"ParseAddr({shown(text)}): {message}"
    return f"{said} (at {shown(at)})" if at else said


cdef object parse_address(str text):
    """The IP (a zone is parsed and dropped), or Go's error message."""
    for char in text:
        if char == ".":
            number = parse_four(text, text)
            return number if type(number) is str else ip_of(number, 32)
        if char == ":":
            number = parse_six(text)
            return number if type(number) is str else ip_of(number, 128)
        if char == "%":
            return failed(text, "missing IPv6 address")
    return failed(text, "unable to parse IP")


cdef object parse_four(str text, str part):
    """The 32 bits of the IPv4 address ``part`` at the end of ``text``."""
    cdef Py_ssize_t i
    cdef int value = 0, digits = 0, dots = 0
    cdef object number = 0
    cdef Py_UCS4 char
    for i in range(len(part)):
        char = part[i]
        if c"0" <= char <= c"9":
            if digits == 1 and value == 0:
                return failed(text, "IPv4 field has octet with leading zero")
            value = value * 10 + <int> char - c"0"
            digits += 1
            if value > 255:
                return failed(text, "IPv4 field has value >255")
        elif char == c".":
            if i == 0 or i == len(part) - 1 or part[i - 1] == ".":
                return failed(text, "IPv4 field must have at least one digit", part[i:])
            if dots == 3:
                return failed(text, "IPv4 address too long")
            number = number * 256 + value
            dots += 1
            value = digits = 0
        else:
            return failed(text, "unexpected character", part[i:])
    if dots < 3:
        return failed(text, "IPv4 address too short")
    return number * 256 + value


cdef object parse_six(str text):
    cdef str rest, percent, zone, group
    cdef Py_ssize_t ellipsis = -1
    cdef list groups = []  # of 16 bits
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return failed(text, "zone must be a non-empty string")
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
        if not rest:
            return 0
    while len(groups) < 8:
        group = rest[:digits_of(rest)]
        if len(group) > 4:
            return failed(text, "each group must have 4 or less digits", rest)
        if not group:
            return failed(text, "each colon-separated field must have at least one digit", rest)
        if rest[len(group):len(group) + 1] == ".":
            problem = parse_tail(text, rest, groups, ellipsis)
            if problem is not None:
                return problem
            rest = ""
            break
        groups.append(int(group, 16))
        rest = rest[len(group):]
        if not rest:
            break
        if rest[0] != ":":
            return failed(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            return failed(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                return failed(text, "multiple :: in address", rest)
            ellipsis = len(groups)
            rest = rest[1:]
            if not rest:
                break
    if rest:
        return failed(text, "trailing garbage after address", rest)
    if len(groups) < 8:
        if ellipsis < 0:
            return failed(text, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        return failed(text, "the :: must expand to at least one field of zeros")
    number = 0
    for value in groups:
        number = number * 65536 + value
    return number


cdef Py_ssize_t digits_of(str text):
    """The number of hexadecimal digits at the start, counted up to one more than the maximum."""
    cdef Py_ssize_t i = 0
    while i < len(text) and i < 5 and text[i] in HEX:
        i += 1
    return i


cdef object parse_tail(str text, str rest, list groups, Py_ssize_t ellipsis):
    """Parse an IPv4 address at the end of an IPv6 address; the error message, or None."""
    if ellipsis < 0 and len(groups) != 6:
        return failed(
            text, "embedded IPv4 address must replace the final 2 fields of the address", rest
        )
    if len(groups) > 6:
        return failed(
            text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest
        )
    number = parse_four(text, rest)
    if type(number) is str:
        return number
    groups.append(number >> 16)
    groups.append(number & 0xFFFF)
    return None

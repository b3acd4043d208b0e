//! Which addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 address that an IPv6 address leads to, where it is one of the forms that do.
pub(super) fn innermost(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    let [a, b, c, d, e, f, g, h] = six.segments();
    let four = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match [a, b, c, d, e, f] {
        // Mapped, compatible, translated (SIIT) and NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => four(g, h),
        [0x2002, high, low, ..] => four(high, low),
        _ => address,
    }
}

/// Addresses of the public internet; what the registries set aside is not.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => is_public_v6(six),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && b & 0xc0 == 64;
    let is_protocol = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && b & 0xfe == 18;
    !(a == 0
        || a >= 224
        || is_shared
        || is_protocol
        || is_benchmark
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, ..] = address.segments();
    match a {
        // NAT64's well-known prefix; the address inside is checked on its own.
        0x64 => (b, c) == (0xff9b, 0),
        0 => matches!(innermost(IpAddr::V6(address)), IpAddr::V4(_)),
        // Teredo, benchmarks, ORCHID and documentation.
        0x2001 => b > 0x1ff && b != 0xdb8,
        0x3fff => b > 0xfff,
        // All that is handed out for the public internet so far.
        _ => a & 0xe000 == 0x2000,
    }
}

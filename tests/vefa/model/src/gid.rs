// SPDX-License-Identifier: GPL-2.0
//! A GID: 16 bytes, written as an IPv6 address in full form.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use serde::{de::Error as _, Deserialize, Deserializer, Serialize, Serializer};

/// A GID in network byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// Whether this can be the address of a device: not `::`, and not one of a multicast group.
    pub fn is_destination(&self) -> bool {
        self.0 != [0; 16] && self.0[0] != 0xff
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, group) in Ipv6Addr::from(self.0).segments().iter().enumerate() {
            let separator = if i == 0 { "" } else { ":" };
            write!(f, "{separator}{group:04x}")?;
        }
        Ok(())
    }
}

impl FromStr for Gid {
    type Err = std::net::AddrParseError;

    /// Accepts any form of IPv6 address.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.parse::<Ipv6Addr>()?.octets()))
    }
}

impl Serialize for Gid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| D::Error::custom(format!("`{text}` is not a GID")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_are_written_in_full_form_and_read_in_any() {
        let gid: Gid = "fe80::1:ff".parse().unwrap();
        assert_eq!(gid.to_string(), "fe80:0000:0000:0000:0000:0000:0001:00ff");
        assert_eq!(gid.to_string().parse(), Ok(gid));
        assert!("fe80".parse::<Gid>().is_err());
    }
}

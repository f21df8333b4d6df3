// SPDX-License-Identifier: GPL-2.0

//! The command that reads statistics.

use super::AdminCommand;
use crate::hw::{
    admin::*,
    stats::*, //
};
use kernel::{
    fmt,
    prelude::*, //
};
use zerocopy::FromZeros;

/// A type of statistics.
#[derive(PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its number on the wire.
    number: u8,
    /// Its name in messages.
    pub(crate) name: &'static str,
}

macro_rules! kinds {
    ($($kind:ident = $number:ident, $name:literal, $stats:ident;)+) => {
        impl Kind {
            $(
                #[doc = concat!("See [`", stringify!($stats), "`].")]
                pub(crate) const $kind: Self = Self { number: $number, name: $name };
            )+
        }
        $(const _: () = assert!(size_of::<$stats>() <= size_of::<AnyStats>());)+
    };
}

kinds! {
    BASIC = ADMIN_GET_STATS_TYPE_BASIC, "basic", AdminBasicStats;
    MESSAGES = ADMIN_GET_STATS_TYPE_MESSAGES, "messages", AdminMessagesStats;
    RDMA_READ = ADMIN_GET_STATS_TYPE_RDMA_READ, "RDMA read", AdminRdmaReadStats;
    RDMA_WRITE = ADMIN_GET_STATS_TYPE_RDMA_WRITE, "RDMA write", AdminRdmaWriteStats;
    NETWORK = ADMIN_GET_STATS_TYPE_NETWORK, "network", AdminNetworkStats;
}

/// Statistics of whichever type: words, each a count.
pub(crate) type AnyStats = [u64; 6];

/// What a device says to statistics that it does not have. What else it says may be of this moment.
const MISSING: [u8; 4] = [
    ADMIN_BAD_OPCODE,
    ADMIN_UNSUPPORTED_OPCODE,
    ADMIN_MALFORMED_REQUEST,
    ADMIN_ILLEGAL_PARAMETER,
];

/// Reads statistics of the whole device; replies `None` where it does not have them.
pub(crate) struct GetStats {
    /// Which statistics.
    pub(crate) kind: &'static Kind,
    /// Unless they may be missing, each refusal is a failure.
    pub(crate) may_be_missing: bool,
}

impl fmt::Display for GetStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)
    }
}

impl AdminCommand for GetStats {
    const OPCODE: u8 = ADMIN_GET_STATS;
    const NAME: &'static str = "GET_STATS";
    const KILLABLE: bool = true;
    // Monitors ask every few seconds, and what they read stays.
    const OPTIONAL: bool = true;
    type Request = AdminAqGetStatsCmd;
    type Response = AdminAcqGetStatsResp;
    type Reply = Option<AnyStats>;

    fn answers(&self) -> &'static [u8] {
        match self.may_be_missing {
            true => &MISSING,
            false => &[],
        }
    }

    fn request(&self) -> Self::Request {
        let mut request = AdminAqGetStatsCmd::new_zeroed();
        request.r#type = self.kind.number;
        request.scope = ADMIN_GET_STATS_SCOPE_ALL;
        request
    }

    fn reply(response: Self::Response) -> Self::Reply {
        match response.acq_common_desc.status {
            ADMIN_SUCCESS => Some(response.u),
            _ => None,
        }
    }
}

#[kernel::macros::kunit_tests(efa_admin_commands_stats)]
mod tests {
    use super::*;

    const NETWORK: GetStats = GetStats {
        kind: &Kind::NETWORK,
        may_be_missing: true,
    };

    #[test]
    fn a_request_names_the_type_only() {
        for (at, byte) in NETWORK.request().as_bytes().iter().enumerate() {
            assert_eq!(*byte, if at == 12 { 4 } else { 0 });
        }
    }

    #[test]
    fn statistics_are_the_words_of_the_response() {
        let mut response = AdminAcqGetStatsResp::new_zeroed();
        for (word, value) in response.u.iter_mut().zip(1..) {
            *word = value;
        }
        assert_eq!(GetStats::reply(response), Some([1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn statistics_may_be_missing_until_they_were_read() {
        // Not a lack of resources, an unknown error, or being busy.
        assert!(NETWORK.answers() == [2, 3, 4, 5]);
        let known = GetStats {
            may_be_missing: false,
            ..NETWORK
        };
        assert!(known.answers().is_empty());
        for status in MISSING {
            let mut response = AdminAcqGetStatsResp::new_zeroed();
            response.acq_common_desc.status = status;
            assert_eq!(GetStats::reply(response), None);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0

//! The command that reads statistics.

use super::AdminCommand;
use crate::hw::{
    admin::*,
    stats::*, //
};
use core::marker::PhantomData;
use kernel::{
    fmt,
    prelude::*, //
};
use zerocopy::FromZeros;

/// Statistics that can be read.
pub(crate) trait Statistics: FromBytes {
    /// Their number on the wire.
    const TYPE: u8;
    /// Their name in messages.
    const NAME: &'static str;
}

macro_rules! statistics {
    ($($stats:ident = $type:ident, $text:literal;)+) => {$(
        impl Statistics for $stats {
            const TYPE: u8 = $type;
            const NAME: &'static str = $text;
        }
    )+};
}

statistics! {
    AdminBasicStats = ADMIN_GET_STATS_TYPE_BASIC, "basic";
    AdminMessagesStats = ADMIN_GET_STATS_TYPE_MESSAGES, "messages";
    AdminRdmaReadStats = ADMIN_GET_STATS_TYPE_RDMA_READ, "RDMA read";
    AdminRdmaWriteStats = ADMIN_GET_STATS_TYPE_RDMA_WRITE, "RDMA write";
    AdminNetworkStats = ADMIN_GET_STATS_TYPE_NETWORK, "network";
}

/// What a device says to statistics that it does not have. What else it says may be of this moment.
const MISSING: [u8; 4] = [
    ADMIN_BAD_OPCODE,
    ADMIN_UNSUPPORTED_OPCODE,
    ADMIN_MALFORMED_REQUEST,
    ADMIN_ILLEGAL_PARAMETER,
];

/// Reads statistics of the whole device; replies `None` where it does not have them.
pub(crate) struct GetStats<S> {
    may_be_missing: bool,
    _statistics: PhantomData<S>,
}

impl<S: Statistics> GetStats<S> {
    /// The command for the statistics `S`. Unless they `may_be_missing`, each refusal is a failure.
    pub(crate) const fn new(may_be_missing: bool) -> Self {
        Self {
            may_be_missing,
            _statistics: PhantomData,
        }
    }
}

impl<S: Statistics> fmt::Display for GetStats<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::NAME)
    }
}

impl<S: Statistics> AdminCommand for GetStats<S> {
    const OPCODE: u8 = ADMIN_GET_STATS;
    const NAME: &'static str = "GET_STATS";
    const KILLABLE: bool = true;
    // Monitors ask every few seconds, and what they read stays.
    const OPTIONAL: bool = true;
    type Request = AdminAqGetStatsCmd;
    type Response = AdminAcqGetStatsResp;
    type Reply = Result<Option<S>>;

    fn answers(&self) -> &'static [u8] {
        match self.may_be_missing {
            true => &MISSING,
            false => &[],
        }
    }

    fn request(&self) -> Self::Request {
        let mut request = AdminAqGetStatsCmd::new_zeroed();
        request.r#type = S::TYPE;
        request.scope = ADMIN_GET_STATS_SCOPE_ALL;
        request
    }

    fn reply(response: Self::Response) -> Self::Reply {
        if response.acq_common_desc.status != ADMIN_SUCCESS {
            return Ok(None);
        }
        match S::read_from_prefix(response.u.as_bytes()) {
            Ok((stats, _)) => Ok(Some(stats)),
            Err(_) => Err(EINVAL),
        }
    }
}

#[kernel::macros::kunit_tests(efa_admin_commands_stats)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_the_type_only() {
        let request = GetStats::<AdminNetworkStats>::new(true).request();
        for (at, byte) in request.as_bytes().iter().enumerate() {
            assert_eq!(*byte, if at == 12 { 4 } else { 0 });
        }
    }

    #[test]
    fn statistics_are_parsed_from_the_response() -> Result {
        let mut response = AdminAcqGetStatsResp::new_zeroed();
        for (word, value) in response.u.iter_mut().zip(1..) {
            *word = value;
        }
        let basic = GetStats::<AdminBasicStats>::reply(response)?.ok_or(EINVAL)?;
        assert_eq!((basic.tx_bytes, basic.rx_drops), (1, 5));
        let network = GetStats::<AdminNetworkStats>::reply(response)?.ok_or(EINVAL)?;
        assert_eq!(network.impaired_remote_conn_events, 5);
        Ok(())
    }

    #[test]
    fn statistics_may_be_missing_until_they_were_read() -> Result {
        let answers = |may_be_missing| GetStats::<AdminBasicStats>::new(may_be_missing).answers();
        // Not a lack of resources, an unknown error, or being busy.
        assert!(answers(true) == [2, 3, 4, 5]);
        assert!(answers(false).is_empty());
        for status in MISSING {
            let mut response = AdminAcqGetStatsResp::new_zeroed();
            response.acq_common_desc.status = status;
            assert!(GetStats::<AdminBasicStats>::reply(response)?.is_none());
        }
        Ok(())
    }
}

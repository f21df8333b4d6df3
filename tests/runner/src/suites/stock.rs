// SPDX-License-Identifier: GPL-2.0
//! `stock.`: the main job on Debian's unmodified kernel, as people have it.

use super::Context;
use crate::cli::Driver;
use crate::main_job::measure;
use crate::report::Status;

const NAME: &str = "stock.five_threads_share_one_handle";

pub fn run(context: &mut Context) {
    if !context.selects(NAME) {
        return;
    }
    context.report.plan(1);
    let env = &context.env;
    context.report.time(NAME, || {
        let numbers = measure(env, &env.stock_kernel()?, Driver::Rust)?;
        let complaints = numbers.complaints(Driver::Rust);
        Ok(match complaints.is_empty() {
            true => Status::Passed,
            false => Status::Failed(complaints.join("; ")),
        })
    });
}

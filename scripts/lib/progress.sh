# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
# Steps of long work, with a line now and then while one runs. "item" names what is made, "log" has the output of its
# tools, and descriptor 3 is the person.

PROGRESS_SECONDS=${EFA_PROGRESS_SECONDS:-10}

tell() {
    printf '%s\n' "$*" >&3
}

# step N OF WHAT [DETAIL]: names the step that starts now. While it runs, a line now and then says how long it has
# taken, and what the function DETAIL prints of how far it is.
step() {
    end_step
    local label="[$item] $1/$2" detail=${4:-true}
    tell "$label $3"
    [ "${EFA_SETUP_STOP_AT:-}" != "$item:$1" ] || sleep infinity
    step_log_start=$(wc -l <"$log")
    report_progress 2>/dev/null 8>&- &
    reporter=$!
}

# report_progress: until it is killed, with its pause, or the process that started it is.
report_progress() {
    local started=$SECONDS pause
    trap 'kill "$pause"; exit' TERM
    while true; do
        sleep "$PROGRESS_SECONDS" &
        pause=$!
        wait "$pause"
        kill -0 $$ || exit
        tell "$label: $("$detail")$(elapsed $((SECONDS - started)))"
    done
}

end_step() {
    [ -n "${reporter:-}" ] || return 0
    kill "$reporter" 2>/dev/null || true
    wait "$reporter" 2>/dev/null || true
    reporter=
}

# The log since the step began.
step_log() {
    tail -n "+$((step_log_start + 1))" "$log"
}

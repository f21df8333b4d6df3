// SPDX-License-Identifier: GPL-2.0
//! The program `vefa`, started as people start it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn vefa(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vefa"));
    command.args(arguments).output().unwrap()
}

/// A device that has said it is ready, with the lines it says after that.
fn serve(dir: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_vefa"))
        .args([
            "--socket",
            "vfio",
            "--control",
            "control",
            "--set",
            "max_pd=7",
        ])
        .current_dir(dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "ready");
    (child, lines)
}

fn stderr_line(output: &Output) -> String {
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn version_is_that_of_the_package() {
    let output = vefa(&["--version"]);
    assert!(output.status.success());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(output.stdout, format!("vefa {version}\n").into_bytes());
}

#[test]
fn sigterm_ends_it_with_a_report_and_without_its_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, mut lines) = serve(dir.path());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let report: serde_json::Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    assert_eq!(report["device"], 0);
    assert_eq!(report["leaks"]["live"], serde_json::json!({}));
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn several_devices_are_served_by_one_program() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_vefa"))
        .args(["--socket", "vfio0", "--control", "control0", "--device"])
        .args(["--socket", "vfio1", "--control", "control1"])
        .args(["--set", "max_pd=7"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "ready");
    for name in ["control0", "control1"] {
        let control = dir.path().join(name).display().to_string();
        assert!(vefa(&["ctl", "--control", &control, "objects"])
            .status
            .success());
    }
    let control = dir.path().join("control1").display().to_string();
    assert!(vefa(&["ctl", "--control", &control, "quit"])
        .status
        .success());
    let reports = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    let devices: Vec<_> = reports.map(|report| report["device"].clone()).collect();
    assert_eq!(devices, [0, 1]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn ctl_shows_answers_to_people_and_as_json_and_fails_with_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, _lines) = serve(dir.path());
    let control = dir.path().join("control").display().to_string();
    let ctl = |arguments: &[&str]| vefa(&[&["ctl", "--control", &control], arguments].concat());

    let output = ctl(&["objects"]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout)
        .unwrap()
        .contains("\n  ah: 0\n"));

    let output = ctl(&["--json", "objects"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["objects"]["ah"], 0);

    assert!(ctl(&["set", "api_version=0.2", "mtu=0x1000"])
        .status
        .success());
    assert!(stderr_line(&ctl(&["set"])).contains("no key is given"));
    let error = stderr_line(&ctl(&["set", "mtu=much"]));
    assert_eq!(
        error,
        "vefa: set: mtu cannot be \"much\" (it is 4096): invalid type: string \"much\", expected u32\n"
    );
    assert!(stderr_line(&ctl(&["fly"])).starts_with("vefa: fly: "));
    assert!(stderr_line(&ctl(&["keep_alive", "on"])).contains("KEY=VALUE"));

    assert!(ctl(&["quit"]).status.success());
    assert!(child.wait().unwrap().success());
    assert!(stderr_line(&ctl(&["objects"])).contains(&control));
}

#[test]
fn bad_input_ends_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (socket, control) = (path("vfio"), path("control"));
    let with = |more: &[&str]| {
        let both = ["--socket", &socket, "--control", &control];
        stderr_line(&vefa(&[&both, more].concat()))
    };
    assert!(stderr_line(&vefa(&[])).contains("--socket"));
    assert!(with(&["--no-such-option"]).contains("--no-such-option"));
    assert!(with(&["--config", "/no/such/file"]).contains("/no/such/file"));
    assert!(with(&["--set", "no_such_key=1"]).contains("no_such_key"));
    assert!(with(&["--set", "num_vectors=257"]).contains("num_vectors: must be 1 to 256"));
    assert!(with(&["--set", "answers=bogus"]).contains("`full`, `sparse`, `noisy`"));
    assert!(with(&["--set", "db_bar=3"]).contains("BAR 2"));
    assert!(with(&["--device"]).contains("--socket"));
    let (other_socket, other_control) = (path("vfio1"), path("control1"));
    let other = [
        "--device",
        "--socket",
        &other_socket,
        "--control",
        &other_control,
    ];
    let same_gid = [&other[..], &["--set", "gid=fe80::ef:a000:0:1"]].concat();
    assert!(with(&same_gid).contains("devices 0 and 1 have the same gid"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn help_is_not_an_error() {
    let output = vefa(&["--help"]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout)
        .unwrap()
        .contains("--socket PATH"));
}

// SPDX-License-Identifier: GPL-2.0
//! The configuration: its file form, its checks, the BARs it describes.

use vefa_model::{ApiVersion, Config};

#[test]
fn a_configuration_file_changes_only_what_it_names() {
    let config: Config = toml::from_str(
        "device_id = 0xefa1\napi_version = \"0.2\"\nmax_ah = 7\ncaps = [\"rdma_read\"]\n\
         gid = \"fe80::5\"\nfeatures = [\"aenq_config\", \"hw_hints\"]\n",
    )
    .unwrap();
    assert_eq!(config.device_id, 0xefa1);
    assert_eq!(config.api_version, ApiVersion::V0_2);
    assert_eq!(config.max_ah, 7);
    assert_eq!(config.features.len(), 2);
    assert_eq!(config.max_pd, Config::default().max_pd);
}

#[test]
fn unknown_keys_and_values_are_refused() {
    for text in [
        "max_ahs = 1",
        "api_version = \"0.4\"",
        "features = [\"flying\"]",
        "gid = \"here\"",
        "max_pd = -1",
    ] {
        assert!(toml::from_str::<Config>(text).is_err(), "{text}");
    }
}

#[test]
fn impossible_devices_are_refused_by_key() {
    let cases = [
        ("device_id", "device_id = 0x1234"),
        ("num_vectors", "num_vectors = 0"),
        ("db_bar", "db_bar = 6"),
        ("llq_bar_size", "llq_bar_size = 5000"),
        ("db_bar_size", "db_bar_size = 1"),
        ("dma_addr_width", "dma_addr_width = 65"),
        ("reset_timeout", "reset_timeout = 32"),
        ("admin_cmd_timeout", "admin_cmd_timeout = 16"),
        ("keep_alive_ms", "keep_alive_ms = 0"),
        ("max_ah", "max_ah = 65535"),
        ("max_uar", "max_uar = 300"),
        ("max_qp", "max_qp = 65535"),
        ("max_cq", "max_cq = 65537"),
        ("max_mr", "max_mr = 0x1000000"),
        ("max_cq_depth", "max_cq_depth = 65536"),
        ("max_sq_depth", "max_sq_depth = 65536"),
        ("max_rq_depth", "max_rq_depth = 65536"),
        ("min_sq_depth", "min_sq_depth = 8192"),
        ("sub_cqs_per_cq", "sub_cqs_per_cq = 0"),
        ("inline_buf_size", "inline_buf_size = 33"),
        ("inline_buf_size_ex", "inline_buf_size_ex = 81"),
        ("llq_page_offset", "llq_page_offset = 32"),
    ];
    for (key, text) in cases {
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.validate().unwrap_err().key, key);
    }
    assert_eq!(Config::default().validate(), Ok(()));
}

#[test]
fn bars_follow_the_configuration() {
    let sizes = |text| {
        let config: Config = toml::from_str(text).unwrap();
        [0, 1, 2, 3, 4, 5].map(|bar| config.bar_size(bar))
    };
    let (k16, m1, m16) = (Some(16 << 10), Some(1 << 20), Some(16 << 20));
    assert_eq!(sizes(""), [k16, None, m16, None, m1, None]);
    assert_eq!(sizes("has_bar2 = false"), [k16, None, None, None, m1, None]);
    assert_eq!(
        sizes("has_db_bar = false"),
        [k16, None, m16, None, None, None]
    );
    assert_eq!(
        sizes("db_bar = 0"),
        [Some(2 << 20), None, m16, None, None, None]
    );
    assert_eq!(
        sizes("db_bar = 2"),
        [k16, None, Some(32 << 20), None, None, None]
    );
}

#[test]
fn doorbells_follow_what_else_is_in_their_bar() {
    let base = |text| toml::from_str::<Config>(text).unwrap().doorbell_base();
    assert_eq!(base(""), 0);
    assert_eq!(base("db_bar = 5"), 0);
    assert_eq!(base("db_bar = 0"), vefa_model::config::REGISTER_BAR_SIZE);
    assert_eq!(base("db_bar = 2"), 16 << 20);
    assert_eq!(base("db_bar = 2\nhas_bar2 = false"), 0);
}

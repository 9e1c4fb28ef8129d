//! Every example runs to its end, so that none can be stale.

#[path = "../examples/account.rs"]
mod account;
#[path = "../examples/audit_code.rs"]
mod audit_code;
#[path = "../examples/calibrate.rs"]
mod calibrate;
#[path = "../examples/release.rs"]
mod release;
#[path = "../examples/train.rs"]
mod train;

#[test]
fn every_example_runs() {
    account::main().unwrap();
    calibrate::main().unwrap();
    release::main().unwrap();
    train::main().unwrap();
    audit_code::main().unwrap();
}

/// An example that is not run above would rot.
#[test]
fn no_example_is_left_out() {
    let here = include_str!("examples.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        assert!(here.contains(&format!("    {name}::main().unwrap();")), "{name} is not run");
    }
}

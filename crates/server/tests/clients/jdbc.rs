//! Java's driver, and what Spark asks through it.

use std::path::Path;

use crate::program::{Target, assert_there, beside, not_yet};

const JAR: &str = "/usr/share/java/postgresql.jar";

/// Sections that fail, and why.
const NOT_YET: &[(&str, &str)] = &[];

#[test]
fn pgjdbc() {
    assert_there("java", "-version");
    assert!(
        Path::new(JAR).exists(),
        "pgjdbc is missing: `./dev test` installs it"
    );
    let target = Target::start();
    let url = format!("jdbc:postgresql://127.0.0.1:{}/boats?user=ada", target.port);
    let (program, fails) = (beside("Jdbc.java"), not_yet(NOT_YET));
    let mut arguments = vec!["-cp", JAR, &program, &url];
    arguments.extend(fails.iter().map(String::as_str));
    target.run("java", &arguments);
}

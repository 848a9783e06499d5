//! Java's driver, and what Spark asks through it.

use std::path::Path;

use crate::program::{Target, assert_there, beside};

const JAR: &str = "/usr/share/java/postgresql.jar";

#[test]
fn pgjdbc() {
    assert_there("java", "-version");
    assert!(
        Path::new(JAR).exists(),
        "pgjdbc is missing: `./dev test` installs it"
    );
    let target = Target::start();
    let url = format!("jdbc:postgresql://127.0.0.1:{}/boats?user=ada", target.port);
    target.run("java", &["-cp", JAR, &beside("Jdbc.java"), &url]);
}

//! Java's driver, and what Spark asks through it.

use std::path::Path;

use crate::program::{Target, assert_there, beside, not_yet};

const JAR: &str = "/usr/share/java/postgresql.jar";

/// Sections that fail, and why.
const NOT_YET: &[(&str, &str)] = &[
    ("types", "`timestamp` is answered as timestamptz"),
    ("columns", "`varchar(n)` is answered as text"),
    ("metadataOfResults", "`varchar(n)` is answered as text"),
    ("sparkReads", "columns of results do not name their table"),
];

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

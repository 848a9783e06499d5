//! A short run of the kind `kill`: a server that is killed again and again keeps all it acknowledged.

use std::time::Duration;

use storage::env::{Random, SystemRandom};
use torture::{Options, kill};

/// Long enough for several kills, with flushes and compactions between them.
const DURATION: Duration = Duration::from_secs(15);

#[test]
fn nothing_acknowledged_is_lost_by_a_kill() {
    // The programs of the workspace lie in the folder above the one of its tests.
    let own = std::env::current_exe().unwrap();
    let server = own.ancestors().nth(2).unwrap().join("evenkeel");
    assert!(
        server.is_file(),
        "there is no {}: build it with `cargo build -p server`",
        server.display()
    );
    let options = Options {
        duration: DURATION,
        seed: SystemRandom::new().below(1 << 32),
        server,
        keep: None,
    };
    println!("seed {}", options.seed);
    assert!(
        kill::run(&options).unwrap(),
        "the lines above say what is wrong"
    );
}

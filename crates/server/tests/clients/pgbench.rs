//! pgbench: its own tables and script, scripts of ours in each protocol, and what must hold after.

use std::fs;

use crate::program::{Target, assert_there};

/// Clients, threads and transactions of each client in a run.
const LOAD: [&str; 6] = ["-c", "4", "-j", "2", "-t", "10"];

/// Ours is serializable, and pgbench's clients all write the same few rows.
const TRIES_MAX: &str = "--max-tries=1000";

struct Bench {
    target: Target,
}

impl Bench {
    fn start() -> Self {
        assert_there("pgbench", "--version");
        Self {
            target: Target::start(),
        }
    }

    /// Runs pgbench, and checks that every transaction was done in the end.
    fn load(&self, arguments: &[&str]) {
        let mut all = LOAD.to_vec();
        all.extend(["-n", TRIES_MAX]);
        all.extend(arguments);
        let out = self.target.run("pgbench", &all);
        let done = "number of transactions actually processed: 40/40";
        assert!(out.contains(done), "{arguments:?}: {out}");
        let none = "number of failed transactions: 0 (0.000%)";
        assert!(out.contains(none), "{arguments:?}: {out}");
    }

    fn ask(&self, statement: &str) -> String {
        let out = self.target.run("psql", &["-XAtc", statement]);
        out.trim().to_owned()
    }
}

#[test]
fn pgbench_keeps_its_sums() {
    let bench = Bench::start();
    // Each step of it: drop, create, generate on the client, vacuum, primary keys.
    bench.target.run("pgbench", &["-i", "-I", "dtgvp", "-q"]);
    let rows = bench.ask(
        "SELECT (SELECT count(*) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_tellers), \
         (SELECT count(*) FROM pgbench_branches), (SELECT count(*) FROM pgbench_history)",
    );
    assert_eq!(rows, "100000|10|1|0");
    for mode in ["simple", "extended", "prepared"] {
        bench.load(&["-M", mode]);
    }
    bench.load(&["-M", "prepared", "-b", "simple-update"]);
    bench.load(&["-M", "prepared", "-b", "select-only"]);
    let history = bench.ask("SELECT count(*) FROM pgbench_history");
    assert_eq!(history, "160");
    let sums = bench.ask(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)",
    );
    assert_eq!(sums, "t");
    // The simple update leaves tellers and branches alone: what they lack, both lack.
    let both = bench.ask(
        "SELECT (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)",
    );
    assert_eq!(both, "t");
}

#[test]
fn pgbench_runs_scripts_in_each_protocol() {
    let bench = Bench::start();
    bench.ask("DROP TABLE IF EXISTS counters");
    bench.ask("CREATE TABLE counters (id bigint PRIMARY KEY, n bigint NOT NULL, note text)");
    bench.ask("INSERT INTO counters VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'c'), (4, 0, 'd')");
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().expect("its path is UTF-8").to_owned()
    };
    let read = script(
        "read",
        "\\set id random(1, 4)\nSELECT n, note FROM counters WHERE id = :id;\n",
    );
    let add = script(
        "add",
        "\\set id random(1, 4)\nUPDATE counters SET n = n + 1 WHERE id = :id;\n",
    );
    let change = script(
        "change",
        "\\set from random(1, 4)\n\\set to random(1, 4)\nBEGIN;\n\
         SELECT n AS before FROM counters WHERE id = :from \\gset\n\
         UPDATE counters SET n = n - 1 WHERE id = :from;\n\
         UPDATE counters SET n = n + 1 WHERE id = :to;\nCOMMIT;\n",
    );
    let put = script(
        "put",
        "\\set id random(100, 200)\n\
         INSERT INTO counters VALUES (:id, 0, 'new') ON CONFLICT (id) DO UPDATE SET note = 'there';\n",
    );
    for mode in ["simple", "extended", "prepared"] {
        for script in [&read, &add, &change, &put] {
            bench.load(&["-M", mode, "-f", script]);
        }
    }
    assert_eq!(
        bench.ask("SELECT sum(n) FROM counters WHERE id <= 4"),
        "120"
    );
    let others = bench.ask("SELECT count(*) > 0, sum(n) FROM counters WHERE id > 4");
    assert_eq!(others, "t|0");
}

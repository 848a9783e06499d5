//! Python's drivers, and SQLAlchemy over each of them.

use std::path::Path;

use crate::program::{Target, assert_there, beside};

fn run(program: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = target.parent().expect("it lies in the target directory");
    let python = target.join("python-clients/bin/python");
    let python = python.to_str().expect("its path is UTF-8");
    assert_there(python, "--version");
    Target::start().run(python, &[&beside(program)]);
}

#[test]
fn psycopg_3() {
    run("with_psycopg3.py");
}

#[test]
fn psycopg_2() {
    run("with_psycopg2.py");
}

#[test]
fn asyncpg() {
    run("with_asyncpg.py");
}

#[test]
fn sqlalchemy() {
    run("with_sqlalchemy.py");
}

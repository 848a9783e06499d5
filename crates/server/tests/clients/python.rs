//! Python's drivers, SQLAlchemy over each of them, Django, and the client of the NoSQL web API.

use std::path::Path;

use crate::program::{PORT_VARIABLE, Target, assert_there, beside, not_yet};

/// Sections that fail, and why.
type NotYet = &'static [(&'static str, &'static str)];

const PSYCOPG3_NOT_YET: NotYet = &[];

const PSYCOPG2_NOT_YET: NotYet = &[];

const ASYNCPG_NOT_YET: NotYet = &[];

const SQLALCHEMY_NOT_YET: NotYet = &[];

const DJANGO_NOT_YET: NotYet = &[];

const V3IO_NOT_YET: NotYet = &[];

const V3IOFS_NOT_YET: NotYet = &[];

const STOREY_NOT_YET: NotYet = &[];

fn run(program: &str, fails: NotYet) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = target.parent().expect("it lies in the target directory");
    let python = target.join("python-clients/bin/python");
    let python = python.to_str().expect("its path is UTF-8");
    assert_there(python, "--version");
    let (program, fails) = (beside(program), not_yet(fails));
    let mut arguments = vec![program.as_str()];
    arguments.extend(fails.iter().map(String::as_str));
    Target::start().run(python, &arguments);
}

#[test]
fn psycopg_3() {
    run("with_psycopg3.py", PSYCOPG3_NOT_YET);
}

#[test]
fn psycopg_2() {
    run("with_psycopg2.py", PSYCOPG2_NOT_YET);
}

#[test]
fn asyncpg() {
    run("with_asyncpg.py", ASYNCPG_NOT_YET);
}

#[test]
fn sqlalchemy() {
    run("with_sqlalchemy.py", SQLALCHEMY_NOT_YET);
}

#[test]
fn django() {
    run("with_django.py", DJANGO_NOT_YET);
}

/// As [`run`], for the clients of the NoSQL web API, which a PostgreSQL cannot answer.
fn run_on_api(program: &str, fails: NotYet) {
    if std::env::var_os(PORT_VARIABLE).is_none() {
        run(program, fails);
    }
}

/// The client of Iguazio's collections.
#[test]
fn v3io() {
    run_on_api("with_v3io.py", V3IO_NOT_YET);
}

/// Iguazio's files for fsspec.
#[test]
fn v3iofs() {
    run_on_api("with_v3iofs.py", V3IOFS_NOT_YET);
}

/// MLRun's stream processing.
#[test]
fn storey() {
    run_on_api("with_storey.py", STOREY_NOT_YET);
}

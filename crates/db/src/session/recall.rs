//! Texts that need not be read, because others like them were.
//!
//! What is recalled is what [`Session::parse`] and [`Session::prepare`] would have made, with values in
//! place of literals; a front end that never asks is slower and no different. [`crate::shapes`] tells
//! what is remembered, and [`sql::Shape`] when a literal can be a parameter.

use std::borrow::Cow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use keys::{Type, Value};
use sql::{Prepared, Shape};
use syntax::{OUTLINED_BYTES_MAX, Span};

use super::{Session, TransactionState};
use crate::shapes::Known;

/// A text that is ready to run.
#[derive(Debug)]
pub struct Recalled {
    /// The statement that it shares with others.
    pub prepared: Prepared,
    /// The values that were written in it.
    pub values: Vec<Value>,
}

impl Session {
    /// The statement that a text is, if it or one of its shape was made ready before.
    pub fn recall(&mut self, text: &str) -> Option<Recalled> {
        if self.state() == TransactionState::Failed || text.len() > OUTLINED_BYTES_MAX {
            return None;
        }
        self.recall_shape(text).or_else(|| {
            let prepared = self.ready(text)?;
            let alone = prepared.parameters().is_empty();
            alone.then_some(Recalled {
                prepared,
                values: Vec::new(),
            })
        })
    }

    fn recall_shape(&self, text: &str) -> Option<Recalled> {
        let outline = syntax::outline(text)?;
        let shape = self.shape(&outline.shape)?;
        let values = shape.values(&outline.literals)?;
        let span = Span {
            start: 0,
            end: text.len(),
        };
        Some(Recalled {
            prepared: shape.prepared().clone().spanning(span),
            values,
        })
    }

    /// Tells what came of a text that was not recalled and that is one statement.
    pub fn remember(&mut self, text: &str, prepared: &Prepared) {
        if text.len() > OUTLINED_BYTES_MAX || !is_whole(text, prepared) {
            return;
        }
        if let Some(outline) = syntax::outline(text) {
            let shared = prepared.is_shared();
            if self.known(&outline.shape).is_none() {
                let known = if shared { Known::Once } else { Known::Apart };
                self.know(&outline.shape, known);
            }
            if shared {
                return;
            }
        }
        self.keep(text, prepared);
    }

    /// As [`Session::recall`], for a text whose parameters have these types, as far as they are stated.
    pub fn recall_prepared(&mut self, text: &str, hints: &[Option<Type>]) -> Option<Prepared> {
        if self.state() == TransactionState::Failed {
            return None;
        }
        self.ready(&named(text, hints)?)
    }

    /// As [`Session::remember`], for a text whose parameters have these types.
    pub fn remember_prepared(&mut self, text: &str, hints: &[Option<Type>], prepared: &Prepared) {
        if is_whole(text, prepared)
            && let Some(name) = named(text, hints)
        {
            self.keep(&name, prepared);
        }
    }

    fn known(&self, name: &str) -> Option<Known> {
        let generation = self.database.catalog.generation();
        self.database.shapes.get(name, generation)
    }

    /// Remembers something, unless it is ready for tables that have changed meanwhile.
    fn know(&self, name: &str, known: Known) {
        let generation = self.database.catalog.generation();
        let serves = match &known {
            Known::Shared(shape) => shape.prepared().serves(generation),
            Known::Ready(prepared) => prepared.serves(generation),
            Known::Once | Known::Apart => true,
        };
        if serves {
            self.database.shapes.set(name, generation, known);
        }
    }

    /// Keeps what came of a text that is met for the second time.
    fn keep(&self, name: &str, prepared: &Prepared) {
        let known = match self.known(name) {
            None if prepared.is_kept() => Known::Once,
            None => Known::Apart,
            Some(Known::Once) if prepared.is_kept() => Known::Ready(prepared.clone()),
            Some(_) => return,
        };
        self.know(name, known);
    }

    /// What a text of this name is.
    fn ready(&self, name: &str) -> Option<Prepared> {
        match self.known(name)? {
            Known::Ready(prepared) => Some(prepared),
            Known::Shared(shape) => Some(shape.prepared().clone()),
            Known::Once | Known::Apart => None,
        }
    }

    /// The statement that texts of a shape share, which is made ready when one is met for the second
    /// time.
    fn shape(&self, shape: &str) -> Option<Shape> {
        let made = match self.known(shape)? {
            Known::Shared(shape) => return Some(shape),
            Known::Apart => return None,
            Known::Ready(prepared) => Some(Shape::new(prepared)?),
            Known::Once => self.make_shape(shape),
        };
        self.know(shape, made.clone().map_or(Known::Apart, Known::Shared));
        made
    }

    /// Makes a shape ready. Whatever is wrong with it is told when a text of it is read.
    fn make_shape(&self, text: &str) -> Option<Shape> {
        let parsed = syntax::parse(text).ok()?;
        let [statement] = <[_; 1]>::try_from(parsed).ok()?;
        let reader = match &self.transaction {
            Some(open) => open.inner.reader(),
            None => self.database.store.view().reader(),
        };
        let work = pin!(self.executor.prepare_resolved(statement, reader, &[]));
        // What can be shared takes no planner, and so nobody has to be waited for.
        let Poll::Ready(prepared) = work.poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        let (number, folded) = syntax::fingerprint(text);
        let now_ns = self.database.latencies.now_ns();
        let tally = self.executor.statements().tally(number, &folded, now_ns);
        Shape::new(prepared.ok()?.tallied(Some(tally)))
    }
}

/// Whether a text is this statement and nothing else, so that nothing else was said when it was read.
fn is_whole(text: &str, prepared: &Prepared) -> bool {
    let text = text.trim();
    let text = text.strip_suffix(';').map_or(text, str::trim_end);
    let span = prepared.statement().span;
    span.end - span.start == text.len()
}

/// What a text with parameters of these types is known as; nothing if it is long.
fn named<'t>(text: &'t str, hints: &[Option<Type>]) -> Option<Cow<'t, str>> {
    if text.len() > OUTLINED_BYTES_MAX {
        return None;
    }
    Some(match hints.iter().all(Option::is_none) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{text}\0{hints:?}")),
    })
}

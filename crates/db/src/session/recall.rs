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
    /// The statement that a text is, if one of its shape was made ready before.
    pub fn recall(&mut self, text: &str) -> Option<Recalled> {
        let outline = syntax::outline(text)?;
        let shape = self.shape(&outline.shape, &outline.shape, &[])?;
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
        if let Some(outline) = syntax::outline(text) {
            self.note(&outline.shape, prepared);
        }
    }

    /// As [`Session::recall`], for a text whose parameters have these types, as far as they are stated.
    pub fn recall_prepared(&mut self, text: &str, hints: &[Option<Type>]) -> Option<Prepared> {
        let name = named(text, hints)?;
        let shape = self.shape(&name, text, hints)?;
        Some(shape.prepared().clone())
    }

    /// As [`Session::remember`], for a text whose parameters have these types.
    pub fn remember_prepared(&mut self, text: &str, hints: &[Option<Type>], prepared: &Prepared) {
        if let Some(name) = named(text, hints) {
            self.note(&name, prepared);
        }
    }

    fn note(&self, name: &str, prepared: &Prepared) {
        let generation = self.database.catalog.generation();
        let shapes = &self.database.shapes;
        if shapes.get(name, generation).is_none() {
            let known = match prepared.is_shared() {
                true => Known::Once,
                false => Known::Apart,
            };
            shapes.set(name, generation, known);
        }
    }

    /// The shape of this name, which is made ready when it is met for the second time.
    fn shape(&self, name: &str, text: &str, hints: &[Option<Type>]) -> Option<Shape> {
        if self.state() == TransactionState::Failed {
            return None;
        }
        let generation = self.database.catalog.generation();
        match self.database.shapes.get(name, generation)? {
            Known::Shared(shape) => Some(shape),
            Known::Apart => None,
            Known::Once => {
                let shape = self.make_shape(text, hints);
                let known = shape.clone().map_or(Known::Apart, Known::Shared);
                self.database.shapes.set(name, generation, known);
                shape
            }
        }
    }

    /// Makes a shape ready. Whatever is wrong with it is told when a text of it is read.
    fn make_shape(&self, text: &str, hints: &[Option<Type>]) -> Option<Shape> {
        let parsed = syntax::parse(text).ok()?;
        let [statement] = <[_; 1]>::try_from(parsed).ok()?;
        let reader = match &self.transaction {
            Some(open) => open.inner.reader(),
            None => self.database.store.view().reader(),
        };
        let work = pin!(self.executor.prepare_resolved(statement, reader, hints));
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

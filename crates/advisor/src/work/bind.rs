//! Which columns a condition binds, and to what.

use keys::{Type, Value};
use syntax::ast::{self, BinaryOperator, Expr};
use syntax::{literal, literal_text};

use super::moment::moment;
use super::{Given, VALUES_MAX, is_kept};
use crate::joins::CONDITIONS_MAX;
use crate::trace::{Op, Order, Row, Table};

/// Tables that one statement joins.
const TABLES_MAX: usize = 16;

/// A column of one of the tables: which table, and which of its columns.
type Place = (usize, u16);

/// The tables that a condition is over, and what it says about each.
pub(super) struct Scope<'p, 't> {
    parameters: &'p dyn Given,
    tables: Vec<Scoped<'t>>,
    /// Columns that are equal to each other.
    equal: Vec<(Place, Place)>,
}

struct Scoped<'t> {
    title: String,
    table: &'t Table,
    op: Op,
}

impl<'p, 't> Scope<'p, 't> {
    pub(super) fn new(parameters: &'p dyn Given) -> Self {
        Self {
            parameters,
            tables: Vec::new(),
            equal: Vec::new(),
        }
    }

    /// One more table.
    pub(super) fn open(&mut self, title: &str, table: &'t Table) {
        if self.tables.len() < TABLES_MAX {
            self.tables.push(Scoped {
                title: title.to_owned(),
                table,
                op: Op::default(),
            });
        }
    }

    /// Takes in a condition that holds for every row.
    pub(super) fn add(&mut self, condition: &Expr) {
        let mut open = vec![condition];
        let mut left = CONDITIONS_MAX;
        while let Some(expr) = open.pop() {
            left = left.saturating_sub(1);
            if left == 0 {
                return;
            }
            match expr {
                Expr::Nested(inner) => open.push(inner),
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::And,
                    right,
                } => open.extend([&**right, &**left]),
                other => self.part(other),
            }
        }
    }

    /// USING of a join: the columns of that name in its last table and in one before.
    pub(super) fn joined_by(&mut self, names: &[ast::ObjectName]) {
        for name in names {
            let Some(ident) = name.0.last().and_then(ast::ObjectNamePart::as_ident) else {
                continue;
            };
            let places = self.tables.iter().enumerate().filter_map(|(at, one)| {
                let column = column(one.table, &ident.value, ident.quote_style.is_some())?;
                Some((at, column))
            });
            let places: Vec<Place> = places.collect();
            if let [first, .., last] = places.as_slice() {
                self.equal.push((*first, *last));
            }
        }
    }

    /// One part of a conjunction.
    fn part(&mut self, part: &Expr) {
        match part {
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::InList {
                expr,
                list,
                negated: false,
            } => self.one_of(expr, list),
            Expr::Between {
                expr,
                negated: false,
                low,
                high,
            } => {
                self.comparison(expr, &BinaryOperator::GtEq, low);
                self.comparison(expr, &BinaryOperator::LtEq, high);
            }
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => match right.as_ref() {
                Expr::Array(array) => self.one_of(left, &array.elem),
                listed => self.listed(left, listed),
            },
            Expr::IsNotDistinctFrom(left, right) => {
                self.comparison(left, &BinaryOperator::Eq, right);
            }
            Expr::IsNull(expr) => {
                if let Some(place) = self.place(expr) {
                    self.equals(place, vec![Value::Null]);
                }
            }
            _ => {}
        }
    }

    fn comparison(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) {
        use BinaryOperator as B;
        if *op == B::Or {
            if let Some((place, values)) = self.either(left, right) {
                self.equals(place, values);
            }
            return;
        }
        let (place, op, other) = match (self.place(left), self.place(right)) {
            (Some(left), Some(right)) => {
                if *op == B::Eq {
                    self.equal.push((left, right));
                }
                return;
            }
            (Some(place), None) => (place, op.clone(), right),
            (None, Some(place)) => (place, mirrored(op), left),
            (None, None) => return,
        };
        let Some(value) = self.value(place, other) else {
            return;
        };
        let Some(scoped) = self.tables.get_mut(place.0) else {
            return;
        };
        match op {
            B::Eq => self.equals(place, vec![value]),
            B::Gt | B::GtEq => narrow(&mut scoped.op.low, place.1, value, |new, old| new > old),
            B::Lt | B::LtEq => narrow(&mut scoped.op.high, place.1, value, |new, old| new < old),
            _ => {}
        }
    }

    /// `a = 1 OR a = 2`, as `a IN (1, 2)`.
    fn either(&self, left: &Expr, right: &Expr) -> Option<(Place, Vec<Value>)> {
        let (place, mut values) = self.equality(left)?;
        let (other, more) = self.equality(right)?;
        values.extend(more);
        (place == other && values.len() <= VALUES_MAX).then_some((place, values))
    }

    fn equality(&self, expr: &Expr) -> Option<(Place, Vec<Value>)> {
        match expr {
            Expr::Nested(inner) => self.equality(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Or,
                right,
            } => self.either(left, right),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => {
                let (place, other) = match self.place(left) {
                    Some(place) => (place, right),
                    None => (self.place(right)?, left),
                };
                Some((place, vec![self.value(place, other)?]))
            }
            _ => None,
        }
    }

    fn one_of(&mut self, expr: &Expr, list: &[Expr]) {
        let Some(place) = self.place(expr) else {
            return;
        };
        let values = list.iter().map(|item| self.value(place, item));
        if let Some(values) = values.collect::<Option<Vec<_>>>() {
            self.equals(place, values);
        }
    }

    /// A list that came as one parameter: `{1,2}`.
    fn listed(&mut self, expr: &Expr, list: &Expr) {
        let Some(place) = self.place(expr) else {
            return;
        };
        let Some(kind) = self.kind(place) else { return };
        let values = placeholder(list).and_then(|number| self.parameters.list(number, kind));
        if let Some(values) = values {
            self.equals(place, values);
        }
    }

    fn equals(&mut self, (at, column): Place, values: Vec<Value>) {
        let Some(scoped) = self.tables.get_mut(at) else {
            return;
        };
        let known = scoped.op.eq.iter().any(|(other, _)| *other == column);
        if !known && values.len() <= VALUES_MAX && values.iter().all(is_kept) {
            scoped.op.eq.push((column, values));
        }
    }

    fn place(&self, expr: &Expr) -> Option<Place> {
        match expr {
            Expr::Nested(inner) => self.place(inner),
            Expr::Identifier(name) => {
                let mut places = self.tables.iter().enumerate().filter_map(|(at, one)| {
                    let column = column(one.table, &name.value, name.quote_style.is_some())?;
                    Some((at, column))
                });
                let place = places.next()?;
                places.next().is_none().then_some(place)
            }
            Expr::CompoundIdentifier(names) => {
                let [.., table, name] = names.as_slice() else {
                    return None;
                };
                let is_it = |one: &Scoped<'_>| one.title.eq_ignore_ascii_case(&table.value);
                let at = self.tables.iter().position(is_it)?;
                let table = self.tables.get(at)?.table;
                let column = column(table, &name.value, name.quote_style.is_some())?;
                Some((at, column))
            }
            _ => None,
        }
    }

    fn kind(&self, (at, column): Place) -> Option<Type> {
        let table = self.tables.get(at)?.table;
        Some(table.columns.get(usize::from(column))?.kind)
    }

    fn value(&self, place: Place, expr: &Expr) -> Option<Value> {
        value(expr, self.kind(place)?, self.parameters)
    }

    /// A column of the only table.
    pub(super) fn only_column(&self, expr: &Expr) -> Option<u16> {
        let (at, column) = self.place(expr)?;
        (at == 0 && self.tables.len() == 1).then_some(column)
    }

    /// A number of rows.
    pub(super) fn count(&self, expr: &Expr) -> Option<u64> {
        if let Some(number) = placeholder(expr) {
            return self.parameters.limit(number);
        }
        match value(expr, Type::Uint64, self.parameters)? {
            Value::Uint64(count) => Some(count),
            _ => None,
        }
    }

    /// The order and the limit of the only table.
    pub(super) fn sort(&mut self, order: Vec<Order>, limit: Option<u64>) {
        if let [only] = self.tables.as_mut_slice() {
            only.op.order = order;
            only.op.limit = limit;
        }
    }

    /// What is said about each table, with what follows from columns being equal.
    pub(super) fn finish(mut self) -> Vec<(&'t Table, Op)> {
        let equal = std::mem::take(&mut self.equal);
        for _ in 0..self.tables.len() {
            for (one, two) in &equal {
                self.follow(*one, *two);
                self.follow(*two, *one);
            }
        }
        let tables = self.tables.into_iter();
        tables.map(|one| (one.table, one.op)).collect()
    }

    fn follow(&mut self, from: Place, to: Place) {
        let (Some(source), Some(kind)) = (self.tables.get(from.0), self.kind(to)) else {
            return;
        };
        let bound = source.op.eq.iter().find(|(column, _)| *column == from.1);
        let Some((_, values)) = bound else { return };
        let values = values.iter().cloned().map(|value| coerced(value, kind));
        if let Some(values) = values.collect::<Option<Vec<_>>>() {
            self.equals(to, values);
        }
    }
}

/// Keeps the tighter of two bounds.
fn narrow(bounds: &mut Row, column: u16, value: Value, tighter: fn(&Value, &Value) -> bool) {
    if value.is_null() || !is_kept(&value) {
        return;
    }
    match bounds.iter_mut().find(|(other, _)| *other == column) {
        Some((_, old)) if tighter(&value, old) => *old = value,
        Some(_) => {}
        None => bounds.push((column, value)),
    }
}

fn mirrored(op: &BinaryOperator) -> BinaryOperator {
    use BinaryOperator as B;
    match op {
        B::Lt => B::Gt,
        B::LtEq => B::GtEq,
        B::Gt => B::Lt,
        B::GtEq => B::LtEq,
        other => other.clone(),
    }
}

/// The place of a column: as it is spelled, or else in any case if it has no quotes.
pub(super) fn column(table: &Table, name: &str, quoted: bool) -> Option<u16> {
    table.column(name).or_else(|| {
        let alike = |column: &crate::trace::Column| column.name.eq_ignore_ascii_case(name);
        let at = table.columns.iter().position(alike).filter(|_| !quoted)?;
        u16::try_from(at).ok()
    })
}

/// The known values of a row that VALUES writes.
pub(super) fn row(
    table: &Table,
    columns: &[Option<u16>],
    values: &[Expr],
    parameters: &dyn Given,
) -> Row {
    let given = columns.iter().zip(values).filter_map(|(column, expr)| {
        let column = (*column)?;
        let kind = table.columns.get(usize::from(column))?.kind;
        let value = value(expr, kind, parameters)?;
        is_kept(&value).then_some((column, value))
    });
    given.collect()
}

/// The value of a constant or a parameter, in the type of its column.
fn value(expr: &Expr, kind: Type, parameters: &dyn Given) -> Option<Value> {
    match expr {
        Expr::Nested(inner) => value(inner, kind, parameters),
        Expr::Value(written) if written.value == ast::Value::Null => Some(Value::Null),
        _ if let Some(number) = placeholder(expr) => parameters.one(number, kind),
        _ if let Some(typed) = literal(expr) => coerced(typed, kind),
        _ if let Some(now_us) = parameters.now_us()
            && let Some(time) = moment(expr, now_us, kind) =>
        {
            Some(time)
        }
        _ => Value::parse(kind, &literal_text(expr)?.1).ok(),
    }
}

/// The number of a parameter, also under a cast.
fn placeholder(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => placeholder(inner),
        Expr::Cast { expr, .. } => placeholder(expr),
        Expr::Value(written) => {
            let ast::Value::Placeholder(name) = &written.value else {
                return None;
            };
            name.strip_prefix('$')?.parse().ok()
        }
        _ => None,
    }
}

/// A value in another type, if it means the same there.
pub(super) fn coerced(value: Value, kind: Type) -> Option<Value> {
    match value.value_type() {
        None => Some(Value::Null),
        Some(own) if own == kind => Some(value),
        Some(_) => Value::parse(kind, &value.to_string()).ok(),
    }
}

//! Statements printed for people: names as the text has them, by their spans.

use std::fmt::Write;

use syntax::ast;
use syntax::statement::{
    Copy, CopyOption, CopySource, CopyValue, Expression, Ident, Insert, Kind, Name, Reset,
    SequenceOptions, Set, Show, Statement, TransactionModes,
};
use syntax::table::{
    AlterationKind, Column, ColumnChange, ColumnType, CreateTable, Index, KeyPart, KeyPartKind,
    Merge, OptionValue, PrimaryKey, SplitKey, TableOption,
};
use syntax::{Mode, Span};

/// Every statement of a text, or the error in place of one.
pub(crate) fn print(text: &str) -> String {
    match syntax::parse_each(text) {
        Err(error) => format!("error at {}: {error}\n", error.position().offset),
        Ok(statements) => statements
            .iter()
            .map(|result| match result {
                Ok(statement) => Printer { text }.statement(statement),
                Err(error) => format!("error at {}: {error}\n", error.position().offset),
            })
            .collect(),
    }
}

struct Printer<'t> {
    text: &'t str,
}

impl Printer<'_> {
    fn at(&self, span: Span) -> &str {
        span.slice(self.text)
    }

    fn ident(&self, ident: &Ident) -> String {
        let written = self.at(ident.span);
        if written == ident.value {
            written.to_owned()
        } else {
            format!("{written}→{}", ident.value)
        }
    }

    fn name(&self, name: &Name) -> String {
        let written = self.at(name.span);
        let values: Vec<&str> = name.parts.iter().map(|part| part.value.as_str()).collect();
        let value = values.join(".");
        if written == value {
            value
        } else {
            format!("{written}→{value}")
        }
    }

    fn list<T>(&self, items: &[T], mut item: impl FnMut(&T) -> String) -> String {
        items.iter().map(&mut item).collect::<Vec<_>>().join(", ")
    }

    fn statement(&self, statement: &Statement) -> String {
        let mut out = self.kind(&statement.kind);
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out
    }

    fn kind(&self, kind: &Kind) -> String {
        match kind {
            Kind::CreateTable(table) => self.create_table(table),
            Kind::AlterTable(alter) => {
                let exists = if alter.if_exists { " if exists" } else { "" };
                let mut out = format!("alter table{exists} {}\n", self.name(&alter.name));
                for action in &alter.actions {
                    writeln!(out, "  {}", self.alteration(&action.kind)).unwrap();
                }
                out
            }
            Kind::RenameIndex(rename) => {
                let exists = if rename.if_exists { " if exists" } else { "" };
                let (from, to) = (self.name(&rename.name), self.ident(&rename.to));
                format!("rename index{exists} {from} to {to}")
            }
            Kind::DropTable(drop) | Kind::DropIndex(drop) | Kind::DropSequence(drop) => {
                let what = match kind {
                    Kind::DropTable(_) => "table",
                    Kind::DropIndex(_) => "index",
                    _ => "sequence",
                };
                let exists = if drop.if_exists { " if exists" } else { "" };
                let cascade = if drop.cascade { " cascade" } else { "" };
                let names = self.list(&drop.names, |name| self.name(name));
                format!("drop {what}{exists} {names}{cascade}")
            }
            Kind::Truncate(truncate) => {
                let names = self.list(&truncate.names, |name| self.name(name));
                let restart = if truncate.restart_identity {
                    " restart identity"
                } else {
                    ""
                };
                let cascade = if truncate.cascade { " cascade" } else { "" };
                format!("truncate {names}{restart}{cascade}")
            }
            Kind::CreateIndex(create) => {
                let exists = if create.if_not_exists {
                    " if not exists"
                } else {
                    ""
                };
                let mut out = format!("create index{exists} on {}\n", self.name(&create.table));
                writeln!(out, "  {}", self.index(&create.index)).unwrap();
                if create.concurrently {
                    out.push_str("  concurrently\n");
                }
                if let Some(method) = &create.method {
                    writeln!(out, "  using {method}").unwrap();
                }
                if let Some(predicate) = &create.predicate {
                    writeln!(out, "  where {predicate}").unwrap();
                }
                out
            }
            Kind::Insert(insert) => self.insert(insert),
            Kind::Copy(copy) => self.copy(copy),
            Kind::CreateSequence(_) | Kind::AlterSequence(_) => self.sequences(kind),
            other => self.session(other),
        }
    }

    fn sequences(&self, kind: &Kind) -> String {
        match kind {
            Kind::CreateSequence(create) => {
                let exists = if create.if_not_exists {
                    " if not exists"
                } else {
                    ""
                };
                let options = self.sequence(&create.options);
                format!(
                    "create sequence{exists} {}{options}",
                    self.name(&create.name)
                )
            }
            Kind::AlterSequence(alter) => {
                let exists = if alter.if_exists { " if exists" } else { "" };
                let options = self.sequence(&alter.options);
                let rename = alter.rename_to.as_ref();
                let rename = rename.map(|name| format!(" rename to {}", self.name(name)));
                let rename = rename.unwrap_or_default();
                format!(
                    "alter sequence{exists} {}{options}{rename}",
                    self.name(&alter.name)
                )
            }
            _ => unreachable!("only sequences come here"),
        }
    }

    fn session(&self, kind: &Kind) -> String {
        match kind {
            Kind::Update(update) => format!("update: {update}"),
            Kind::Delete(delete) => format!("delete: {delete}"),
            Kind::Query(query) => {
                let discard = if query.discard { "discard " } else { "" };
                format!("{discard}query: {}", query.query)
            }
            Kind::Begin(modes) => format!("begin{}", modes_text(modes)),
            Kind::Commit { chain } => format!("commit{}", if *chain { " and chain" } else { "" }),
            Kind::Rollback { chain } => {
                format!("rollback{}", if *chain { " and chain" } else { "" })
            }
            Kind::Savepoint(name) => format!("savepoint {}", self.ident(name)),
            Kind::Release(name) => format!("release {}", self.ident(name)),
            Kind::RollbackTo(name) => format!("rollback to {}", self.ident(name)),
            Kind::Set(Set::Variable { local, name, value }) => {
                let local = if *local { "local " } else { "" };
                let value = value
                    .as_ref()
                    .map_or("default".to_owned(), |value| format!("{value:?}"));
                format!("set {local}{name} = {value}")
            }
            Kind::Set(Set::System { name, value }) => {
                let name = name.as_deref().unwrap_or("all");
                format!("set system {name} {value:?}")
            }
            Kind::Set(Set::Constraints { names, deferred }) => {
                let names = self.list(names, |name| self.name(name));
                format!("set constraints {names} deferred {deferred}")
            }
            Kind::Set(Set::Transaction { session, modes }) => {
                let whose = if *session { "session" } else { "transaction" };
                format!("set {whose} modes{}", modes_text(modes))
            }
            Kind::Show(Show::Variable(name)) => format!("show {name}"),
            Kind::Show(Show::CreateTable(name)) => format!("show create table {}", self.name(name)),
            Kind::Reset(Reset::All) => "reset all".to_owned(),
            Kind::Reset(Reset::Variable(name)) => format!("reset {name}"),
            Kind::Discard(what) => format!("discard {what}"),
            Kind::Explain(explain) => {
                let analyze = if explain.analyze { " analyze" } else { "" };
                let verbose = if explain.verbose { " verbose" } else { "" };
                let inner = self.statement(&explain.statement);
                format!("explain{analyze}{verbose} as {:?}\n{inner}", explain.format)
            }
            Kind::Declare(declare) => {
                format!("declare {} {:?}", self.ident(&declare.name), declare.kind)
            }
            Kind::Define(define) => {
                format!("define {} = {}", self.ident(&define.name), define.value)
            }
            Kind::Pragma(pragma) => {
                format!("pragma {} = {:?}", self.name(&pragma.name), pragma.value)
            }
            Kind::Call(call) => format!("call {call}"),
            Kind::Vacuum(vacuum) => {
                let command = if vacuum.vacuum { "vacuum" } else { "just" };
                let analyze = if vacuum.analyze { " analyze" } else { "" };
                format!(
                    "{command}{analyze} {}",
                    self.list(&vacuum.names, |name| self.name(name))
                )
            }
            Kind::Other(other) => format!("other: {other}"),
            _ => unreachable!("printed above"),
        }
    }

    fn create_table(&self, table: &CreateTable) -> String {
        let exists = if table.if_not_exists {
            " if not exists"
        } else {
            ""
        };
        let mut out = format!("create table{exists} {}\n", self.name(&table.name));
        for column in &table.columns {
            writeln!(out, "  column {}", self.column(column)).unwrap();
        }
        if let Some(key) = &table.primary_key {
            writeln!(out, "  {}", self.key(key)).unwrap();
        }
        for index in &table.indexes {
            writeln!(out, "  {}", self.index(index)).unwrap();
        }
        for family in &table.families {
            let options = self.list(&family.options, |option| self.option(option));
            writeln!(out, "  family {}: {options}", self.ident(&family.name)).unwrap();
        }
        for constraint in &table.constraints {
            writeln!(out, "  constraint {}", self.at(constraint.span)).unwrap();
        }
        for option in &table.options {
            writeln!(out, "  option {}", self.option(option)).unwrap();
        }
        out
    }

    fn column(&self, column: &Column) -> String {
        let written = self.at(column.type_span);
        let mut out = format!(
            "{} {}",
            self.ident(&column.name),
            self.column_type(&column.kind, written)
        );
        if let Some(span) = column.not_null {
            write!(out, " [{}]", self.at(span)).unwrap();
        }
        if let Some(default) = &column.default {
            write!(out, " default {}", self.expression(default)).unwrap();
        }
        if let Some(generated) = &column.generated {
            write!(
                out,
                " generated {} [{}]",
                generated.expr,
                self.at(generated.span)
            )
            .unwrap();
        }
        if let Some(identity) = column.identity {
            write!(
                out,
                " identity{}",
                if identity.always { " always" } else { "" }
            )
            .unwrap();
        }
        if let Some(family) = &column.family {
            write!(out, " family {}", self.ident(family)).unwrap();
        }
        out
    }

    fn column_type(&self, kind: &ColumnType, written: &str) -> String {
        let read = match kind {
            ColumnType::Plain(kind) => kind.to_string(),
            ColumnType::Serial(serial) => format!("serial of {}", serial.value_type()),
            ColumnType::Other(_) => "unknown".to_owned(),
        };
        if read == written {
            read
        } else {
            format!("{written}→{read}")
        }
    }

    /// An expression as written, and as read where that differs.
    fn expression(&self, expression: &Expression) -> String {
        let written = self.at(expression.span);
        let read = expression.expr.to_string();
        if written == read {
            read
        } else {
            format!("{written}→{read}")
        }
    }

    fn key(&self, key: &PrimaryKey) -> String {
        let columns = self.list(&key.columns, |part| self.part(part));
        let hash = key.hash.map_or(String::new(), |hash| {
            format!(" buckets {:?} [{}]", hash.bucket_count, self.at(hash.span))
        });
        format!("key {columns}{hash}")
    }

    fn part(&self, part: &KeyPart) -> String {
        let descending = if part.descending { " desc" } else { "" };
        match &part.kind {
            KeyPartKind::Column(column) => format!("{}{descending}", self.ident(column)),
            KeyPartKind::Expression(_) => format!("expression {}{descending}", self.at(part.span)),
        }
    }

    fn index(&self, index: &Index) -> String {
        let unique = if index.unique { "unique " } else { "" };
        let lagging = if index.lagging { "lagging " } else { "" };
        let name = index
            .name
            .as_ref()
            .map_or("unnamed".to_owned(), |name| self.ident(name));
        let mut out = format!(
            "{unique}{lagging}index {name} ({})",
            self.list(&index.columns, |part| self.part(part))
        );
        if !index.cover.is_empty() {
            write!(
                out,
                " cover ({})",
                self.list(&index.cover, |column| self.ident(column))
            )
            .unwrap();
        }
        if !index.options.is_empty() {
            write!(
                out,
                " with {}",
                self.list(&index.options, |option| self.option(option))
            )
            .unwrap();
        }
        out
    }

    fn option(&self, option: &TableOption) -> String {
        let value = match &option.value {
            OptionValue::Keys(keys) => {
                let key =
                    |key: &Vec<ast::Expr>| format!("({})", self.list(key, ToString::to_string));
                format!("Keys {}", self.list(keys, key))
            }
            OptionValue::Ttl(ttl) => {
                format!(
                    "Ttl {} us after {} as {:?}",
                    ttl.after_us,
                    self.ident(&ttl.column),
                    ttl.unit
                )
            }
            other => format!("{other:?}"),
        };
        format!(
            "{} = {value} [{}]",
            self.ident(&option.name),
            self.at(option.value_span)
        )
    }

    fn alteration(&self, kind: &AlterationKind) -> String {
        match kind {
            AlterationKind::AddColumn {
                column,
                if_not_exists,
            } => {
                let exists = if *if_not_exists { " if not exists" } else { "" };
                format!("add column{exists} {}", self.column(column))
            }
            AlterationKind::DropColumn {
                name,
                if_exists,
                cascade,
            } => {
                let exists = if *if_exists { " if exists" } else { "" };
                let cascade = if *cascade { " cascade" } else { "" };
                format!("drop column{exists} {}{cascade}", self.ident(name))
            }
            AlterationKind::RenameColumn { from, to } => {
                format!("rename column {} to {}", self.ident(from), self.ident(to))
            }
            AlterationKind::AlterColumn { name, change } => {
                format!(
                    "alter column {} {}",
                    self.ident(name),
                    self.column_change(change)
                )
            }
            AlterationKind::AddIndex(index) => format!("add {}", self.index(index)),
            AlterationKind::DropIndex(name) => format!("drop index {}", self.ident(name)),
            AlterationKind::RenameIndex { from, to } => {
                format!("rename index {} to {}", self.ident(from), self.ident(to))
            }
            AlterationKind::AlterIndex { name, options } => {
                let options = self.list(options, |option| self.option(option));
                format!("alter index {} set {options}", self.ident(name))
            }
            AlterationKind::AddPrimaryKey(key) => format!("add {}", self.key(key)),
            AlterationKind::AddConstraint(constraint) => {
                format!("add constraint {}", self.at(constraint.span))
            }
            AlterationKind::DropConstraint {
                name,
                if_exists,
                cascade,
            } => {
                let exists = if *if_exists { " if exists" } else { "" };
                let cascade = if *cascade { " cascade" } else { "" };
                format!("drop constraint{exists} {}{cascade}", self.ident(name))
            }
            AlterationKind::RenameConstraint { from, to } => {
                let [from, to] = [from, to].map(|name| self.ident(name));
                format!("rename constraint {from} to {to}")
            }
            AlterationKind::Set(options) => {
                format!("set {}", self.list(options, |option| self.option(option)))
            }
            AlterationKind::Reset(names) => {
                format!("reset {}", self.list(names, |name| self.ident(name)))
            }
            AlterationKind::RenameTo(name) => format!("rename to {}", self.name(name)),
            AlterationKind::SplitAt(keys) => format!("split at {}", self.keys(keys)),
            AlterationKind::MergePartitions(Merge::All) => "merge all".to_owned(),
            AlterationKind::MergePartitions(Merge::At(keys)) => {
                format!("merge at {}", self.keys(keys))
            }
            AlterationKind::MergePartitions(Merge::Ids(ids)) => format!("merge {ids:?}"),
        }
    }

    fn keys(&self, keys: &[SplitKey]) -> String {
        self.list(keys, |key| {
            let values = self.list(&key.values, ToString::to_string);
            format!("({values}) [{}]", self.at(key.span))
        })
    }

    fn column_change(&self, change: &ColumnChange) -> String {
        match change {
            ColumnChange::SetNotNull => "set not null".to_owned(),
            ColumnChange::DropNotNull => "drop not null".to_owned(),
            ColumnChange::SetDefault(value) => format!("set default {}", self.expression(value)),
            ColumnChange::DropDefault => "drop default".to_owned(),
            ColumnChange::SetType { kind, span, .. } => {
                format!("set type {}", self.column_type(kind, self.at(*span)))
            }
        }
    }

    fn insert(&self, insert: &Insert) -> String {
        let mode = match insert.mode {
            Mode::Insert => "insert into",
            Mode::Upsert => "upsert into",
            Mode::Replace => "replace into",
            Mode::UpdateOn => "update by key",
            Mode::DeleteOn => "delete by key",
        };
        let mut out = format!("{mode} {}", self.name(&insert.table));
        if let Some(alias) = &insert.alias {
            write!(out, " as {}", self.ident(alias)).unwrap();
        }
        let columns = self.list(&insert.columns, |column| self.ident(column));
        let overriding = if insert.overriding { " overriding" } else { "" };
        writeln!(out, " ({columns}){overriding}").unwrap();
        match &insert.source {
            Some(source) => writeln!(out, "  rows {source}").unwrap(),
            None => out.push_str("  default values\n"),
        }
        if let Some(on) = &insert.on_conflict {
            writeln!(out, "  {}", on.to_string().trim()).unwrap();
        }
        if let Some(returning) = &insert.returning {
            writeln!(
                out,
                "  returning {}",
                self.list(returning, ToString::to_string)
            )
            .unwrap();
        }
        out
    }

    fn copy(&self, copy: &Copy) -> String {
        let source = match &copy.source {
            CopySource::Table { table, columns } => {
                let columns = self.list(columns, |column| self.ident(column));
                format!("{} ({columns})", self.name(table))
            }
            CopySource::Query(query) => format!("query {query}"),
        };
        let direction = if copy.from { "from" } else { "to" };
        let options = self.list(&copy.options, |option| self.copy_option(option));
        format!("copy {source} {direction} {} [{options}]", copy.target)
    }

    fn copy_option(&self, option: &CopyOption) -> String {
        match &option.value {
            CopyValue::None => option.name.clone(),
            CopyValue::Text(text) => format!("{} {text:?}", option.name),
            CopyValue::Columns(columns) => {
                let columns = self.list(columns, |column| self.ident(column));
                format!("{} ({columns})", option.name)
            }
            CopyValue::All => format!("{} *", option.name),
        }
    }

    fn sequence(&self, options: &SequenceOptions) -> String {
        let mut out = String::new();
        if let Some(kind) = options.kind {
            write!(out, " as {kind}").unwrap();
        }
        for (name, value) in [
            ("increment", options.increment),
            ("start", options.start),
            ("cache", options.cache),
        ] {
            if let Some(value) = value {
                write!(out, " {name} {value}").unwrap();
            }
        }
        for (name, value) in [
            ("min", options.min),
            ("max", options.max),
            ("restart", options.restart),
        ] {
            match value {
                Some(Some(value)) => write!(out, " {name} {value}").unwrap(),
                Some(None) => write!(out, " {name} none").unwrap(),
                None => {}
            }
        }
        if let Some(cycle) = options.cycle {
            write!(out, " cycle {cycle}").unwrap();
        }
        match &options.owned_by {
            Some(Some(name)) => write!(out, " owned by {}", self.name(name)).unwrap(),
            Some(None) => out.push_str(" owned by none"),
            None => {}
        }
        out
    }
}

fn modes_text(modes: &TransactionModes) -> String {
    let mut out = String::new();
    if let Some(isolation) = modes.isolation {
        write!(out, " {isolation}").unwrap();
    }
    if let Some(read_only) = modes.read_only {
        out.push_str(if read_only {
            " read only"
        } else {
            " read write"
        });
    }
    if let Some(deferrable) = modes.deferrable {
        out.push_str(if deferrable {
            " deferrable"
        } else {
            " not deferrable"
        });
    }
    out
}

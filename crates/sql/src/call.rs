//! CALL: what is done for its effect, and tells what it did.
//!
//! ```text
//!   CALL infer_schema('container', 'path')          the schema of a collection, from its items
//!   CALL v3io.schema.infer('container', 'path')     the same, as Iguazio's users write it
//! ```

use std::sync::Arc;

use keys::{Type, Value};
use syntax::{ast, literal_text};

use crate::collection::{Ground, Inferred};
use crate::execute::AnswerRows;
use crate::names::tree_name;
use crate::query::ResultColumn;
use crate::{Error, Executor, Fault, Result};

impl Executor {
    /// What a procedure answers with.
    pub fn call_columns(function: &ast::Function) -> Result<Arc<[ResultColumn]>> {
        places(function)?;
        let column = |name: &str, kind| ResultColumn::new(name, kind);
        Ok([
            column("name", Type::Utf8),
            column("type", Type::Utf8),
            column("nullable", Type::Bool),
            column("part", Type::Utf8),
        ]
        .into())
    }

    /// Calls a procedure.
    pub async fn call(&self, function: &ast::Function) -> Result<AnswerRows> {
        let (container, path) = places(function)?;
        let ground = Ground {
            store: self.store(),
            catalog: self.catalog(),
        };
        let found = ground.infer_schema(&container, &path).await?;
        let row = |one: Inferred| {
            vec![
                Value::from(one.name.as_str()),
                Value::from(one.kind),
                Value::Bool(one.nullable),
                one.part.map_or(Value::Null, Value::from),
            ]
        };
        let rows = found.into_iter().map(row).collect();
        Ok(AnswerRows::ready(
            "CALL",
            Self::call_columns(function)?,
            rows,
        ))
    }
}

/// The container and directory that a call of `infer_schema` names.
fn places(function: &ast::Function) -> Result<(String, String)> {
    let parts = function.name.0.iter();
    let parts: Vec<String> = parts
        .filter_map(|part| part.as_ident().map(tree_name))
        .collect();
    let name = parts.join(".");
    if !["infer_schema", "v3io.schema.infer"].contains(&name.as_str()) {
        return Err(Error::NoSuchFunction { name });
    }
    let ast::FunctionArguments::List(list) = &function.args else {
        return Err(wrong());
    };
    let text = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => {
            literal_text(expr).map(|(_, text)| text)
        }
        _ => None,
    };
    let texts: Option<Vec<String>> = list.args.iter().map(text).collect();
    match texts.as_deref() {
        Some([container, path]) => Ok((container.clone(), path.clone())),
        _ => Err(wrong()),
    }
}

fn wrong() -> Error {
    Error::Refused {
        fault: Fault::Syntax,
        what: "name a container and a path: CALL infer_schema('users', 'rides')".to_owned(),
    }
}

//! Rows of a copy as bytes, a CopyData for each.

use bytes::{BufMut, BytesMut};
use db::{CopyForm, CopyFormat, CopyHeader, ResultColumn};
use keys::Value;

use super::{binary, csv, text};
use crate::Result;
use crate::pg::backend::{Formats, put_cells, with_length};
use crate::pg::types::{self, Format};

/// A copy that goes out.
pub(super) struct Output {
    form: CopyForm,
    /// Whether the header of the binary form is still to come: it travels with what follows it.
    header_due: bool,
    /// The forms of the columns.
    formats: Formats,
    /// The text of a field before it is escaped.
    field: BytesMut,
}

impl Output {
    pub(super) fn new(form: CopyForm) -> Self {
        Self {
            header_due: form.format == CopyFormat::Binary,
            formats: Formats::All(match form.format {
                CopyFormat::Binary => Format::Binary,
                CopyFormat::Text | CopyFormat::Csv => Format::Text,
            }),
            form,
            field: BytesMut::new(),
        }
    }

    /// Appends what comes before the rows.
    pub(super) fn open(&mut self, columns: &[ResultColumn], out: &mut BytesMut) -> Result<()> {
        let formats = self.formats.clone().for_columns(columns);
        if self.form.header == CopyHeader::None {
            self.formats = formats;
            return Ok(());
        }
        let names: Vec<Value> = columns
            .iter()
            .map(|column| Value::from(column.name.as_str()))
            .collect();
        self.row(&names, out)?;
        self.formats = formats;
        Ok(())
    }

    /// Appends a row.
    pub(super) fn row(&mut self, row: &[Value], out: &mut BytesMut) -> Result<()> {
        let start = out.len();
        out.put_u8(b'd');
        let done = with_length(out, 4, |out| match self.form.format {
            CopyFormat::Binary => {
                if std::mem::take(&mut self.header_due) {
                    binary::put_header(out);
                }
                put_cells(out, row, |position| self.formats.of(position))
            }
            CopyFormat::Text | CopyFormat::Csv => self.line(row, out),
        });
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    /// Appends what comes after the rows.
    pub(super) fn close(&mut self, out: &mut BytesMut) -> Result<()> {
        if self.form.format != CopyFormat::Binary {
            return Ok(());
        }
        out.put_u8(b'd');
        with_length(out, 4, |out| {
            if std::mem::take(&mut self.header_due) {
                binary::put_header(out);
            }
            binary::put_end(out);
            Ok(())
        })
    }

    fn line(&mut self, row: &[Value], out: &mut BytesMut) -> Result<()> {
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                out.put_u8(self.form.delimiter);
            }
            if value.is_null() {
                out.put_slice(self.form.null.as_bytes());
                continue;
            }
            self.field.clear();
            types::encode(value, self.formats.of(column), &mut self.field)?;
            match self.form.format {
                CopyFormat::Csv => {
                    csv::put_field(&self.field, &self.form, (column, row.len()), out)
                }
                _ => text::put_field(&self.field, &self.form, out),
            }
        }
        out.put_u8(b'\n');
        Ok(())
    }
}

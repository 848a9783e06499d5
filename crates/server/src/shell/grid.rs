//! Tables drawn with aligned columns.
//!
//! ```text
//!    id │ name
//!   ────┼───────
//!     1 │ first
//! ```
//!
//! The first rows are kept back until it is known how wide they are; rows after those are drawn at
//! once, and a cell that is wider than its column just sticks out. So a long answer needs no memory.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// As the first rows say: right if they are all numbers.
    ByValues,
}

/// A table that is being drawn.
pub(super) struct Grid {
    columns: Vec<(String, Align, usize)>,
    /// Rows that are kept back; `None` once drawing has begun.
    kept: Option<Vec<Vec<String>>>,
}

impl Grid {
    /// A table with these columns.
    pub(super) fn new(columns: impl Iterator<Item = (String, Align)>) -> Self {
        let measured = columns.map(|(name, align)| {
            let name = clean(name);
            let width = name.width();
            (name, align, width)
        });
        Self {
            columns: measured.collect(),
            kept: Some(Vec::new()),
        }
    }

    /// Adds a row, and begins to draw when `kept_max` rows are there.
    pub(super) fn push(
        &mut self,
        row: impl Iterator<Item = String>,
        out: &mut impl Write,
        kept_max: usize,
    ) -> io::Result<()> {
        let row: Vec<String> = row.map(clean).collect();
        let Some(kept) = &mut self.kept else {
            return self.draw_row(row.iter().map(String::as_str), out);
        };
        for ((_, _, width), cell) in self.columns.iter_mut().zip(&row) {
            *width = cell.width().max(*width);
        }
        kept.push(row);
        match kept.len() < kept_max {
            true => Ok(()),
            false => self.finish(out),
        }
    }

    /// Draws what is kept back.
    pub(super) fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(kept) = self.kept.take() else {
            return Ok(());
        };
        for (at, (_, align, _)) in self.columns.iter_mut().enumerate() {
            if *align == Align::ByValues {
                *align = guessed(kept.iter().filter_map(|row| row.get(at)));
            }
        }
        self.draw_row(self.columns.iter().map(|(name, ..)| name.as_str()), out)?;
        let bars = self
            .columns
            .iter()
            .map(|(_, _, width)| "─".repeat(width + 2));
        writeln!(out, "{}", bars.collect::<Vec<_>>().join("┼"))?;
        for row in kept {
            self.draw_row(row.iter().map(String::as_str), out)?;
        }
        Ok(())
    }

    fn draw_row<'c>(
        &self,
        cells: impl Iterator<Item = &'c str>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut line = String::new();
        for (position, (cell, (_, align, width))) in cells.zip(&self.columns).enumerate() {
            if position > 0 {
                line.push_str(" │");
            }
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            match align {
                Align::Left | Align::ByValues => line.extend([" ", cell, blanks.as_str()]),
                Align::Right => line.extend([" ", blanks.as_str(), cell]),
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// The side on which these cells belong.
fn guessed<'c>(cells: impl Iterator<Item = &'c String>) -> Align {
    let mut align = Align::Left;
    for cell in cells.filter(|cell| *cell != "NULL") {
        let begins = cell.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        if !begins || cell.parse::<f64>().is_err() {
            return Align::Left;
        }
        align = Align::Right;
    }
    align
}

/// Text that stays on its line and moves no cursor.
fn clean(text: String) -> String {
    match text.chars().any(char::is_control) {
        false => text,
        true => {
            let escape = |c: char| match c.is_control() {
                true => c.escape_default().to_string(),
                false => c.to_string(),
            };
            text.chars().map(escape).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(kept_max: usize) -> String {
        let columns = [("id", Align::Right), ("name", Align::Left)];
        let mut grid = Grid::new(
            columns
                .into_iter()
                .map(|(name, align)| (name.to_owned(), align)),
        );
        let mut out = Vec::new();
        for row in [["1", "first"], ["22", "zwölf\n漢字"], ["333", ""]] {
            grid.push(row.into_iter().map(str::to_owned), &mut out, kept_max)
                .unwrap();
        }
        grid.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let expected =
            "  id │ name\n─────┼─────────────\n   1 │ first\n  22 │ zwölf\\n漢字\n 333 │\n";
        assert_eq!(drawn(100), expected);
    }

    #[test]
    fn rows_after_the_measured_ones_stick_out() {
        let expected = " id │ name\n────┼───────\n  1 │ first\n 22 │ zwölf\\n漢字\n 333 │\n";
        assert_eq!(drawn(1), expected);
    }
}

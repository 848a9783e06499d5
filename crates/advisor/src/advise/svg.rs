//! A [`Picture`] as SVG, for browsers and documents.

use std::fmt::Write as _;

use super::picture::{Color, LETTER_PX, Mark, Picture};

/// How far the line that letters stand on is below their top.
const BASELINE_PX: usize = 12;
/// The size of a font whose letters are as wide as the picture takes them to be.
const FONT_PX: usize = 13;

pub(super) fn render(picture: &Picture) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"{FONT_PX}\">\n\
         <title>{}</title>\n",
        escaped(&picture.title)
    );
    for mark in &picture.marks {
        append(&mut out, mark);
    }
    out.push_str("</svg>\n");
    out
}

fn append(out: &mut String, mark: &Mark) {
    let written = match mark {
        Mark::Area(area, color) => writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
            area.left,
            area.top,
            area.width,
            area.height,
            hex(*color)
        ),
        Mark::Words {
            left,
            top,
            text,
            color,
        } => writeln!(
            out,
            "<text x=\"{left}\" y=\"{}\" textLength=\"{}\" fill=\"{}\">{}</text>",
            top + BASELINE_PX,
            text.chars().count() * LETTER_PX.0,
            hex(*color),
            escaped(text)
        ),
    };
    written.expect("writing to a String never fails");
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.0, color.1, color.2)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

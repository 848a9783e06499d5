//! The heat of the recording under two keys, side by side, as a picture for browsers.

use std::fmt::Write as _;

use super::Advice;
use super::heat::{COLUMNS, HeatMap, ROWS};
use super::judge::Judged;

const CELL_PX: usize = 10;
const GAP_PX: usize = 30;
const TITLE_PX: usize = 40;

pub(super) fn render(advice: &Advice) -> String {
    let sides: Vec<(&Judged, &HeatMap)> = advice
        .current()
        .into_iter()
        .chain(advice.keys.iter().filter(|judged| !judged.is_current))
        .filter_map(|judged| Some((judged, judged.heat.as_ref()?)))
        .collect();
    let side_px = COLUMNS * CELL_PX;
    let width = GAP_PX + sides.len().max(1) * (side_px + GAP_PX);
    let height = TITLE_PX + ROWS * CELL_PX + GAP_PX;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n",
        escaped(&format!("Heat of {} under two keys", advice.table.name))
    );
    let hottest = sides
        .iter()
        .map(|(_, heat)| heat.hottest_us())
        .fold(0.0, f64::max);
    for (number, (judged, heat)) in sides.iter().enumerate() {
        let left = GAP_PX + number * (side_px + GAP_PX);
        append_side(&mut out, left, judged, heat, hottest);
    }
    out.push_str("</svg>\n");
    out
}

fn append_side(out: &mut String, left: usize, judged: &Judged, heat: &HeatMap, hottest: f64) {
    let now = if judged.is_current { "now " } else { "" };
    let mut say = |text: std::fmt::Arguments<'_>| {
        out.write_fmt(text)
            .expect("writing to a String never fails");
    };
    say(format_args!(
        "<text x=\"{left}\" y=\"24\">{now}{}: the busiest partition does {:.0} %</text>\n",
        escaped(&judged.name),
        judged.figures.grown.value * 100.0
    ));
    for row in 0..ROWS {
        let y = TITLE_PX + (ROWS - 1 - row) * CELL_PX;
        for column in 0..COLUMNS {
            let busy_us = heat.busy_us(column, row);
            let x = left + column * CELL_PX;
            let fill = color(busy_us, hottest);
            say(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL_PX}\" height=\"{CELL_PX}\" fill=\"{fill}\"/>\n"
            ));
        }
    }
    let bottom = TITLE_PX + ROWS * CELL_PX + 18;
    say(format_args!(
        "<text x=\"{left}\" y=\"{bottom}\" fill=\"#666\">time →, the last rows of the table on top</text>\n"
    ));
}

/// From a cold blue to a hot red, over the root, so that a little heat is to be seen as well.
fn color(busy_us: f64, hottest: f64) -> String {
    let part = if hottest > 0.0 {
        busy_us / hottest
    } else {
        0.0
    };
    let part = part.sqrt();
    let hue = 220.0 * (1.0 - part);
    let light = 95.0 - 45.0 * part;
    format!("hsl({hue:.0},85%,{light:.0}%)")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

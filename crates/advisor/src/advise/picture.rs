//! The heat of the recording under two keys, side by side, as marks that an SVG and a PNG are made of.
//!
//! ```text
//!   Heat of events under two keys, 5 minutes recorded
//!             now: (ts, userid)                  best: (userid, ts)
//!             the busiest partition does 100 %   the busiest partition does 12 %
//!    last row ┌───────────────────────────────┐  ┌───────────────────────────────┐
//!             │                           ████│  │░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░│
//!             │          ████                 │  │░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░│
//!   first row └───────────────────────────────┘  └───────────────────────────────┘
//!             0            2.5 min        5 min  0            2.5 min        5 min
//!             idle ░░▒▒▓▓██ 3.1 % of a core in one sixteenth of the rows
//! ```
//!
//! Both maps have one scale of colours, or nobody could compare them. Everything is laid out in pixels
//! for letters of [`LETTER_PX`], so that the two forms look alike.

use super::Advice;
use super::heat::{COLUMNS, HeatMap, ROWS};
use super::judge::Judged;
use super::number::{ratio, whole};

/// The width and the height of a letter.
pub(super) const LETTER_PX: (usize, usize) = (8, 16);

const CELL_PX: (usize, usize) = (12, 16);
const MARGIN_PX: usize = 24;
const LINE_PX: usize = 22;
/// Where the maps begin: right of the words at the axis, below the titles.
const LEFT_PX: usize = MARGIN_PX + 10 * LETTER_PX.0;
const TOP_PX: usize = MARGIN_PX + 3 * LINE_PX + 8;
const MAP_PX: (usize, usize) = (COLUMNS * CELL_PX.0, ROWS * CELL_PX.1);
const LEGEND_STEPS: usize = 24;

const PAPER: Color = Color(255, 255, 255);
const INK: Color = Color(34, 34, 34);
const PALE_INK: Color = Color(102, 102, 102);
const FRAME: Color = Color(170, 170, 170);
/// From idle to the hottest: each is darker than the one before, so that a print without colours can
/// be read too.
const SCALE: [Color; 4] = [
    Color(240, 244, 249),
    Color(253, 212, 110),
    Color(236, 98, 56),
    Color(122, 10, 45),
];

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color(pub(super) u8, pub(super) u8, pub(super) u8);

/// What a picture is made of; later marks lie over earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Area(Area, Color),
    /// A line of letters; the place is that of its upper left corner.
    Words {
        left: usize,
        top: usize,
        text: String,
        color: Color,
    },
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) marks: Vec<Mark>,
}

impl Picture {
    pub(super) fn new(advice: &Advice) -> Self {
        let sides: Vec<(&Judged, &HeatMap)> = advice
            .current()
            .into_iter()
            .chain(advice.keys.iter().filter(|judged| !judged.is_current))
            .filter_map(|judged| Some((judged, judged.heat.as_ref()?)))
            .collect();
        let keys = match sides.len() {
            1 => "its present key, which nothing beats",
            _ => "two keys",
        };
        let mut picture = Self {
            title: format!(
                "Heat of {} under {keys}, {} recorded",
                advice.table.name,
                moment(advice.timeline.duration_us())
            ),
            width: LEFT_PX + sides.len().max(1) * (MAP_PX.0 + MARGIN_PX),
            height: TOP_PX + MAP_PX.1 + 3 * LINE_PX + MARGIN_PX,
            marks: Vec::new(),
        };
        let (width, height) = (picture.width, picture.height);
        picture.area((0, 0), (width, height), PAPER);
        picture.words((MARGIN_PX, MARGIN_PX), picture.title.clone(), INK);
        let hottest = sides.iter().map(|(_, heat)| heat.hottest_us());
        let hottest_us = hottest.fold(0.0, f64::max);
        for (number, (judged, heat)) in sides.iter().enumerate() {
            let left = LEFT_PX + number * (MAP_PX.0 + MARGIN_PX);
            picture.titles(left, judged);
            picture.map(left, heat, hottest_us);
            picture.times(left, advice.timeline.duration_us());
        }
        picture.places();
        picture.legend(hottest_us, advice.timeline.duration_us());
        picture
    }

    fn titles(&mut self, left: usize, judged: &Judged) {
        let name = match judged.is_current {
            true => format!("now: {}", judged.name),
            false => format!("best: {}", judged.name),
        };
        let share = judged.figures.grown.value * 100.0;
        let does = format!("at a high load the busiest partition does {share:.0} % of the work");
        let top = MARGIN_PX + LINE_PX;
        self.words((left, top), shortened(name), INK);
        self.words((left, top + LINE_PX), does, PALE_INK);
    }

    fn map(&mut self, left: usize, heat: &HeatMap, hottest_us: f64) {
        self.area((left - 1, TOP_PX - 1), (MAP_PX.0 + 2, MAP_PX.1 + 2), FRAME);
        for row in 0..ROWS {
            let top = TOP_PX + (ROWS - 1 - row) * CELL_PX.1;
            for column in 0..COLUMNS {
                let part = ratio(heat.busy_us(column, row), hottest_us);
                self.area((left + column * CELL_PX.0, top), CELL_PX, color(part));
            }
        }
    }

    /// What the height of a map means.
    fn places(&mut self) {
        for (text, top) in [
            ("last row", TOP_PX),
            ("first row", TOP_PX + MAP_PX.1 - LETTER_PX.1),
        ] {
            let left = LEFT_PX - (text.len() + 1) * LETTER_PX.0;
            self.words((left, top), text.to_owned(), PALE_INK);
        }
    }

    /// What its width means.
    fn times(&mut self, left: usize, duration_us: u64) {
        let top = TOP_PX + MAP_PX.1 + 6;
        let (half, end) = (moment(duration_us / 2), moment(duration_us));
        let half_left = left + MAP_PX.0 / 2 - letters_px(&half) / 2;
        let end_left = left + MAP_PX.0 - letters_px(&end);
        self.words((left, top), "0".to_owned(), PALE_INK);
        self.words((half_left, top), half, PALE_INK);
        self.words((end_left, top), end, PALE_INK);
    }

    /// What a colour means.
    fn legend(&mut self, hottest_us: f64, duration_us: u64) {
        let top = TOP_PX + MAP_PX.1 + 2 * LINE_PX;
        self.words((LEFT_PX, top), "idle".to_owned(), PALE_INK);
        let left = LEFT_PX + 5 * LETTER_PX.0;
        let width = LEGEND_STEPS * CELL_PX.0;
        self.area((left - 1, top - 1), (width + 2, CELL_PX.1 + 2), FRAME);
        for step in 0..LEGEND_STEPS {
            // The root is taken for cells, so that a little heat is to be seen as well.
            let root = step as f64 / (LEGEND_STEPS - 1) as f64;
            self.area((left + step * CELL_PX.0, top), CELL_PX, color(root * root));
        }
        let core = ratio(hottest_us * COLUMNS as f64, duration_us as f64) * 100.0;
        let digits = if core < 10.0 { 2 } else { 0 };
        let text = format!("{core:.digits$} % of a core in 1/{ROWS} of the rows");
        self.words((left + width + LETTER_PX.0, top), text, PALE_INK);
    }

    fn area(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), color: Color) {
        let area = Area {
            left,
            top,
            width,
            height,
        };
        self.marks.push(Mark::Area(area, color));
    }

    fn words(&mut self, (left, top): (usize, usize), text: String, color: Color) {
        self.marks.push(Mark::Words {
            left,
            top,
            text,
            color,
        });
    }
}

fn letters_px(text: &str) -> usize {
    text.chars().count() * LETTER_PX.0
}

/// A name that is not wider than a map.
fn shortened(name: String) -> String {
    let letters_max = MAP_PX.0 / LETTER_PX.0;
    if name.chars().count() <= letters_max {
        return name;
    }
    let kept: String = name.chars().take(letters_max - 3).collect();
    kept + "..."
}

/// A time as people say it: at most one digit behind the point.
fn moment(us: u64) -> String {
    let seconds = us as f64 / 1e6;
    let (number, unit) = match seconds {
        _ if seconds < 120.0 => (seconds, "s"),
        _ if seconds < 7200.0 => (seconds / 60.0, "min"),
        _ => (seconds / 3600.0, "h"),
    };
    let number = format!("{number:.1}");
    format!("{} {unit}", number.trim_end_matches(".0"))
}

/// The colour of a part of the hottest, from 0 to 1.
fn color(part: f64) -> Color {
    let steps = (SCALE.len() - 1) as f64;
    let place = part.clamp(0.0, 1.0).sqrt() * steps;
    let step = place.floor().min(steps - 1.0);
    let at = usize::try_from(whole(step)).unwrap_or_default();
    let [from, to] = [at, at + 1].map(|at| SCALE.get(at).copied().unwrap_or(PAPER));
    let between = |from: u8, to: u8| {
        let mixed = f64::from(from) + (f64::from(to) - f64::from(from)) * (place - step);
        u8::try_from(whole(mixed)).unwrap_or(u8::MAX)
    };
    Color(
        between(from.0, to.0),
        between(from.1, to.1),
        between(from.2, to.2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hotter_is_darker() {
        let light = |color: Color| {
            f64::from(color.0) * 0.3 + f64::from(color.1) * 0.6 + f64::from(color.2) * 0.1
        };
        for step in 0..100_u32 {
            let [cool, hot] = [step, step + 1].map(|step| light(color(f64::from(step) / 100.0)));
            assert!(hot < cool, "{step}");
        }
        assert_eq!(color(0.0), SCALE[0]);
        assert_eq!(color(1.0), SCALE[3]);
        assert_eq!(color(7.0), SCALE[3]);
    }

    #[test]
    fn times_are_short() {
        let said = [0, 500_000, 60_000_000, 150_000_000, 3_600_000_000, u64::MAX].map(moment);
        assert_eq!(said[..5], ["0 s", "0.5 s", "60 s", "2.5 min", "60 min"]);
        assert!(said[5].ends_with(" h"), "{}", said[5]);
    }

    #[test]
    fn no_name_is_wider_than_its_map() {
        assert_eq!(shortened("now: (id)".to_owned()), "now: (id)");
        let long = shortened("ü".repeat(500));
        assert_eq!(letters_px(&long), MAP_PX.0);
        assert!(long.ends_with("ü..."), "{long}");
    }
}

// SPDX-License-Identifier: GPL-2.0
//! One chart: what was measured on each driver, over an axis.

use std::ops::Range;
use std::path::Path;

use anyhow::{anyhow, Context, Result};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{register_font as register, FontStyle};
use serde::Deserialize;

const SIZE: (u32, u32) = (800, 480);
const C_COLOUR: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const RUST_COLOUR: RGBColor = RGBColor(0xd6, 0x4a, 0x1b);
/// How much room there is above the highest value, as a part of it.
const HEADROOM: f64 = 0.3;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    pub name: String,
    /// What the horizontal axis counts.
    x_label: String,
    unit: String,
    c: Vec<(f64, f64)>,
    rust: Vec<(f64, f64)>,
}

/// Makes a font known for the letters in bitmaps: the build root has none.
pub fn register_font() -> Result<()> {
    register("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| anyhow!("the font cannot be read"))
}

impl Chart {
    /// Writes the chart to `directory`.
    pub fn draw(&self, directory: &Path) -> Result<()> {
        let path = |end: &str| directory.join(format!("{}.{end}", self.name));
        let (svg, png) = (path("svg"), path("png"));
        let picture = SVGBackend::new(&svg, SIZE).into_drawing_area();
        self.draw_on(&picture)?;
        let picture = BitMapBackend::new(&png, SIZE).into_drawing_area();
        self.draw_on(&picture)
    }

    fn draw_on<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<()>
    where
        B::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.name, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(80)
            .build_cartesian_2d(self.x_range(), self.y_range())?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.unit)
            .light_line_style(WHITE)
            .draw()?;
        for (label, points, colour) in [("c", &self.c, C_COLOUR), ("rust", &self.rust, RUST_COLOUR)]
        {
            if points.is_empty() {
                continue;
            }
            chart
                .draw_series(
                    LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3),
                )?
                .label(label)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .border_style(BLACK)
            .background_style(WHITE)
            .draw()?;
        area.present().context("cannot write")
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.c.iter().chain(&self.rust).copied()
    }

    fn x_range(&self) -> Range<f64> {
        let last = self.points().map(|(x, _)| x).fold(1.0, f64::max);
        0.0..last
    }

    /// From zero, so that a difference looks as large as it is.
    fn y_range(&self) -> Range<f64> {
        let least = self.points().map(|(_, y)| y).fold(0.0, f64::min);
        let most = self
            .points()
            .map(|(_, y)| y)
            .fold(f64::MIN_POSITIVE, f64::max);
        least..most * (1.0 + HEADROOM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(c: &[(f64, f64)], rust: &[(f64, f64)]) -> Chart {
        Chart {
            name: "pair".into(),
            x_label: "sample".into(),
            unit: "instructions".into(),
            c: c.to_vec(),
            rust: rust.to_vec(),
        }
    }

    #[test]
    fn both_files_are_drawn_with_their_labels() {
        register_font().unwrap();
        let directory = std::env::temp_dir().join(format!("efa-plot-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let chart = chart(&[(0.0, 10.0), (1.0, 12.0)], &[(0.0, 5.0), (1.0, 6.0)]);
        chart.draw(&directory).unwrap();
        let svg = std::fs::read_to_string(directory.join("pair.svg")).unwrap();
        for text in ["pair", "sample", "instructions", "rust"] {
            assert!(svg.contains(text), "no {text} in the chart");
        }
        let png = std::fs::read(directory.join("pair.png")).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_axis_of_values_begins_at_zero_and_has_room_for_all() {
        let range = chart(&[(0.0, 100.0)], &[(0.0, 40.0)]).y_range();
        assert_eq!(range.start, 0.0);
        assert!(range.end > 100.0);
        assert!(chart(&[], &[]).y_range().end > 0.0);
        assert_eq!(chart(&[], &[(0.0, -5.0)]).y_range().start, -5.0);
    }
}

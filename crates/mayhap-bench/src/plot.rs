//! Growth as a picture: both axes logarithmic, one line a series.

use std::path::Path;

use plotters::prelude::*;

/// One line of a plot.
pub(crate) struct Series {
    /// Its name in the legend.
    pub(crate) name: String,
    /// Where it goes.
    pub(crate) points: Vec<(f64, f64)>,
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
];

/// Draws series with the names of both axes.
pub(crate) fn draw(path: &Path, title: &str, x: &str, y: &str, series: &[Series]) -> Result<(), String> {
    let points = || series.iter().flat_map(|s| s.points.iter());
    let range = |pick: fn(&(f64, f64)) -> f64| {
        let low = points().map(pick).fold(f64::MAX, f64::min);
        let high = points().map(pick).fold(f64::MIN, f64::max);
        (low / 1.5)..(high * 1.5)
    };
    if points().next().is_none() {
        return Err(format!("nothing to draw for {title}"));
    }
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let area = SVGBackend::new(path, (800, 480)).into_drawing_area();
    area.fill(&WHITE).map_err(|e| failed(&e))?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(range(|p| p.0).log_scale(), range(|p| p.1).log_scale())
        .map_err(|e| failed(&e))?;
    chart.configure_mesh().x_desc(x).y_desc(y).light_line_style(WHITE).draw().map_err(|e| failed(&e))?;
    for (line, colour) in series.iter().zip(COLOURS.iter().cycle()) {
        let colour = *colour;
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)).point_size(3))
            .map_err(|e| failed(&e))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(|e| failed(&e))?;
    area.present().map_err(|e| failed(&e))
}

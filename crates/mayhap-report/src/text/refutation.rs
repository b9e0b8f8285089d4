//! Lays out a refutation: the question, then the cycle of orders with a reason each.

use super::span::{Line, Paint, wrap};
use super::{Style, excerpt};
use crate::data::Report;
use crate::finding::Finding;
use crate::refutation::{Needed, Refutation};

/// Lays out the whole refutation. The question is shown by its source lines where there are any.
pub(super) fn lines(report: &Report, refutation: &Refutation, style: &Style) -> Vec<Line> {
    let mut lines = paragraph(&format!("refuted: {}", refutation.reason), ("", ""), Paint::Bold, style);
    lines.push(Line::new());
    lines.extend(paragraph(&format!("The target, {}:", refutation.kind.name()), ("", ""), Paint::Plain, style));
    let asked = Finding { kind: refutation.kind, events: refutation.events.clone(), ..Finding::default() };
    lines.extend(excerpt::sides(report, &asked, style));
    lines.extend(reasons(refutation, style));
    lines.push(Line::new());
    lines
}

/// Lays out the cycle and the justifications of its derived steps; nothing if there is no cycle.
pub(super) fn reasons(refutation: &Refutation, style: &Style) -> Vec<Line> {
    if refutation.cycle.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let needs = "It would need all of these orders, and they form a cycle:";
    lines.extend(paragraph(needs, ("", ""), Paint::Plain, style));
    for (i, step) in refutation.cycle.iter().enumerate() {
        lines.extend(order(step, (&format!("  {}. ", i + 1), "     "), style));
    }
    for (i, premise) in refutation.premises.iter().enumerate() {
        lines.push(Line::new());
        let lead = format!("  [{}] ", Refutation::letter(i));
        lines.extend(paragraph(&premise.order, (&lead, "      "), Paint::Plain, style));
        let because = "because the opposite order is impossible:";
        lines.extend(paragraph(because, ("      ", "      "), Paint::Plain, style));
        if let Some(given) = &premise.given {
            lines.extend(paragraph(given, ("      ", "      "), Paint::Plain, style));
        }
        for step in &premise.because {
            lines.extend(order(step, ("      ", "        "), style));
        }
    }
    lines
}

/// Lays out an order with its reason below.
fn order(step: &Needed, (lead, indent): (&str, &str), style: &Style) -> Vec<Line> {
    let mut lines = paragraph(&step.order, (lead, indent), Paint::Plain, style);
    let see = step.premise.map_or(String::new(), |i| format!(" [{}]", Refutation::letter(i)));
    lines.extend(paragraph(&format!("{}{see}", step.reason), (indent, indent), Paint::Dim, style));
    lines
}

/// Wraps text after a lead; further lines are indented.
fn paragraph(text: &str, (lead, indent): (&str, &str), paint: Paint, style: &Style) -> Vec<Line> {
    let parts = wrap(text, style.width.saturating_sub(indent.len().max(lead.len())));
    let line = |(i, part): (usize, &String)| Line::new().plain(if i == 0 { lead } else { indent }).add(paint, part);
    parts.iter().enumerate().map(line).collect()
}

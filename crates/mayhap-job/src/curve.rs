//! How the number of different executions grew with the number of runs.

/// The most points that are kept.
const MOST: usize = 256;

/// Points of a curve: after so many runs, so many executions.
#[derive(Debug, Default)]
pub(super) struct Curve {
    points: Vec<[u64; 2]>,
    /// Points closer to the last one are left out.
    apart: u64,
    executions: u64,
}

impl Curve {
    /// After another run.
    pub(super) fn add(&mut self, runs: u64, executions: u64, is_new: bool) {
        self.executions = executions;
        let last = self.points.last().map_or(0, |point| point[0]);
        if !is_new || !self.points.is_empty() && runs < last + self.apart {
            return;
        }
        self.points.push([runs, executions]);
        if self.points.len() == MOST {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.apart = (self.apart * 2).max(2);
        }
    }

    /// All points, and the last run.
    pub(super) fn points(&self, runs: u64) -> Vec<[u64; 2]> {
        let mut points = self.points.clone();
        if self.executions > 0 && points.last().is_some_and(|point| point[0] < runs) {
            points.push([runs, self.executions]);
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_has_few_points_and_its_end() {
        let mut curve = Curve::default();
        for run in 1..=100_000 {
            curve.add(run, run.min(90_000), run <= 90_000);
        }
        let points = curve.points(100_000);
        assert!((MOST / 4..=MOST).contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&[100_000, 90_000]));
        assert!(points.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1]));
    }
}

//! Partition points that are likely to be near one end of a long list.
//!
//! Cost: O(log) of the distance from that end.

/// The partition point of a list, where it is likely to be near the start: what is far away is not looked at.
pub(super) fn near_start<T>(list: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while step <= list.len() && holds(&list[step - 1]) {
        step *= 2;
    }
    let known = step / 2;
    known + list[known..step.min(list.len())].partition_point(holds)
}

/// The partition point of a list, where it is likely to be near the end.
pub(super) fn near_end<T>(list: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while step <= list.len() && !holds(&list[list.len() - step]) {
        step *= 2;
    }
    let start = list.len().saturating_sub(step);
    start + list[start..list.len() - step / 2].partition_point(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_points_are_the_same_from_both_ends() {
        for length in 0..20 {
            for point in 0..=length {
                let list: Vec<usize> = (0..length).collect();
                assert_eq!(near_start(&list, |&i| i < point), point);
                assert_eq!(near_end(&list, |&i| i < point), point);
            }
        }
    }
}

//! Several rankings as one.

use std::collections::HashMap;
use std::hash::Hash;

/// How little the first places of a list are ahead of the next.
const K: f64 = 60.0;

/// Reciprocal rank fusion: what stands high in many lists stands high.
#[must_use]
pub fn fuse<T: Copy + Eq + Hash + Ord>(lists: &[Vec<T>]) -> Vec<(T, f64)> {
    let mut scores: HashMap<T, f64> = HashMap::new();
    for list in lists {
        for (rank, id) in (1u32..).zip(list) {
            *scores.entry(*id).or_default() += 1.0 / (K + f64::from(rank));
        }
    }
    let mut ranked: Vec<(T, f64)> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuses_by_reciprocal_rank() {
        let fused = fuse(&[vec![1, 2, 3], vec![3, 4]]);
        assert_eq!(fused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 1, 2, 4]);
        assert!((fused[0].1 - (1.0 / 63.0 + 1.0 / 61.0)).abs() < 1e-12);
        assert_eq!(fuse(&[vec![7], Vec::new()]), [(7, 1.0 / 61.0)]);
    }
}

//! The rules of balancing, tried with chance.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::Duration;

const PAUSE: Duration = Duration::from_secs(30);

fn outliers(failures: u32, max_percent: usize) -> Outliers {
    Outliers { failures, pause: PAUSE, max_percent }
}

fn group(load_balancer: LoadBalancer, weights: &[u32]) -> Group {
    let mut group = Group::new(load_balancer, outliers(5, 50), 7);
    group.replace(instances(weights));
    group
}

fn instances(weights: &[u32]) -> Vec<Instance> {
    let instance = |(at, weight): (usize, &u32)| Instance::new(format!("h{at}"), 80).weighing(*weight);
    weights.iter().enumerate().map(instance).collect()
}

/// Picks and gives back at once, so often, and counts by host.
fn shares(group: &mut Group, picks: usize) -> HashMap<String, usize> {
    let now = Instant::now();
    let mut counts = HashMap::new();
    for _ in 0..picks {
        let turn = group.pick(&[], now).unwrap();
        *counts.entry(turn.instance.host.clone()).or_default() += 1;
        group.end(&turn, Verdict::Succeeded, now);
    }
    counts
}

const ALL: [LoadBalancer; 5] = [
    LoadBalancer::RoundRobin,
    LoadBalancer::Random,
    LoadBalancer::Weighted,
    LoadBalancer::LeastConnections,
    LoadBalancer::P2c,
];

/// SV-3.
#[test]
fn round_robin_gives_everybody_the_same_also_when_one_leaves() {
    let mut group = group(LoadBalancer::RoundRobin, &[1, 9, 1]);
    assert!(shares(&mut group, 300).values().all(|count| *count == 100));
    group.replace(instances(&[1, 9]));
    assert!(shares(&mut group, 300).values().all(|count| *count == 150));
}

/// SV-3.
#[test]
fn random_leaves_nobody_out() {
    let counts = shares(&mut group(LoadBalancer::Random, &[1, 1, 1, 1]), 8000);
    assert!(counts.len() == 4 && counts.values().all(|count| (1700..2300).contains(count)), "{counts:?}");
}

#[test]
fn weighted_takes_turns_smoothly() {
    let mut group = group(LoadBalancer::Weighted, &[5, 1, 1]);
    let now = Instant::now();
    let order: Vec<_> = (0..7).map(|_| group.pick(&[], now).unwrap().instance.host.clone()).collect();
    assert_eq!(order, ["h0", "h0", "h1", "h0", "h2", "h0", "h0"]);
}

/// SV-9.
#[test]
fn least_connections_picks_whoever_has_the_fewest_and_p2c_never_the_busier_of_two() {
    let now = Instant::now();
    for load_balancer in [LoadBalancer::LeastConnections, LoadBalancer::P2c] {
        let mut group = group(load_balancer, &[1, 1]);
        let held: Vec<_> = (0..10).map(|_| group.pick(&[], now).unwrap()).collect();
        let of_first = held.iter().filter(|turn| turn.instance.host == "h0").count();
        assert_eq!(of_first, 5, "{load_balancer:?}");
        for turn in held.iter().filter(|turn| turn.instance.host == "h0") {
            group.end(turn, Verdict::Unknown, now);
        }
        for _ in 0..5 {
            assert_eq!(group.pick(&[], now).unwrap().instance.host, "h0", "{load_balancer:?}");
        }
    }
}

#[test]
fn others_serve_only_when_those_of_a_lower_priority_cannot() {
    let mut group = Group::new(LoadBalancer::RoundRobin, outliers(1, 100), 7);
    let mut both = instances(&[1, 1, 1]);
    both[2].priority = 10;
    group.replace(both);
    assert_eq!(shares(&mut group, 10).len(), 2);
    let now = Instant::now();
    let tried: Vec<_> = (0..2).map(|_| group.pick(&[], now).unwrap().instance).collect();
    assert_eq!(group.pick(&tried, now).unwrap().instance.host, "h2");
}

/// SV-11.
#[test]
fn leaves_an_instance_alone_for_longer_each_time() {
    let mut group = group(LoadBalancer::RoundRobin, &[1, 1]);
    let mut now = Instant::now();
    let mut pauses = Vec::new();
    // Four failures in a row are borne; from the fifth on every failure is one too many.
    for _ in 0..4 {
        fail(&mut group, "h0", now);
    }
    assert_eq!(shares(&mut group, 2).len(), 2);
    for _ in 0..4 {
        fail(&mut group, "h0", now);
    }
    for round in 0..13 {
        fail(&mut group, "h0", now);
        let begun = now;
        while !serves(&mut group, "h0", now) {
            now += PAUSE / 2;
        }
        pauses.push(((now - begun).as_secs() / PAUSE.as_secs(), round));
    }
    let factors: Vec<_> = pauses.iter().map(|(factor, _)| *factor).collect();
    assert_eq!(factors, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]);
    // Who was well for long begins anew.
    now += PAUSE * 11;
    fail(&mut group, "h0", now);
    assert!(!serves(&mut group, "h0", now + PAUSE / 2) && serves(&mut group, "h0", now + PAUSE));
}

fn serves(group: &mut Group, host: &str, now: Instant) -> bool {
    (0..4).any(|_| {
        let turn = group.pick(&[], now).unwrap();
        group.end(&turn, Verdict::Unknown, now);
        turn.instance.host == host
    })
}

fn fail(group: &mut Group, host: &str, now: Instant) {
    let at = group.members.iter().position(|member| member.instance.host == host).unwrap();
    let turn = Turn { id: group.members[at].id, instance: group.members[at].instance.clone() };
    group.members[at].active += 1;
    group.end(&turn, Verdict::Failed, now);
}

#[test]
fn whoever_comes_back_to_the_list_keeps_its_record_and_whoever_left_does_not_count() {
    let mut group = group(LoadBalancer::RoundRobin, &[1, 1]);
    let now = Instant::now();
    let turn = group.pick(&[], now).unwrap();
    for _ in 0..5 {
        fail(&mut group, "h0", now);
    }
    group.replace(instances(&[2, 1, 1]));
    assert_eq!(shares(&mut group, 4).len(), 2, "h0 is still left alone");
    group.replace(Vec::new());
    assert!(group.pick(&[], now).is_none());
    group.end(&turn, Verdict::Failed, now);
    group.replace(instances(&[1]));
    assert_eq!(group.members[0].active, 0);
}

proptest! {
    /// SV-9.
    #[test]
    fn weighted_keeps_to_the_weights_within_three_percent(weights in prop::collection::vec(1_u32..100, 1..20)) {
        let total: u32 = weights.iter().sum();
        let picks = 5000.max(total as usize);
        let counts = shares(&mut group(LoadBalancer::Weighted, &weights), picks);
        for (at, weight) in weights.iter().enumerate() {
            let wanted = f64::from(*weight) / f64::from(total);
            let share = counts.get(&format!("h{at}")).copied().unwrap_or_default() as f64 / picks as f64;
            prop_assert!((share - wanted).abs() < 0.03, "{share} instead of {wanted}");
        }
    }

    /// SV-11.
    #[test]
    fn whatever_happens_one_stays_and_no_more_are_left_alone_than_allowed(
        count in 1_usize..12, percent in 0_usize..=100, at in 0_usize..5,
        events in prop::collection::vec((0_usize..12, any::<bool>(), 0_u64..40), 0..200),
    ) {
        let mut group = Group::new(ALL[at], outliers(2, percent), 3);
        group.replace(instances(&vec![1; count]));
        let mut now = Instant::now();
        for (which, is_bad, seconds) in events {
            now += Duration::from_secs(seconds);
            if is_bad {
                fail(&mut group, &format!("h{}", which % count), now);
            } else {
                let turn = group.pick(&[], now).unwrap();
                group.end(&turn, Verdict::Succeeded, now);
            }
            let ejected = group.members.iter().filter(|member| member.record.is_ejected(now)).count();
            prop_assert!(ejected <= count * percent / 100 && ejected < count);
            let turn = group.pick(&[], now).unwrap();
            let picked = group.members.iter().find(|member| member.id == turn.id).unwrap();
            prop_assert!(!picked.record.is_ejected(now), "somebody else was there");
            group.end(&turn, Verdict::Unknown, now);
        }
        prop_assert!(group.members.iter().all(|member| member.active == 0));
    }

    #[test]
    fn never_picks_whom_it_was_told_to_leave_out(count in 1_usize..8, at in 0_usize..5, tried in 0_usize..8) {
        let mut group = Group::new(ALL[at], outliers(5, 50), 3);
        group.replace(instances(&vec![1; count]));
        let now = Instant::now();
        let tried: Vec<_> = group.members.iter().take(tried).map(|member| member.instance.clone()).collect();
        match group.pick(&tried, now) {
            Some(turn) => prop_assert!(!tried.contains(&turn.instance)),
            None => prop_assert!(tried.len() == count),
        }
    }
}

//! Speed.
use mayhap_detect::*;
use std::time::Instant;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s[s.rfind(')').unwrap() + 2..].split(' ').collect();
    f[11].parse::<f64>().unwrap() / 100.0
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let order: Order = a[2].parse().unwrap();
    for _ in 0..a.get(3).map_or(3, |n| n.parse().unwrap()) {
        let (t, c) = (Instant::now(), cpu());
        let path = a[1].clone();
        let mut input = || mayhap_trace::format::open(&path);
        let d = detect(&mut input, order, &Options::default()).unwrap();
        let (s, c) = (t.elapsed().as_secs_f64(), cpu() - c);
        println!(
            "{order} {} events {:.3}s wall {:.2} user: {:.1} M/s user, {} racy, {} pairs, {} vars mem {} KB {:?}",
            d.events,
            s,
            c,
            d.events as f64 / c / 1e6,
            d.racy_events,
            d.races.len(),
            d.racy_variables,
            d.memory / 1024,
            d.queues
        );
    }
    if a.len() > 4 {
        let (t, c) = (Instant::now(), cpu());
        let mut s = mayhap_trace::format::open(&a[1]).unwrap();
        let mut ch = mayhap_trace::Columns::default();
        let mut n = 0;
        while s.next_chunk(&mut ch).unwrap() {
            n += ch.len();
        }
        println!("decode {n} {:.3} user {:.2}", t.elapsed().as_secs_f64(), cpu() - c);
    }
}

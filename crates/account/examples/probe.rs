use veracity_account::{Method, Question, epsilon_at};
use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, SamplingRate};
fn main() {
    // reads lines: rate noise steps delta adjacency
    let want: Vec<usize> = std::env::args().skip(2).map(|w| w.parse().unwrap()).collect();
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    for (i, line) in text.lines().enumerate() {
        if !want.is_empty() && !want.contains(&i) { continue; }
        let f = |k: &str| { let at = line.find(&format!("\"{k}\": ")).unwrap() + k.len() + 4; line[at..].split([',', '}']).next().unwrap().to_string() };
        let n = |k: &str| f(k).parse::<f64>().unwrap();
        let adj = if f("adjacency").contains("replace") { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
        let m = Mechanism::dp_sgd(SamplingRate::new(n("rate")).unwrap(), NoiseMultiplier::new(n("noise")).unwrap(), Count::new(n("steps") as u64).unwrap());
        let t = std::time::Instant::now();
        let found = epsilon_at(&Question { mechanism: m, adjacency: adj }, Delta::new(n("delta")).unwrap(), Method::Exact);
        let ms = t.elapsed().as_secs_f64() * 1e3;
        println!("{i} q {:.3e} s {:.3} T {} d {:.2e} {:?}: ", n("rate"), n("noise"), n("steps"), n("delta"), adj);
        match found { Ok(f) => { let lo = f.lower().map_or(0.0, |b| b.0.get()); let up = f.upper().map_or(f64::INFINITY, |b| b.0.get());
            println!("    [{lo}, {up}] width {:.1e} {ms:.1} ms", (up-lo)/up) }, Err(e) => println!("    {e} {ms:.1} ms") }
    }
}

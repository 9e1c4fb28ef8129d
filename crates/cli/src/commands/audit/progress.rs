//! Trials, speed and time left on one line of stderr.

use std::{
    io::{IsTerminal, Write},
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, Instant},
};
use veracity::{Error, auditing::Progress, report::decimal};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(500);

/// Runs something whose progress is shown meanwhile, if anyone is to see it.
pub fn shown<T>(asked: bool, work: impl FnOnce(&Sender<Progress>) -> Result<T, Error>) -> Result<T, Error> {
    let is_shown = asked || std::io::stderr().is_terminal();
    let (sender, progress) = channel::<Progress>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let began = Instant::now();
            let mut last = None;
            let mut any = false;
            for now in progress {
                let due = last.is_none_or(|last: Instant| last.elapsed() >= TICK) || now.done == now.of;
                if is_shown && due {
                    print(now, began.elapsed());
                    (last, any) = (Some(Instant::now()), true);
                }
            }
            if any {
                let _ = writeln!(std::io::stderr());
            }
        });
        let done = work(&sender);
        drop(sender);
        done
    })
}

fn print(now: Progress, since: Duration) {
    let speed = now.done as f64 / since.as_secs_f64().max(1e-9);
    let left = (now.of - now.done) as f64 / speed.max(1e-9);
    let failed = if now.failed > 0 { format!(", {} failed", now.failed) } else { String::new() };
    // A closed stderr is no reason to stop.
    let _ = write!(
        std::io::stderr(),
        "\rtrial {} of {}, {} trials/s{failed}, {} s left   ",
        now.done,
        now.of,
        decimal::nearest(speed, 3),
        decimal::nearest(left, 2),
    );
}

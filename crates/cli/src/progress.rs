//! Progress of a job: a bar if stderr is a terminal, otherwise plain lines if `--progress` is set.

use crate::console::Console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, Instant},
};
use veracity::{Error, decimal};

/// How often a plain line is written. A bar has its own pace.
const TICK: Duration = Duration::from_secs(1);

/// An event of a job.
pub enum ProgressEvent {
    /// Its progress.
    Step(Step),
    /// A message that must be printed.
    Remark(String),
}

/// The progress of a job.
pub struct Step {
    /// What is counted.
    pub what: &'static str,
    /// How many are done.
    pub done: u64,
    /// How many there are.
    pub of: u64,
    /// What its speed is counted in, and how many of these each is.
    pub speed: Option<(u64, &'static str)>,
    /// Further text.
    pub more: String,
}

/// Runs a job whose events are shown meanwhile.
pub fn shown<E: Send, T>(
    console: Console,
    is_asked: bool,
    mut describe: impl FnMut(E) -> ProgressEvent + Send,
    work: impl FnOnce(&Sender<E>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (sender, events) = channel::<E>();
    thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            let mut display = Display::new(console, is_asked);
            for event in events {
                display.show(describe(event));
            }
            display.end();
        });
        let done = work(&sender);
        drop(sender);
        // Nothing in it can fail.
        let _ = watcher.join();
        done
    })
}

/// One of the two ways to show it, or none.
struct Display {
    console: Console,
    bar: Option<ProgressBar>,
    has_lines: bool,
    /// The first step that was displayed, and when: a resumed job does not start at 0.
    first: Option<(u64, Instant)>,
    last: Option<Instant>,
}

impl Display {
    fn new(console: Console, is_asked: bool) -> Display {
        let bar = console.is_watched().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {msg}");
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let has_lines = is_asked && bar.is_none() && !console.is_quiet();
        Display { console, bar, has_lines, first: None, last: None }
    }

    fn show(&mut self, event: ProgressEvent) {
        let step = match event {
            ProgressEvent::Step(step) => step,
            ProgressEvent::Remark(line) => {
                return match &self.bar {
                    Some(bar) => bar.suspend(|| self.console.remark(&line)),
                    None => self.console.remark(&line),
                };
            }
        };
        let (from, began) = *self.first.get_or_insert((step.done, Instant::now()));
        let words = words(&step, (step.done - from) as f64 / began.elapsed().as_secs_f64().max(1e-9));
        if let Some(bar) = &self.bar {
            bar.set_message(words);
            bar.set_length(step.of);
            bar.set_position(step.done);
        } else if self.has_lines
            && (step.done == step.of || self.last.is_none_or(|last| last.elapsed() >= TICK))
        {
            self.console.remark(&words);
            self.last = Some(Instant::now());
        }
    }

    fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `step 40 of 112, 5.2e4 examples/s, epsilon so far 1.2, 3 s left`.
fn words(step: &Step, speed: f64) -> String {
    let Step { what, done, of, speed: unit, more } = step;
    let mut words = format!("{what} {done} of {of}");
    // The first step has no speed yet.
    let is_moving = speed > 0.0;
    if let (Some((each, unit)), true) = (unit, is_moving) {
        words += &format!(", {} {unit}/s", decimal::nearest(speed * *each as f64, 3));
    }
    words += more;
    if is_moving && done < of {
        words += &format!(", {} s left", decimal::nearest((of - done) as f64 / speed, 2));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_its_speed_and_the_time_left() {
        let step = |done, more: &str| Step {
            what: "step",
            done,
            of: 100,
            speed: Some((50, "examples")),
            more: more.to_owned(),
        };
        assert_eq!(words(&step(1, ""), 0.0), "step 1 of 100");
        assert_eq!(
            words(&step(60, ", epsilon so far 2"), 4.0),
            "step 60 of 100, 200 examples/s, epsilon so far 2, 10 s left"
        );
        assert_eq!(words(&step(100, ""), 4.0), "step 100 of 100, 200 examples/s");
    }
}

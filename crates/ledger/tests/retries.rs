//! Reserve, commit, crash, retry: every reachable state of two clients and two request ids, and every step from each of them, held
//! against a reference model of a page.

use crate::door::{Folder, is_long, named, new, pure, sums};
use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::Path,
};
use veracity_core::ErrorKind;
use veracity_ledger::{Ledger, Request, Reservation, Reserved};

/// Two charges of 0.5 fit into a budget of 1.1, a third does not.
const BUDGET: f64 = 1.1;
const COST: f64 = 0.5;
const MOST: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Client, id, which of two questions.
    Reserve(usize, usize, usize),
    Resume(usize, usize, usize),
    /// A client keeps an answer, which says who gave it.
    Commit(usize),
    Abandon(usize),
    /// A client forgets what it holds.
    Crash(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Nothing,
    Charged(usize),
    Answered(usize, usize),
    Abandoned(usize),
}

/// What there is: of each id, and which id's reservation each client holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Model {
    ids: [Known; 2],
    held: [Option<usize>; 2],
}

#[derive(Debug, PartialEq)]
enum Said {
    Granted,
    Told(usize),
    Refused(&'static str),
    Done,
}

impl Model {
    /// All steps that can be taken; without the long version, the second id has one question, and nobody abandons.
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for client in 0..2 {
            if self.held[client].is_some() {
                steps.extend([Step::Commit(client), Step::Crash(client)]);
                steps.extend(is_long().then_some(Step::Abandon(client)));
                continue;
            }
            for (id, question) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                if is_long() || (id, question) != (1, 1) {
                    steps.push(Step::Reserve(client, id, question));
                }
                if is_long() || (id, question) == (0, 0) {
                    steps.push(Step::Resume(client, id, question));
                }
            }
        }
        steps
    }

    fn charged(&self) -> usize {
        self.ids.iter().filter(|id| **id != Known::Nothing).count()
    }

    /// What the step leads to, and what is said.
    fn after(&self, step: Step) -> (Model, Said) {
        let mut next = self.clone();
        let said = match step {
            Step::Reserve(client, id, question) | Step::Resume(client, id, question) => match self.ids[id] {
                Known::Nothing if self.charged() < MOST => {
                    next.ids[id] = Known::Charged(question);
                    next.held[client] = Some(id);
                    Said::Granted
                }
                Known::Nothing => Said::Refused("over-budget"),
                Known::Charged(before) | Known::Answered(before, _) | Known::Abandoned(before)
                    if before != question =>
                {
                    Said::Refused("another query")
                }
                Known::Charged(_) if self.held.contains(&Some(id)) => Said::Refused("answering this"),
                Known::Charged(_) if matches!(step, Step::Resume(..)) => {
                    next.held[client] = Some(id);
                    Said::Granted
                }
                Known::Charged(_) => Said::Refused("never answered"),
                Known::Answered(_, by) => Said::Told(by),
                Known::Abandoned(_) => Said::Refused("abandoned"),
            },
            Step::Commit(client) | Step::Abandon(client) => {
                let id = self.held[client].unwrap();
                next.held[client] = None;
                match (self.ids[id], step) {
                    (Known::Charged(question), Step::Commit(_)) => {
                        next.ids[id] = Known::Answered(question, client);
                        Said::Done
                    }
                    (Known::Charged(question), _) => {
                        next.ids[id] = Known::Abandoned(question);
                        Said::Done
                    }
                    _ => Said::Refused("before"),
                }
            }
            Step::Crash(client) => {
                next.held[client] = None;
                Said::Done
            }
        };
        (next, said)
    }
}

fn request(id: usize, question: usize) -> Request {
    Request { what: format!("question {question}"), ..named(["x", "y"][id], pure(COST)) }
}

fn said(outcome: Result<Reserved, veracity_core::Error>, held: &mut Option<Reservation>) -> Said {
    match outcome {
        Ok(Reserved::New(reservation)) => {
            *held = Some(reservation);
            Said::Granted
        }
        Ok(Reserved::Known { answer, .. }) => Said::Told(answer.parse().unwrap()),
        Err(error) => refused(error),
    }
}

fn refused(error: veracity_core::Error) -> Said {
    let line = error.to_string();
    let words = ["another query", "answering this", "never answered", "abandoned request", "already"];
    match words.into_iter().find(|word| line.contains(word)) {
        _ if error.kind() == ErrorKind::OverBudget => Said::Refused("over-budget"),
        Some("abandoned request") => Said::Refused("abandoned"),
        Some("already") => Said::Refused("before"),
        Some(word) => Said::Refused(word),
        None => panic!("{line}"),
    }
}

/// Takes a step on a file that is as the model says; what is said, how much is charged, and the file afterwards.
fn take(path: &Path, before: &Model, bytes: &[u8], step: Step) -> (Said, u64, Vec<u8>) {
    fs::write(path, bytes).unwrap();
    let ledger = Ledger::open(path).unwrap();
    let mut held = [None, None];
    for (client, held) in held.iter_mut().enumerate() {
        // A reservation is handed out anew, as to a job that goes on.
        if let Some(id) = before.held[client]
            && let Known::Charged(question) = before.ids[id]
        {
            *held = Some(new(ledger.resume(request(id, question))));
        }
    }
    let said = match step {
        Step::Reserve(client, id, question) => said(ledger.reserve(request(id, question)), &mut held[client]),
        Step::Resume(client, id, question) => said(ledger.resume(request(id, question)), &mut held[client]),
        Step::Commit(client) => match held[client].take() {
            Some(reservation) => {
                ledger.commit(reservation, &client.to_string()).map_or_else(refused, |()| Said::Done)
            }
            None => Said::Refused("before"),
        },
        Step::Abandon(client) => match held[client].take() {
            Some(reservation) => ledger.abandon(reservation).map_or_else(refused, |()| Said::Done),
            None => Said::Refused("before"),
        },
        Step::Crash(client) => {
            let _ = held[client].take();
            Said::Done
        }
    };
    let verified = ledger.verify(None).unwrap();
    assert!(verified.holds(), "{before:?} {step:?}: {:?}", verified.faults);
    drop((held, ledger));
    (said, verified.reserved, fs::read(path).unwrap())
}

#[test]
fn every_step_of_two_clients_is_as_the_model_says() {
    let folder = Folder::new("retries");
    let path = folder.file("l");
    drop(Ledger::create(&path, sums(BUDGET)).unwrap());
    let first = Model { ids: [Known::Nothing; 2], held: [None; 2] };
    let mut seen = BTreeMap::from([(first.clone(), fs::read(&path).unwrap())]);
    let mut waiting = VecDeque::from([first]);
    let mut steps = 0;
    while let Some(model) = waiting.pop_front() {
        for step in model.steps() {
            let (next, expected) = model.after(step);
            let (said, charged, bytes) = take(&path, &model, &seen[&model], step);
            assert_eq!(said, expected, "{model:?} {step:?}");
            assert_eq!(charged as usize, next.charged(), "{model:?} {step:?}");
            steps += 1;
            if !seen.contains_key(&next) {
                seen.insert(next.clone(), bytes);
                waiting.push_back(next);
            }
        }
    }
    println!("{} states, {steps} steps", seen.len());
    assert!(seen.len() > 50 && steps > 300, "{} {steps}", seen.len());
}

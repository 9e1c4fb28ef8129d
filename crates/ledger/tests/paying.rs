//! Attacks on a paid job: it fails, panics or is killed, is asked twice, at once, or by another program. It is charged once, and no noise
//! is drawn twice or for free.

use crate::door::{Folder, job, piped, pure, read_until, start, sums, tell};
use std::{
    cell::Cell,
    fs,
    io::{Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};
use veracity_account::claims::Subject;
use veracity_core::{Error, ErrorKind};
use veracity_ledger::{Attempt, KeptAnswer, Ledger, Paid, Payer, Payment, RequestId, Terms, pay};

/// What the client does, when this program was started as one: it answers 7, once it was told to go on.
#[test]
fn client() {
    let Some((_, path)) = job() else { return };
    let payment = payer(Ledger::open(&path).unwrap()).payment(&subject(0.25), None, "a number").unwrap();
    let paid = pay(
        Some(payment),
        || Ok(()),
        |()| {
            tell("at work");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            Ok(((), answer(7)))
        },
    );
    let Paid::New { .. } = paid.unwrap() else { panic!("a new id is known") };
}

fn subject(epsilon: f64) -> Subject {
    Subject::new(pure(epsilon).mechanism)
}

fn answer(number: u64) -> KeptAnswer {
    KeptAnswer { words: format!("{number}\n"), object: number.into() }
}

fn payer(ledger: Ledger) -> Payer {
    Payer { id: Some(RequestId::new("one").unwrap()), ..Payer::new(ledger) }
}

fn made(folder: &Folder) -> Payer {
    payer(Ledger::create(&folder.file("l"), sums(1.0)).unwrap())
}

fn payment(payer: &Payer) -> Payment {
    payer.payment(&subject(0.25), None, "a number").unwrap()
}

/// How much is charged, and how many answers are kept.
fn entries(payer: &Payer) -> (u64, u64) {
    assert!(payer.ledger.verify(None).unwrap().holds());
    let status = payer.ledger.status().unwrap();
    (status.reserved, status.answered)
}

fn failing() -> Error {
    Error::invalid("the job failed, expected it to")
}

#[test]
fn an_answer_is_on_disk_when_it_is_returned_and_its_job_is_not_run_again() {
    let folder = Folder::new("paying-once");
    let payer = made(&folder);
    let (checks, runs) = (Cell::new(0), Cell::new(0));
    let ask = || {
        let check = || {
            checks.set(checks.get() + 1);
            Ok(())
        };
        let job = |()| {
            runs.set(runs.get() + 1);
            // It is charged, and has no answer yet.
            assert_eq!(entries(&payer), (1, 0));
            Ok((40, answer(40)))
        };
        pay(Some(payment(&payer)), check, job).unwrap()
    };
    let Paid::New { done: 40, answer: first } = ask() else { panic!() };
    // What another process reads.
    assert_eq!(Ledger::open(&folder.file("l")).unwrap().status().unwrap().answered, 1);
    for _ in 0..3 {
        let Paid::Known { answer, entry: 1, ledger } = ask() else { panic!() };
        assert_eq!((&answer, ledger.as_path()), (&first, folder.file("l").as_path()));
    }
    assert_eq!((checks.get(), runs.get(), entries(&payer)), (1, 1, (1, 1)));
}

#[test]
fn what_is_refused_by_a_check_costs_nothing_and_a_job_is_run_after_the_charge_alone() {
    let folder = Folder::new("paying-order");
    let payer = made(&folder);
    let refused = pay(Some(payment(&payer)), || Err(failing()), |()| -> Result<((), _), _> { panic!("run") });
    assert!(refused.is_err());
    assert_eq!(entries(&payer), (0, 0));
    // Over budget: checked, and not run.
    let large = payer.payment(&subject(2.0), None, "a number").unwrap();
    let refused = pay(Some(large), || Ok(()), |()| -> Result<((), _), _> { panic!("run") });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::OverBudget);
    assert_eq!(entries(&payer), (0, 0));
    // Without a ledger, both are called.
    let Paid::New { done: 3, .. } = pay(None, || Ok(1), |one| Ok((one + 2, answer(3)))).unwrap() else {
        panic!()
    };
}

#[test]
fn a_job_that_fails_stays_charged_and_only_one_that_can_go_on_is_resumed() {
    let folder = Folder::new("paying-failure");
    let ask = |payer: &Payer, attempt, fails: bool| {
        let job = |()| if fails { Err(failing()) } else { Ok(((), answer(1))) };
        pay(Some(payment(payer).with_attempt(attempt)), || Ok(()), job).map_err(|error| error.to_string())
    };
    let payer = made(&folder);
    assert_eq!(ask(&payer, Attempt::Once, true).unwrap_err(), failing().to_string());
    for attempt in [Attempt::Once, Attempt::Resumable, Attempt::Resumed] {
        let refused = ask(&payer, attempt, false).unwrap_err();
        assert!(refused.contains("abandoned request, which stays charged"), "{refused}");
    }
    assert_eq!(entries(&payer), (1, 0));

    let payer = Payer { id: Some(RequestId::new("two").unwrap()), ..payer };
    for attempt in [Attempt::Resumable, Attempt::Resumed] {
        assert_eq!(ask(&payer, attempt, true).unwrap_err(), failing().to_string());
        let refused = ask(&payer, Attempt::Once, false).unwrap_err();
        assert!(refused.contains("never answered"), "{refused}");
    }
    assert!(matches!(ask(&payer, Attempt::Resumed, false), Ok(Paid::New { .. })));
    assert!(matches!(ask(&payer, Attempt::Once, false), Ok(Paid::Known { entry: 3, .. })));
    assert_eq!(entries(&payer), (2, 1));
    // Who resumes says which.
    let nobody = Payer { id: None, ..payer };
    assert!(ask(&nobody, Attempt::Resumed, false).unwrap_err().contains("request ID is missing"));
}

#[test]
fn a_job_that_panics_stays_charged_and_is_not_run_again() {
    let folder = Folder::new("paying-panic");
    let payer = made(&folder);
    let job = |()| -> Result<((), KeptAnswer), Error> { panic!("a defect of the job") };
    let ran = catch_unwind(AssertUnwindSafe(|| pay(Some(payment(&payer)), || Ok(()), job).map(drop)));
    assert!(ran.is_err());
    let refused = pay(Some(payment(&payer)), || Ok(()), |()| Ok(((), answer(1)))).unwrap_err().to_string();
    assert!(refused.contains("never answered"), "{refused}");
    assert_eq!(entries(&payer), (1, 0));
}

/// A client that is at its job: who asks meanwhile is not given another draw. Killed there, its request stays charged, and its id refused.
#[test]
#[cfg(unix)]
fn two_processes_with_one_id_are_charged_once_also_if_the_first_is_killed() {
    for is_killed in [false, true] {
        let folder = Folder::new(&format!("paying-processes-{is_killed}"));
        let payer = made(&folder);
        let (mut first, mut out) = piped(start(module_path!(), "pay", &folder.file("l")));
        let mut said = read_until(&mut out, "at work");
        let ask =
            || pay(Some(payment(&payer)), || Ok(()), |()| -> Result<((), _), _> { panic!("run twice") });
        let refused = ask().unwrap_err().to_string();
        assert!(refused.contains("answering this request ID right now"), "{refused}");
        if is_killed {
            first.kill().unwrap();
            first.wait().unwrap();
            let refused = ask().unwrap_err().to_string();
            assert!(refused.contains("charged but never answered"), "{refused}");
            assert_eq!(entries(&payer), (1, 0));
        } else {
            first.stdin.take().unwrap().write_all(b"go\n").unwrap();
            out.read_to_string(&mut said).unwrap();
            assert!(first.wait().unwrap().success(), "{said}");
            let Paid::Known { answer: known, entry: 1, .. } = ask().unwrap() else { panic!() };
            assert_eq!((known, entries(&payer)), (answer(7), (1, 1)));
        }
    }
}

/// Between the check and the charge another process may have asked the same, and have its answer.
#[test]
fn who_is_overtaken_by_another_process_gets_its_answer_and_does_not_run() {
    let folder = Folder::new("paying-overtaken");
    let payer = made(&folder);
    let check = || {
        let other = crate::paying::payer(Ledger::open(&folder.file("l")).unwrap());
        pay(Some(payment(&other)), || Ok(()), |()| Ok(((), answer(5)))).map(drop)
    };
    let paid = pay(Some(payment(&payer)), check, |()| -> Result<((), _), _> { panic!("run twice") }).unwrap();
    assert!(matches!(paid, Paid::Known { answer, .. } if answer.object == 5));
    assert_eq!(entries(&payer), (1, 1));
}

#[test]
fn a_ledger_pays_for_its_own_dataset_alone() {
    let folder = Folder::new("paying-dataset");
    let terms = Terms { dataset: "people.csv".into(), ..sums(1.0) };
    let payer = payer(Ledger::create(&folder.file("l"), terms).unwrap());
    for dataset in ["other.csv", "", "people.csv\n", "People.csv"] {
        let refused = payer.payment(&subject(0.25), Some(dataset), "a number").unwrap_err().to_string();
        assert!(refused.contains("the ledger is for people.csv"), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    assert!(payer.payment(&subject(0.25), Some("people.csv"), "a\nnumber").is_ok());
}

/// An id stands for one question about one thing; an answer of another program has another form.
#[test]
fn an_answer_of_something_else_is_not_returned() {
    let folder = Folder::new("paying-forms");
    let payer = made(&folder);
    let of = |digest| payment(&payer).of(digest, "catalog");
    let never = |()| -> Result<((), _), _> { panic!("run twice") };
    pay(Some(of("aa")), || Ok(()), |()| Ok(((), answer(1)))).map(drop).unwrap();
    let refused = pay(Some(of("bb")), || Ok(()), never).unwrap_err().to_string();
    assert!(refused.contains("was answered with another catalog"), "{refused}");
    assert!(matches!(pay(Some(of("aa")), || Ok(()), never), Ok(Paid::Known { .. })));

    for (at, kept) in ["1", "{}", "[]", "{\"words\":1,\"object\":2}", "{\"words\":\"a\"}"].iter().enumerate()
    {
        let payer = Payer { id: Some(RequestId::new(&format!("other-{at}")).unwrap()), ..payer.clone() };
        let request = || payer.payment(&subject(0.01), None, "a number").unwrap();
        let other = request();
        assert!(other.charge().unwrap());
        other.keep(kept).unwrap();
        let refused = pay(Some(request()), || Ok(()), never).unwrap_err().to_string();
        assert!(refused.contains("was answered by another program"), "{kept}: {refused}");
    }
}

#[test]
fn the_steps_of_a_payment_are_taken_once_and_in_their_order() {
    let folder = Folder::new("paying-steps");
    let payer = made(&folder);
    let steps = payment(&payer);
    assert!(steps.keep("1").is_err() && steps.fail().is_err() && steps.entry().is_none());
    assert!(!steps.recall().unwrap() && steps.charge().unwrap());
    assert!(steps.charge().is_err() && steps.entry() == Some(1) && steps.known().is_none());
    steps.keep("1").unwrap();
    assert!(steps.keep("2").is_err() && steps.fail().is_err() && steps.charge().is_err());
    let again = payment(&payer);
    assert!(!again.charge().unwrap() && again.known().as_deref() == Some("1"));
    assert!(again.keep("2").is_err() && again.fail().is_err());
    assert_eq!(entries(&payer), (1, 1));
}

/// An answer that cannot be kept is not returned: the id would give another one next time.
#[test]
fn an_answer_that_cannot_be_stored_is_an_error_and_stays_charged() {
    let folder = Folder::new("paying-storing");
    let payer = made(&folder);
    let large = KeptAnswer { words: "x".repeat(65 << 20), ..KeptAnswer::default() };
    let refused = pay(Some(payment(&payer)), || Ok(()), |()| Ok(((), large))).unwrap_err();
    assert!(refused.to_string().contains("at most 64 MiB"), "{refused}");
    assert_eq!(entries(&payer), (1, 0));
    assert!(fs::read(Path::new(&folder.file("l"))).unwrap().len() < 1 << 20);
}

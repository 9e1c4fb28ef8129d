//! Whatever is asked: the claim that is written of the answer is confirmed.

use crate::questions::{Asked, Dice};
use veracity::{
    Choice, Count, Epsilon, Mechanism, NoiseMultiplier, SamplingRate, Subject, Target, account, verify,
};

/// Seed 12. `cargo run --release -p veracity --example honest_claims` asks 2000.
#[test]
fn what_is_written_is_confirmed() {
    let mut dice = Dice(12);
    let mut written = 0;
    for _ in 0..60 {
        let asked = Asked::draw(&mut dice);
        let Ok((_, claim)) = asked.claim() else { continue };
        let confirmation =
            verify(&claim.to_json().unwrap()).unwrap_or_else(|refusal| panic!("{refusal}: {asked:?}"));
        assert!(confirmation.stands(), "{:?}\n{asked:?}", confirmation.failure());
        written += 1;
    }
    assert!(written >= 30, "{written} of 60 were written");
}

/// The ε that was asked for was stored as a lower bound as well.
#[test]
fn a_claim_of_delta_at_an_epsilon_says_what_is_certified_at_that_delta() {
    let [rate, noise, asked] = [0.0011368004375357497, 4.159644981463155, 0.09379509049224674];
    let mechanism = Mechanism::sampled_gaussian(
        SamplingRate::new(rate).unwrap(),
        NoiseMultiplier::new(noise).unwrap(),
        Count::new(9239).unwrap(),
    );
    let subject = Subject::new(mechanism);
    let target = Target::Epsilon(Epsilon::new(asked).unwrap());
    let answer = account(&subject, target, Choice::Best).unwrap();
    let claim = veracity::ClaimFile::new(&subject, &answer).unwrap();
    assert_eq!((claim.epsilon.upper, claim.delta), (Some(asked), answer.delta.upper().unwrap().0.get()));
    assert!(claim.epsilon.lower.unwrap() < asked);
    assert!(verify(&claim.to_json().unwrap()).unwrap().stands());
}

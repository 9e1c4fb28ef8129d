//! What a privacy profile means for an attacker: trade-off curve, advantage, posterior.

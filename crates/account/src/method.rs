//! The ways to account, by name.

use std::{fmt, str::FromStr};
use veracity_core::Refusal;

/// A way to compute what a composition leaks.
///
/// # Examples
///
/// ```
/// use veracity_account::Method;
///
/// assert_eq!("pld".parse::<Method>()?, Method::Pld);
/// assert_eq!(Method::default(), Method::Exact);
/// assert!("PLD".parse::<Method>().is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Contour integral of the privacy loss transform, certified from both sides.
    #[default]
    Exact,
    /// Privacy loss distribution on a grid, pessimistic and optimistic.
    Pld,
    /// Rényi divergences, converted at the best order.
    Rdp,
    /// The moments accountant: Rényi at whole orders with the original conversion.
    Moments,
    /// Zero-concentrated differential privacy.
    Zcdp,
    /// Gaussian differential privacy, exact where every part is Gaussian.
    Gdp,
    /// The central limit theorem for Gaussian differential privacy.
    GdpClt,
    /// The Edgeworth refinement of that limit.
    Edgeworth,
    /// Adding up ε and δ.
    Basic,
    /// Advanced composition of Dwork, Rothblum and Vadhan.
    Advanced,
    /// Advanced composition in the form of Kairouz, Oh and Viswanath.
    AdvancedKov,
    /// Optimal composition of (ε, δ) guarantees.
    Optimal,
}

impl Method {
    /// All of them, the sharpest first.
    pub const ALL: [Method; 12] = [
        Method::Exact,
        Method::Pld,
        Method::Gdp,
        Method::Rdp,
        Method::Moments,
        Method::Zcdp,
        Method::Optimal,
        Method::AdvancedKov,
        Method::Advanced,
        Method::Basic,
        Method::GdpClt,
        Method::Edgeworth,
    ];

    /// Whether it approximates, and may be below the truth: what it says cannot be promised.
    pub fn is_approximation(self) -> bool {
        match self {
            Method::GdpClt | Method::Edgeworth => true,
            Method::Exact
            | Method::Pld
            | Method::Rdp
            | Method::Moments
            | Method::Zcdp
            | Method::Gdp
            | Method::Basic
            | Method::Advanced
            | Method::AdvancedKov
            | Method::Optimal => false,
        }
    }

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "exact",
            Method::Pld => "pld",
            Method::Rdp => "rdp",
            Method::Moments => "moments",
            Method::Zcdp => "zcdp",
            Method::Gdp => "gdp",
            Method::GdpClt => "gdp-clt",
            Method::Edgeworth => "edgeworth",
            Method::Basic => "basic",
            Method::Advanced => "advanced",
            Method::AdvancedKov => "advanced-kov",
            Method::Optimal => "optimal",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Self, Refusal> {
        Method::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            Refusal::out_of_range(
                "method",
                name,
                "exact, pld, rdp, moments, zcdp, gdp, gdp-clt, edgeworth, basic, advanced, advanced-kov or optimal",
            )
        })
    }
}

"""Checks of scikit-learn's `check_estimator` that private estimators do not pass, each with its reason."""

_LABELS = "labels_ of the fitted rows would reveal private data; use predict if you have the rows"

EXPECTED_FAILED_CHECKS: dict[str, dict[str, str]] = {
    "GaussianNB": {},
    "KMeans": {"check_clustering": _LABELS},
    "LinearRegression": {},
    "LogisticRegression": {},
    "MLPClassifier": {},
    "PCA": {},
    "Ridge": {},
    "StandardScaler": {},
}

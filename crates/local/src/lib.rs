//! Local privacy: each person randomises their own answer before it leaves them; estimators undo the noise on average.

"""The bootstrap: every value again from resampled patients, and the intervals that follow."""

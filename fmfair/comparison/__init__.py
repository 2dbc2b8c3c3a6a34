"""Comparisons of models on the same samples: which is better, which is fairer, and for whom one is worse."""

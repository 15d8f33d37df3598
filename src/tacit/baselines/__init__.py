"""Published private estimators without a posterior, to compare with."""

"""Other ways to a private regression, done right: what one-posterior sampling is measured against."""

"""The small language of derived columns and of filters: from text to a function of one row's cells."""

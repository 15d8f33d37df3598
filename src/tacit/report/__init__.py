"""HTML for people. The template, style and plots that every page of the project shares are in `tacit.pages`."""

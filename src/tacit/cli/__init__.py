"""The command line: `main` holds the verbs, one module each holds a group of them."""

from tacit.cli.main import app as app
from tacit.cli.main import main as main

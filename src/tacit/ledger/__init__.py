"""What has been spent on each data set: an append-only file that many processes may share."""

from tacit.ledger.balance import Balance as Balance
from tacit.ledger.chain import Entry as Entry
from tacit.ledger.chain import Receipt as Receipt
from tacit.ledger.chain import digest as digest
from tacit.ledger.head import Head as Head
from tacit.ledger.ledger import Ledger as Ledger
from tacit.ledger.ledger_text import words as words

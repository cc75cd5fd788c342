"""The contract of a frontier: the port's invariants and the lessons behind them, each one test.

Inherit from `FrontierContract` in a test class and say in `open` how to reach your backend; `name` tells one store from
another, so that the same name opened twice is the same store. Time is the clock that you are given. `machine` tells a
backend any story that hypothesis can think of, side by side with the memory frontier.
"""

from outrider.testing.contracts.frontier.adding import AddingContract
from outrider.testing.contracts.frontier.browsing import BrowsingContract
from outrider.testing.contracts.frontier.dismissing import DismissingContract
from outrider.testing.contracts.frontier.ending import EndingContract
from outrider.testing.contracts.frontier.ledger import LedgerContract
from outrider.testing.contracts.frontier.lending import LendingContract
from outrider.testing.contracts.frontier.looking import LookingContract
from outrider.testing.contracts.frontier.machine import FrontierMachine, machine
from outrider.testing.contracts.frontier.orders import OrdersContract
from outrider.testing.contracts.frontier.owed_once import OwedOnceContract
from outrider.testing.contracts.frontier.owing import OwingContract
from outrider.testing.contracts.frontier.settling import SettlingContract

__all__ = ["FrontierContract", "FrontierMachine", "machine"]


class FrontierContract(
    AddingContract,
    LendingContract,
    SettlingContract,
    EndingContract,
    LedgerContract,
    LookingContract,
    BrowsingContract,
    OwingContract,
    OwedOnceContract,
    OrdersContract,
    DismissingContract,
):
    """Set `shared = False` when a store cannot be opened by two at once, and `compact = True` when it keeps no line of
    an alias or a refused URL. What is said of `owe_again`, `look_at`, `browse` and `dismiss` is skipped where there is
    none.
    """

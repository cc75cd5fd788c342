"""How long is lent what a machine takes? One setting says it, for sites and for batches of the queue."""

from outrider.app.rules import Memory, intake_rules, worker_rules
from outrider.settings import settings_of


def test_a_site_is_lent_for_as_long_as_the_operator_says() -> None:
    settings = settings_of(lease=7)

    assert worker_rules(settings, Memory()).lease == 7.0


def test_a_batch_of_the_queue_is_lent_for_twice_as_long_as_a_site() -> None:
    settings = settings_of(lease=7)

    assert intake_rules(settings).lease == 14.0


def test_without_a_word_of_the_operator_a_site_is_lent_for_half_a_minute() -> None:
    assert worker_rules(settings_of(), Memory()).lease == 30.0

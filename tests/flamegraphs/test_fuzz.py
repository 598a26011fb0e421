from tests.flamegraphs import fuzz


def test_every_seed_of_the_fuzzer_is_a_profile() -> None:
    assert all(fuzz.check(data) for data in fuzz.seeds())


def test_damaged_files_are_profiles_whose_sums_hold_or_one_clear_error() -> None:
    rounds = 4_000
    found = fuzz.run(rounds, seed=20_240_501)
    assert 0 < found.profiles < rounds, "the fuzzer has to reach both outcomes"

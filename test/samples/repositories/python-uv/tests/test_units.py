from weather.units import celsius


def test_freezing() -> None:
    assert celsius(32) == 0

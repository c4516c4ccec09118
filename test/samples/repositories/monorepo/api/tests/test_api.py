def test_api() -> None:
    assert True

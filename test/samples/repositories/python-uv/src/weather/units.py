def celsius(fahrenheit: float) -> float:
    return (fahrenheit - 32) * 5 / 9

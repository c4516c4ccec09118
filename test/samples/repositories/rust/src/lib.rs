/// Adds two amounts; none when there is no such amount.
pub fn add(one: u64, other: u64) -> Option<u64> {
    one.checked_add(other)
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::add(1, 2), Some(3));
    }
}

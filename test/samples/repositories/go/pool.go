// Package pool bounds what runs at once.
package pool

// Limit is how much runs at once on so many cores.
func Limit(cores int) int {
	if cores < 1 {
		return 1
	}
	return cores * 2
}

package pool

import "testing"

func TestLimit(t *testing.T) {
	if Limit(0) != 1 {
		t.Fatal("at least one")
	}
}

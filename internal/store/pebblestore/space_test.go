package pebblestore

import (
	"strings"
	"testing"
)

func TestSpaceAcceptsTasksUntilItsReserveIsUsed(t *testing.T) {
	for _, c := range []struct {
		free, total uint64
		accepts     bool
	}{
		{100e6, 1000e6, true},
		{99e6, 1000e6, false},
		{0, 1000e6, false},
		{7 << 20, 64 << 20, true}, // a small disk is no problem by itself
		{6 << 20, 64 << 20, false},
		{11 << 30, 1000 << 30, true},
		{9 << 30, 1000 << 30, false},
		{0, 0, true}, // the file system reports no size
	} {
		s := Space{Free: c.free, Total: c.total}
		if s.Accepts() != c.accepts || strings.Contains(s.String(), "enlarge the disk") == c.accepts {
			t.Errorf("%+v: %v", s, s)
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
)

// What doctor finds bad comes with a place to look, and with enough attempts
// that it is no accident.
func TestDoctorSaysWhatLatenessComesOf(t *testing.T) {
	for _, c := range []struct {
		count uint64
		p99   time.Duration
		bad   bool
		says  string
	}{
		{0, 0, false, "overdue"},
		{2, time.Hour, false, "too few attempts to judge: 2"},
		{lateSample - 1, lateBound + 1, false, "too few attempts to judge: 99"},
		{lateSample, lateBound, false, "over 100 attempts\n"},
		{lateSample, lateBound + 1, true, "foliot top"},
	} {
		var out bytes.Buffer
		f := &findings{con: newConsole(nil, &out, &out, false)}
		f.live(&client.Live{Late: client.Lateness{Count: c.count, P99: c.p99}})
		if bad := f.bad == 1; bad != c.bad || !strings.Contains(out.String(), c.says) {
			t.Errorf("%d attempts, p99 %v: %s", c.count, c.p99, out.String())
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
)

// What doctor finds bad comes with a place to look.
func TestDoctorSaysWhatLatenessComesOf(t *testing.T) {
	for _, c := range []struct {
		p99    time.Duration
		advice bool
	}{{lateBound, false}, {lateBound + 1, true}} {
		var out bytes.Buffer
		f := &findings{con: newConsole(nil, &out, &out, false)}
		f.live(&client.Live{Late: client.Lateness{Count: 20, P99: c.p99}})
		if bad := f.bad == 1; bad != c.advice || strings.Contains(out.String(), "foliot top") != c.advice {
			t.Errorf("p99 %v: %s", c.p99, out.String())
		}
	}
}

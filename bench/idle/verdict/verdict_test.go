package verdict

import (
	"testing"
	"time"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/metric"
)

const second = time.Second

// rule has a timeout of 10 s and an allowed lateness of 1.5 s.
var rule = Rule{Timeout: 10 * second, Slack: second, Allowance: second / 2}

func TestEachConnectionGetsTheVerdictItDeserves(t *testing.T) {
	for _, test := range []struct {
		what string
		c    Case
		want Verdict
		late time.Duration
	}{
		{"alive and open", Case{Kind: client.Talking, Last: 100 * second, Gap: 2 * second}, Kept, 0},
		{"alive, open and silent for long", Case{Kind: client.Dripping, Last: 1 * second, Gap: 30 * second}, Kept, 0},
		{"alive and closed", Case{Kind: client.Talking, Last: 100 * second, Ended: 101 * second, Gap: 2 * second}, Wrong, 0},
		{"a nanosecond before the timeout", Case{Kind: client.Dripping, Last: 1, Ended: 10 * second}, Wrong, 0},
		{"alive, but the peer did not come to talk", Case{Kind: client.Talking, Last: 100 * second, Ended: 110 * second, Gap: 2 * second}, Excused, 0},
		{"the same, and then it did", Case{Kind: client.Dripping, Last: 100 * second, Ended: 101 * second, Gap: 10 * second}, Excused, 0},

		{"silent and open", Case{Kind: client.Silent, Last: 100 * second}, Never, 0},
		{"to the point", Case{Kind: client.Silent, Last: 100 * second, Ended: 110 * second}, OnTime, 0},
		{"a nanosecond too early", Case{Kind: client.Silent, Last: 100*second + 1, Ended: 110 * second}, Wrong, 0},
		{"as late as it may be", Case{Kind: client.Frozen, Last: 100 * second, Ended: 111*second + second/2}, OnTime, 3 * second / 2},
		{"a nanosecond later", Case{Kind: client.Frozen, Last: 100 * second, Ended: 111*second + second/2 + 1}, Late, 3*second/2 + 1},
		{"closed while it talked", Case{Kind: client.Silent, Last: 50 * second, Ended: 51 * second, Gap: 2 * second}, Wrong, 0},
		{"closed while it was to talk and did not", Case{Kind: client.Silent, Last: 50 * second, Ended: 51 * second, Gap: 11 * second}, Excused, 0},

		{"pongs, and the guard cannot notice", Case{Kind: client.Ponging, Last: 100 * second}, Blind, 0},
		{"pongs, closed all the same", Case{Kind: client.Ponging, Last: 100 * second, Ended: 110 * second}, OnTime, 0},
		{"deaf, and the guard cannot notice", Case{Kind: client.Deaf, Last: 100 * second}, Blind, 0},
		{"deaf, and the kernel sent what it held", Case{Kind: client.Deaf, Last: 100 * second, Moved: 101 * second, Ended: 112 * second}, OnTime, second},
		{"deaf, and too early all the same", Case{Kind: client.Deaf, Last: 100 * second, Moved: 101 * second, Ended: 109 * second}, Wrong, 0},
		{"deaf, and never late before its time", Case{Kind: client.Deaf, Last: 100 * second, Moved: 105 * second, Ended: 111 * second}, OnTime, 0},
	} {
		if got, late := rule.Judge(test.c); got != test.want || late != test.late {
			t.Errorf("%s: verdict %d, late %v; want %d, %v", test.what, got, late, test.want, test.late)
		}
	}
}

func TestWhoCanTellMustClose(t *testing.T) {
	able := rule
	able.Pongs, able.Writes = true, true
	for _, k := range []client.Kind{client.Ponging, client.Deaf} {
		if got, _ := able.Judge(Case{Kind: k, Last: second}); got != Never {
			t.Errorf("%v: verdict %d, want Never", k, got)
		}
	}
}

func TestWhoSeesNothingIsJudgedByTheServer(t *testing.T) {
	cases := Cases([]client.Observation{
		{ID: 1, Kind: client.Silent, Last: 1 * second, Ended: 12 * second},
		{ID: 2, Kind: client.Frozen, Last: 1 * second, Ended: 99 * second},
		{ID: 3, Kind: client.Deaf, Last: 1 * second, Ended: 99 * second, Moved: 3 * second},
		{ID: 4, Kind: client.Frozen, Last: 1 * second},
		{ID: 5, Kind: client.Frozen, Last: 1 * second},
	}, []server.Ending{
		{ID: 1, At: 11 * second},
		{ID: 2, At: 11 * second},
		{ID: 3, At: 13 * second, Wrote: 2 * second},
		{ID: 4, At: 11 * second, ByPeer: true},
	})
	for i, want := range []Case{
		{Kind: client.Silent, Last: 1 * second, Ended: 12 * second},
		{Kind: client.Frozen, Last: 1 * second, Ended: 11 * second},
		{Kind: client.Deaf, Last: 2 * second, Moved: 3 * second, Ended: 13 * second},
		{Kind: client.Frozen, Last: 1 * second},
		{Kind: client.Frozen, Last: 1 * second},
	} {
		if cases[i] != want {
			t.Errorf("peer %d: got %+v, want %+v", i+1, cases[i], want)
		}
	}
}

func TestTheCountersOrderLateCloses(t *testing.T) {
	cases := []Case{{Kind: client.Talking}, {Kind: client.Talking, Last: second, Ended: 2 * second}}
	for i := range 100 { // late by 0, 0.1 s, ... 9.9 s
		cases = append(cases, Case{Kind: client.Silent, Last: second, Ended: 11*second + time.Duration(99-i)*second/10})
	}
	v := metric.Values{}
	rule.Count(cases, v)
	if got := [...]float64{v[Names[Kept]], v[Names[Wrong]], v[Names[OnTime]], v[Names[Late]]}; got != [...]float64{1, 1, 16, 84} {
		t.Errorf("kept, wrong, on time, late: %v", got)
	}
	if v[metric.P50Ms] != 5000 || v[metric.P99Ms] != 9900 || v[metric.MaxMs] != 9900 {
		t.Errorf("%v", v)
	}
}

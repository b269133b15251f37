package cron

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	oracleSteps = flag.Int("oracle.steps", 0, "steps of TestNextAndPrevAgreeWithAWalkByMinutes; 0: a sample")
	oracleSeed  = flag.Uint64("oracle.seed", 0, "its seed; 0: by the clock")
)

// The oracle shares no code with the package: no sets, no periods, no search.
// It walks through time in steps of a minute, asks package time for the clocks,
// asks a predicate whether they match, and lists the matches.

// moment is one step of a walk.
type moment struct {
	at    int64 // seconds since 1970
	shown int64 // the time on the clocks, as if it were UTC
}

// walk reads a zone's clocks at every step from one instant to another.
func walk(zone *time.Location, from, until, step int64) []moment {
	var moments []moment
	for at := from; at < until; at += step {
		_, offset := time.Unix(at, 0).In(zone).Zone()
		moments = append(moments, moment{at, at + int64(offset)})
	}
	return moments
}

// occurrences applies the rules to a walk.
func (s sample) occurrences(moments []moment, step int64, gap Gap, overlap Overlap) []int64 {
	named := func(civil int64) bool { return s.match(time.Unix(civil, 0).UTC()) }
	var times []int64
	highest := moments[0].shown // the highest time on a clock
	for _, m := range moments {
		if named(m.shown) && (!s.fixed || overlap == OverlapBoth || m.shown > highest) {
			times = append(times, m.at)
		}
		if s.fixed && gap == GapNext {
			for lost := highest + step; lost < m.shown; lost += step {
				if named(lost) {
					times = append(times, m.at)
				}
			}
		}
		highest = max(highest, m.shown)
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// changes finds the days of 1970 to 2100 in which a zone's clocks change.
func changes(zone *time.Location) []int64 {
	const days = 130 * 365 // and no zone changes them twice in one
	var found []int64
	_, last := time.Unix(0, 0).In(zone).Zone()
	for day := range int64(days) {
		_, offset := time.Unix(day*86400, 0).In(zone).Zone()
		if offset != last {
			found = append(found, (day-1)*86400)
		}
		last = offset
	}
	return found
}

// window is the time of one walk: a long one by minutes, or a short one by
// seconds.
func window(rnd *rand.Rand, changed []int64, span int64) int64 {
	from := rnd.Int64N(130 * 365 * 86400)
	if len(changed) > 0 && rnd.IntN(3) > 0 {
		from = changed[rnd.IntN(len(changed))] + 86400 - rnd.Int64N(span)
	}
	return max(2*86400, from-from%60)
}

// judge walks once, and compares Next and Prev with the walk at steps instants.
func judge(rnd *rand.Rand, zone *time.Location, changed []int64, steps int) (wrong []string) {
	seconds := rnd.IntN(8) == 0
	step, span := int64(60), int64(20+rnd.IntN(60))*86400
	if rnd.IntN(200) == 0 {
		span = 3 * 365 * 86400
	}
	if seconds || zone.String() == "Africa/Monrovia" && rnd.IntN(4) == 0 {
		step, span = 1, 6*3600
	}
	s := randomSample(rnd, seconds)
	e, err := Parse(s.text)
	if err != nil {
		if strings.Contains(err.Error(), "never fire") {
			return nil // another test covers this
		}
		return []string{err.Error()}
	}
	if e.Fixed() != s.fixed {
		return []string{fmt.Sprintf("Fixed of %q: %v", s.text, e.Fixed())}
	}
	r := Rule{Expr: e, Zone: zone, Gap: Gap(rnd.IntN(2)), Overlap: Overlap(rnd.IntN(2))}
	inner := window(rnd, changed, span)
	if step == 60 && oddOffset(zone, inner-2*86400, inner+span) {
		step, span = 1, 6*3600
	}
	lead := int64(30 * 3600) // so that the walk has seen the times before
	want := s.occurrences(walk(zone, inner-lead, inner+span, step), step, r.Gap, r.Overlap)
	for range steps {
		at := time.Unix(inner+rnd.Int64N(span), []int64{0, 0, 1, 999999999}[rnd.IntN(4)])
		if rnd.IntN(3) == 0 && len(want) > 0 {
			at = time.Unix(max(inner, want[rnd.IntN(len(want))]), 0)
		}
		if text := compareNext(r, at, want, inner+span); text != "" {
			wrong = append(wrong, text)
		}
		if text := comparePrev(r, at, want, inner-lead); text != "" {
			wrong = append(wrong, text)
		}
	}
	return wrong
}

// oddOffset reports whether a zone's offset from UTC is not in whole minutes.
// Then a walk by minutes would step over times on its clocks.
func oddOffset(zone *time.Location, from, until int64) bool {
	for at := from; at <= until; at += 86400 {
		if _, offset := time.Unix(at, 0).In(zone).Zone(); offset%60 != 0 {
			return true
		}
	}
	return false
}

func compareNext(r Rule, at time.Time, want []int64, end int64) string {
	got, ok := r.Next(at)
	i := slices.IndexFunc(want, func(t int64) bool { return time.Unix(t, 0).After(at) })
	if i < 0 && (!ok || got.Unix() >= end) {
		return ""
	}
	if i >= 0 && ok && got.Equal(time.Unix(want[i], 0)) {
		return ""
	}
	wanted := "nothing"
	if i >= 0 {
		wanted = time.Unix(want[i], 0).In(r.Zone).String()
	}
	return fmt.Sprintf("Next of %q in %s (%v, %v) after %v: %v, want %s", r.Expr, r.Zone, r.Gap, r.Overlap, at.In(r.Zone), got, wanted)
}

func comparePrev(r Rule, at time.Time, want []int64, begin int64) string {
	got, ok := r.Prev(at)
	var before []int64
	for _, t := range want {
		if time.Unix(t, 0).Before(at) {
			before = append(before, t)
		}
	}
	// The walk may take times of its first day for new, because it saw no clock
	// before.
	for len(before) > 0 && before[len(before)-1] < begin+26*3600 {
		before = nil
	}
	if len(before) == 0 && (!ok || got.Unix() < begin+26*3600) {
		return ""
	}
	if len(before) > 0 && ok && got.Equal(time.Unix(before[len(before)-1], 0)) {
		return ""
	}
	wanted := "nothing"
	if len(before) > 0 {
		wanted = time.Unix(before[len(before)-1], 0).In(r.Zone).String()
	}
	return fmt.Sprintf("Prev of %q in %s (%v, %v) before %v: %v, want %s", r.Expr, r.Zone, r.Gap, r.Overlap, at.In(r.Zone), got, wanted)
}

func TestNextAndPrevAgreeWithAWalkByMinutes(t *testing.T) {
	const perWalk = 40
	zones := everyZone(t)
	rounds := 1
	if *oracleSteps > 0 {
		rounds = *oracleSteps/(2*perWalk*len(zones)) + 1
	} else if testing.Short() {
		zones = slices.DeleteFunc(zones, func(*time.Location) bool { return rand.IntN(12) > 0 })
	}
	seed := *oracleSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	var (
		mu           sync.Mutex // guards the fields below
		steps, wrong int
		wait         sync.WaitGroup
	)
	work := make(chan int)
	for range 2 {
		wait.Go(func() {
			for i := range work {
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				changed := changes(zones[i])
				for range rounds {
					found := judge(rnd, zones[i], changed, perWalk)
					mu.Lock()
					steps += 2 * perWalk
					wrong += len(found)
					if len(found) > 0 && wrong < 40 {
						t.Errorf("seed %d: %s", seed, found[0])
					}
					mu.Unlock()
				}
			}
		})
	}
	for i := range zones {
		work <- i
	}
	close(work)
	wait.Wait()
	t.Logf("%d steps over %d zones, %d wrong (seed %d)", steps, len(zones), wrong, seed)
}

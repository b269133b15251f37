package cron

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// No zone of the database changes its clocks twice in two days. These zones do,
// by all sizes, so that, for example, the times of a gap are overlapped.
func TestNextAndPrevAgreeWithAWalkInRandomZones(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(7, seed))
		zone, changed := randomZone(t, rnd)
		for _, wrong := range judge(rnd, zone, changed, 40) {
			t.Fatalf("seed %d, changes at %d: %s", seed, changed, wrong)
		}
	}
}

// randomZone makes a zone with a few changes within days, to offsets within half
// a day of UTC. Every other zone then adopts a rule, between two changes of that
// rule.
func randomZone(t *testing.T, rnd *rand.Rand) (zone *time.Location, changed []int64) {
	t.Helper()
	offsets := []int32{int32(rnd.IntN(145)-72) * 600}
	at := time.Date(2001, 3, 9, 0, 0, 0, 0, time.UTC).Unix()
	for range 2 + rnd.IntN(6) {
		at += int64(1+rnd.IntN([]int{10, 300, 4000}[rnd.IntN(3)])) * 60
		changed = append(changed, at)
		offsets = append(offsets, int32(rnd.IntN(145)-72)*600)
	}
	rule := ""
	if rnd.IntN(2) == 0 {
		rule = fmt.Sprintf("<A>%d<B>%d,M3.2.0/%d,M11.1.0/%d", rnd.IntN(25)-12, rnd.IntN(25)-12, rnd.IntN(24), rnd.IntN(24))
	}
	zone, err := time.LoadLocationFromTZData("Random", tzdata(offsets, changed, rule))
	if err != nil {
		t.Fatal(err)
	}
	return zone, changed
}

// tzdata encodes a zone by RFC 9636: the offsets before the first change and
// after each change, and the rule for the time after the last.
func tzdata(offsets []int32, changed []int64, rule string) []byte {
	data := tzheader(0, 0, 0) // version 1, for old readers
	data = append(data, tzheader(len(changed), len(offsets), 4)...)
	for _, at := range changed {
		data = binary.BigEndian.AppendUint64(data, uint64(at))
	}
	for i := range changed {
		data = append(data, byte(i+1))
	}
	for _, offset := range offsets {
		data = binary.BigEndian.AppendUint32(data, uint32(offset))
		data = append(data, 0, 0) // not summer time; the name is the first
	}
	data = append(data, "MAD\x00"...)
	return append(data, "\n"+rule+"\n"...)
}

func tzheader(changes, offsets, names int) []byte {
	data := append([]byte("TZif2"), make([]byte, 15)...)
	for _, count := range []int{0, 0, 0, changes, offsets, names} {
		data = binary.BigEndian.AppendUint32(data, uint32(count))
	}
	return data
}

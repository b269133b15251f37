package cron

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// No zone of the database changes its clocks twice in two days. These do, in
// all sizes, so that what a gap swallows is overlapped, and the like.
func TestNextAndPrevAgreeWithAWalkInZonesGoneMad(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(7, seed))
		zone, changed := madZone(t, rnd)
		for _, wrong := range judge(rnd, zone, changed, 40) {
			t.Fatalf("seed %d, changes at %d: %s", seed, changed, wrong)
		}
	}
}

// madZone makes a zone of a few changes within days, to offsets within half a
// day of UTC.
func madZone(t *testing.T, rnd *rand.Rand) (zone *time.Location, changed []int64) {
	t.Helper()
	offsets := []int32{int32(rnd.IntN(145)-72) * 600}
	at := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for range 2 + rnd.IntN(6) {
		at += int64(1+rnd.IntN([]int{10, 300, 4000}[rnd.IntN(3)])) * 60
		changed = append(changed, at)
		offsets = append(offsets, int32(rnd.IntN(145)-72)*600)
	}
	zone, err := time.LoadLocationFromTZData("Mad", tzdata(offsets, changed))
	if err != nil {
		t.Fatal(err)
	}
	return zone, changed
}

// tzdata writes a zone as RFC 9636 has it, in its first version: the offsets
// before the first change and after each.
func tzdata(offsets []int32, changed []int64) []byte {
	data := append([]byte("TZif"), make([]byte, 16)...)
	for _, count := range []int{0, 0, 0, len(changed), len(offsets), 4} {
		data = binary.BigEndian.AppendUint32(data, uint32(count))
	}
	for _, at := range changed {
		data = binary.BigEndian.AppendUint32(data, uint32(at))
	}
	for i := range changed {
		data = append(data, byte(i+1))
	}
	for _, offset := range offsets {
		data = binary.BigEndian.AppendUint32(data, uint32(offset))
		data = append(data, 0, 0) // not summer time; the name is the first
	}
	return append(data, "MAD\x00"...)
}

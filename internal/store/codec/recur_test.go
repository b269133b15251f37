package codec

import (
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// TestEveryFieldOfAScheduleIsKept sets each field to a different value: one
// that the codec misses comes back as zero.
func TestEveryFieldOfAScheduleIsKept(t *testing.T) {
	r := &task.Recurrence{}
	fillValue(reflect.ValueOf(r).Elem(), rand.New(rand.NewPCG(1, 2)))
	want := sample()
	want.Recur, want.NotifySchedule = r, true
	got, err := DecodeRecord(want.Key(), AppendRecord(nil, want))
	if d := cmp.Diff(want.Recur, got.Recur); err != nil || d != "" || !got.NotifySchedule {
		t.Errorf("%v, awaited %v\n%s", err, got.NotifySchedule, d)
	}
}

// nightly is a schedule with a value in each of its fields.
func nightly() *task.Task {
	const at task.Millis = 1_800_000_000_000
	return &task.Task{Namespace: "ns", Name: "@nightly", State: task.Scheduled, Queue: task.ScheduleQueue, Due: task.Never, Recur: &task.Recurrence{
		Progress: recurrence.Progress{
			Rule: recurrence.Rule{
				Cron: "0 21 * * *", Zone: "Europe/Berlin", Gap: cron.GapSkip, Fold: cron.OverlapBoth, Every: time.Second, Anchor: at,
				Start: at + 1, End: at + 2, MaxRuns: 7, Jitter: time.Minute, Misfire: recurrence.FireAll, CatchupWindow: time.Hour, CatchupLimit: 9, Overlap: recurrence.BufferOne,
			},
			Paused: true, PausedAt: at + 3, Last: at + 4, Civil: 1_800_000_005, Next: at + 6, Waiting: at + 7, Runs: 8, Limited: at + 9,
			Fired:   []recurrence.Span{{From: at, Until: at + 1}, {From: at + 3, Until: at + 4}},
			Skipped: recurrence.Skip{Span: recurrence.Span{From: at + 2, Until: at + 2}, Why: recurrence.SkippedOverlap}, Problem: "problem",
		},
		Queue: "mail", Priority: task.Low,
	}}
}

// The bytes of format 6. Other bytes need a new format.
const nightlyBytes = "0608808080808080801000001a0140c202d5010a0a30203231202a202a202a120d4575726f70652f4265726c696e180120012880a8d6b9073080c0e285e36838" +
	"82c0e285e3684084c0e285e368480e5080e0ba84bf035802608080c58bc6d101681270027a046d61696c800102880101900186c0e285e368980188c0e285e368" +
	"a0018ac8ceb40da8018cc0e285e368b0018ec0e285e368b80110c00192c0e285e368ca010e0880c0e285e3681082c0e285e368ca010e0886c0e285e3681088c0" +
	"e285e368d201170884c0e285e3681084c0e285e3681a076f7665726c6170da010770726f626c656d"

func TestTheBytesOfAScheduleAreStable(t *testing.T) {
	want := nightly()
	if got := hex.EncodeToString(AppendRecord(nil, want)); got != nightlyBytes {
		t.Errorf("got\n%s, want\n%s", got, nightlyBytes)
	}
	record, err := hex.DecodeString(nightlyBytes)
	fatal.If(t, err)
	got, err := DecodeRecord(want.Key(), record)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// fillValue sets all fields of v to values other than zero.
func fillValue(v reflect.Value, g *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), g)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fillValue(v.Index(i), g)
		}
	case reflect.String:
		v.SetString(string(rune('a' + g.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1 + g.Uint64N(2))
	default:
		v.SetInt(1 + g.Int64N(1<<40))
	}
}

package codec

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// sample is a record with a value in each of its fields.
func sample() *task.Task {
	const at task.Millis = 1_800_000_000_000
	return &task.Task{
		Namespace: "ns", Name: "name", ID: "id", Version: 7,
		Queue: "mail", Priority: task.Low, Labels: map[string]string{"team": "blue"},
		Request: task.Request{
			Destination: "host:443", URL: "https://host/hook", Method: "PUT", Headers: map[string]string{"X-A": "b"},
			BodyKind: task.JSONBody, BodySize: 300,
		},
		Timeout: 10 * time.Second, ExpireAfter: time.Hour,
		Retry:    task.Retry{MaxAttempts: 5, MinBackoff: time.Second, MaxBackoff: time.Minute, MaxAge: 24 * time.Hour},
		Relative: true, Delay: time.Minute,
		CreatedAt: at, OriginalDue: at + 1, Due: at + 2,
		State: task.Running, RunNow: true, Attempts: 3, AttemptsUsed: 2, Reclaims: 1, FirstAttemptAt: at + 3,
		History: []task.Attempt{{
			Number: 1, StartedAt: at + 3, Status: 503, Error: "error", Latency: 20 * time.Millisecond, Late: time.Millisecond, Reply: "reply",
		}},
		Reason: "reason", Lease: &task.Lease{Token: "token", Since: at + 4, Until: at + 5, TaskID: "id", Timeout: 11 * time.Second},
		CancelRequested: true, MaybeSendingUntil: at + 6, FinishedAt: -1, KeepUntil: at + 7,
		Idempotency: &task.Idempotency{Key: "key", Fingerprint: "print"}, OnDead: "https://host/dead", Trace: "trace",
	}
}

// The bytes of format 6. Other bytes need a new format.
const (
	sampleBytes = "0680300409686f73742f686f6f6bb20908021a046d61696c220c0a047465616d1204626c7565280232026964380752035055546880c0e285e3687082c0e285e3" +
		"68788090dfc04a800180a8d6b907880180e0ba84bf0390018080f89492a52798010aa0018080c58bc6d101a80101b00180e0ba84bf03ba01080a03582d411201" +
		"62c00101c80106d00104d80102e00186c0e285e368ea012308021086c0e285e36818ee0722056572726f722880b489133080897a3a057265706c79f201067265" +
		"61736f6efa011f0a05746f6b656e1088c0e285e368188ac0e285e368220269642880b8b5fa5180020188028cc0e285e36890020198028ec0e285e368a2020c0a" +
		"036b657912057072696e74aa021168747470733a2f2f686f73742f64656164b202057472616365"
)

// A token's id takes 12 bytes, and a record that no token made or changed takes none.
func TestTheBytesOfAuthorsAreStable(t *testing.T) {
	plain, signed := AppendRecord(nil, sample()), sample()
	signed.CreatedBy, signed.ChangedBy, signed.ChangedAt, signed.ChangedAction = "0123456789abcdef", "program", signed.CreatedAt, "task.cancel"
	const want = "8a0309000123456789abcdef" + "92030770726f6772616d" + "980380c0e285e368" + "a00305"
	if got := AppendRecord(nil, signed); hex.EncodeToString(got[len(plain):]) != want || !bytes.HasPrefix(got, plain) {
		t.Errorf("got %x", got[len(plain):])
	}
}

// call is a task for a handler, whose lease has a holder.
func call() *task.Task {
	const at task.Millis = 1_800_000_000_000
	return &task.Task{
		Namespace: "ns", Name: "name", ID: sampleID, Version: 1, Queue: "default", Priority: task.Normal,
		Request: task.Request{Kind: "order.close", Destination: "kind/order.close", BodyKind: task.JSONBody, BodySize: 12},
		Timeout: 15 * time.Second, Retry: task.Retry{MinBackoff: time.Second, MaxBackoff: time.Hour, MaxAge: 24 * time.Hour},
		CreatedAt: at, OriginalDue: at + 5, Due: at + 5, State: task.Running, Attempts: 1,
		Lease: &task.Lease{Token: "token", Since: at + 6, Until: at + 7, TaskID: sampleID, Timeout: 15 * time.Second, Holder: "node-a"},
	}
}

// The bytes of format 6. Other bytes need a new format.
const callBytes = "06f2850101a209c7e0b974efbcec2e152bcc25240a003208026880c0e285e368c80102fa011d0a05746f6b656e108cc0e285e368188ec0e285e36832066e6f64" +
	"652d6182030b6f726465722e636c6f7365"

func TestTheBytesOfRecordsAreStable(t *testing.T) {
	for text, want := range map[string]*task.Task{sampleBytes: sample(), callBytes: call(), usualBytes: usual(), nightlyBytes: nightly()} {
		if got := hex.EncodeToString(AppendRecord(nil, want)); got != text {
			t.Errorf("%s: got %s", want.Name, got)
		}
		record, err := hex.DecodeString(text)
		fatal.If(t, err)
		got, err := DecodeRecord(want.Key(), record)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}

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
				Start: at + 1, End: at + 2, MaxRuns: 7, Jitter: time.Minute, Missed: recurrence.FireAll, CatchupWindow: time.Hour, CatchupLimit: 9, Overlap: recurrence.BufferOne,
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

// The format keeps its word, although the API has another one.
func TestMissedInstantsKeepTheirStoredWord(t *testing.T) {
	want := nightly()
	want.Recur.Skipped.Why = recurrence.SkippedMissed
	data := AppendRecord(nil, want)
	got, err := DecodeRecord(want.Key(), data)
	if err != nil || got.Recur.Skipped != want.Recur.Skipped || !bytes.Contains(data, []byte("misfire")) || bytes.Contains(data, []byte("missed")) {
		t.Errorf("%v, %+v: %q", err, got.Recur, data)
	}
}

// Under the race detector: a record is shared, so to encode it must not write to
// it.
func TestARecordIsReadWhileItIsEncoded(t *testing.T) {
	shared := nightly()
	shared.Recur.Skipped.Why = recurrence.SkippedMissed
	var encoding sync.WaitGroup
	for range 2 {
		encoding.Go(func() { AppendRecord(nil, shared) })
	}
	encoding.Wait()
}

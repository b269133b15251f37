package codec

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

// drawTask draws a record; each field is set or has its zero value.
func drawTask(t *rapid.T) *task.Task {
	text := rapid.StringN(0, 20, 40)
	number := rapid.Int64()
	millis := rapid.Map(number, func(n int64) task.Millis { return task.Millis(n) })
	length := rapid.Map(number, func(n int64) time.Duration { return time.Duration(n) })
	count := rapid.IntRange(0, 1<<40)
	pairs := rapid.MapOfN(text, text, 0, 5)
	author := rapid.SampledFrom([]string{"", "0123456789abcdef", "0123456789ABCDEF", "0000000000000000", "sixteen letters!", "program"})
	r := &task.Task{
		Namespace: "ns", Name: "name", ID: text.Draw(t, "id"), Version: rapid.Uint64().Draw(t, "version"),
		Queue: text.Draw(t, "queue"), Priority: task.Priority(rapid.IntRange(0, 2).Draw(t, "priority")),
		Labels: pairs.Draw(t, "labels"),
		Request: task.Request{
			URL: text.Draw(t, "url"), Method: text.Draw(t, "method"), Headers: pairs.Draw(t, "headers"),
			Destination: text.Draw(t, "destination"),
			BodyKind:    task.BodyKind(rapid.IntRange(0, 3).Draw(t, "kind")), BodySize: count.Draw(t, "size"),
		},
		Timeout: length.Draw(t, "timeout"), ExpireAfter: length.Draw(t, "expire"),
		Retry: task.Retry{
			MaxAttempts: count.Draw(t, "attempts"), MinBackoff: length.Draw(t, "min"),
			MaxBackoff: length.Draw(t, "max"), MaxAge: length.Draw(t, "age"),
		},
		Relative: rapid.Bool().Draw(t, "relative"), Delay: length.Draw(t, "delay"),
		CreatedAt: millis.Draw(t, "created"), OriginalDue: millis.Draw(t, "original"), Due: millis.Draw(t, "due"),
		State:  task.State(rapid.IntRange(int(task.Scheduled), int(task.Dead)).Draw(t, "state")),
		RunNow: rapid.Bool().Draw(t, "urgent"), Attempts: count.Draw(t, "tries"), AttemptsUsed: count.Draw(t, "spent"),
		Reclaims: count.Draw(t, "reclaims"), FirstAttemptAt: millis.Draw(t, "first"), Reason: text.Draw(t, "reason"),
		CancelRequested: rapid.Bool().Draw(t, "cancel"), MaybeSendingUntil: millis.Draw(t, "zombie"),
		FinishedAt: millis.Draw(t, "finished"), KeepUntil: millis.Draw(t, "keep"),
		OnDead: text.Draw(t, "on dead"), Trace: text.Draw(t, "trace"), QueuedAt: millis.Draw(t, "queued"), Whole: rapid.Bool().Draw(t, "whole"), Aged: length.Draw(t, "aged"),
		CreatedBy: author.Draw(t, "created by"), ChangedBy: author.Draw(t, "changed by"), ChangedAt: millis.Draw(t, "changed"),
		ChangedAction: rapid.SampledFrom([]string{"", "task.cancel", "schedule.put", "task.unknown"}).Draw(t, "action"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "history") {
		r.History = append(r.History, task.Attempt{
			Number: count.Draw(t, "number"), StartedAt: millis.Draw(t, "started"), Status: count.Draw(t, "status"),
			Error: text.Draw(t, "error"), Latency: length.Draw(t, "latency"), Late: length.Draw(t, "late"), Waited: length.Draw(t, "waited"), Reply: text.Draw(t, "reply"),
			Detail: text.Draw(t, "detail"),
		})
	}
	if r.State == task.Running {
		r.Lease = &task.Lease{Token: task.Token(text.Draw(t, "token")), Since: millis.Draw(t, "since"), Until: millis.Draw(t, "until"), TaskID: text.Draw(t, "lease"), Timeout: length.Draw(t, "lease timeout"), Holder: text.Draw(t, "holder")}
	}
	if rapid.Bool().Draw(t, "idempotent") {
		r.Idempotency = &task.Idempotency{Key: text.Draw(t, "key"), Fingerprint: text.Draw(t, "fingerprint")}
	}
	if rapid.Bool().Draw(t, "for a handler") {
		r.Request.Kind = rapid.StringN(1, 20, -1).Draw(t, "work")
		r.Request.Destination = task.KindDestination(r.Request.Kind)
	}
	if len(r.Labels) == 0 {
		r.Labels = nil // the codec does not tell a nil map from an empty one
	}
	if len(r.Request.Headers) == 0 {
		r.Request.Headers = nil
	}
	return r
}

func TestAFilterMatchesTheBytesAsItMatchesTheRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawHead(t)
		f := task.Filter{Namespace: "ns"}
		maybe := func(what string) bool { return rapid.Bool().Draw(t, "filter by "+what) }
		if maybe("queue") {
			f.Queue = rapid.SampledFrom([]string{r.Queue, "q"}).Draw(t, "of")
		}
		if maybe("state") {
			f.States = []task.State{rapid.SampledFrom([]task.State{r.State, task.Dead}).Draw(t, "of")}
		}
		if maybe("label") {
			f.Labels = rapid.SampledFrom([]map[string]string{r.Labels, {"k": "v"}}).Draw(t, "of")
		}
		if maybe("due") {
			f.DueBefore, f.DueAfter = r.OriginalDue+task.Millis(rapid.IntRange(-1, 1).Draw(t, "of")), task.Millis(rapid.Int64().Draw(t, "of"))
		}
		if maybe("ended") {
			f.EndedAfter = r.FinishedAt + task.Millis(rapid.IntRange(-1, 1).Draw(t, "of"))
		}
		if maybe("purge") {
			f.EnteredBefore = r.Entered() + task.Millis(rapid.IntRange(-1, 1).Draw(t, "of"))
		}
		if maybe("reason") {
			f.Reason = rapid.SampledFrom([]string{r.Reason, "gone"}).Draw(t, "of")
		}
		got, err := MatchRecord(AppendRecord(nil, r), r.Namespace, []byte(r.Name), &f)
		if err != nil || got != f.Match(r) {
			t.Fatalf("got %v, %v, want %v", got, err, f.Match(r))
		}
	})
}

func TestAFieldOfALaterVersionIsSkipped(t *testing.T) {
	want := sample()
	record := AppendRecord(nil, want)
	record = append(binary.AppendUvarint(record, 1000<<3|varintType), 7)
	record = append(binary.AppendUvarint(record, 1001<<3|eightBytes), "8 bytes."...)
	record = append(binary.AppendUvarint(record, 1002<<3|bytesType), "\x05later"...)
	record = append(binary.AppendUvarint(record, 1003<<3|fourBytes), "four"...)
	got, err := DecodeRecord(want.Key(), record)
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

func TestARecordOfAnotherFormatIsRefused(t *testing.T) {
	r := sample()
	record := AppendRecord(nil, r)
	record[0] = Format + 1
	if _, err := DecodeRecord(r.Key(), record); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := MatchRecord(record, r.Namespace, []byte(r.Name), &task.Filter{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

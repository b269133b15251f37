package codec

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

const (
	sampleID     = "01a209c7-e0b9-74ef-bcec-2e152bcc2524"
	sampleIDTime = task.Millis(0x01a209c7e0b9)
)

// usual returns a new task with usual values, as most tasks in a store are.
func usual() *task.Task {
	return &task.Task{
		Namespace: "default", Name: "order-12345", ID: sampleID, Version: 1, Queue: "default", Priority: task.Normal,
		Request: task.Request{
			URL: "https://receiver.example/hook", Method: "POST", Destination: "receiver.example:443",
			BodyKind: task.JSONBody, BodySize: 100,
		},
		Timeout: 15 * time.Second, Retry: task.Retry{MinBackoff: time.Second, MaxBackoff: time.Hour, MaxAge: 24 * time.Hour},
		CreatedAt: sampleIDTime, OriginalDue: sampleIDTime + 3_600_000, Due: sampleIDTime + 3_600_000, State: task.Scheduled,
	}
}

// drawHead draws a task. Each field with a flag has its usual value, a value
// near it, or any value.
func drawHead(t *rapid.T) *task.Task {
	r, u := drawTask(t), usual()
	is := func(field string) bool { return rapid.Bool().Draw(t, "usual "+field) }
	if is("id") {
		r.ID = rapid.SampledFrom([]string{sampleID, "ffffffff-ffff-8fff-8fff-ffffffffffff", strings.ToUpper(sampleID), strings.ReplaceAll(sampleID, "-", "_")}).Draw(t, "uuid")
	}
	if is("name") {
		r.Name = r.ID
	}
	if is("creation") {
		r.CreatedAt = rapid.SampledFrom([]task.Millis{sampleIDTime, sampleIDTime + 1, 1<<48 - 1}).Draw(t, "created")
	}
	if is("due time") {
		r.Due = rapid.SampledFrom([]task.Millis{u.Due, task.Never, math.MinInt64}).Draw(t, "due")
	}
	if is("original") {
		r.OriginalDue = r.Due
	}
	if is("version") {
		r.Version = 1
	}
	if is("queue") {
		r.Queue = u.Queue
	}
	if is("limits") {
		r.Timeout, r.Retry, r.ExpireAfter = u.Timeout, u.Retry, time.Duration(rapid.IntRange(0, 1).Draw(t, "expire"))
	}
	if is("delay") {
		r.Delay = delayOf(r)
	}
	if is("request") {
		r.Request.Method = u.Request.Method
		r.Request.URL = rapid.SampledFrom([]string{
			u.Request.URL, "http://127.0.0.1:80", "https://[::1]/a", "https://[::1]:443/a", "HTTPS://host/", "https://", "ftp://h/", "https://Host?x", "http://host:/",
		}).Draw(t, "url")
		r.Request.Destination = rapid.SampledFrom([]string{
			u.Request.Destination, "127.0.0.1:80", "[::1]:443", "host:443", "host:80", "Host:443", "host:", ":443", ":80", "",
		}).Draw(t, "destination")
	}
	if r.Request.Kind != "" {
		r.Request.Destination = task.KindDestination(r.Request.Kind)
	}
	if is("body") {
		r.Request.BodySize = rapid.SampledFrom([]int{0, 1, maxHeadSize, maxHeadSize + 1}).Draw(t, "body")
	}
	if r.Lease != nil && is("lease") {
		r.Lease.TaskID, r.Lease.Timeout = r.ID, r.Timeout
	}
	if is("schedule") {
		r.Recur, r.NotifySchedule = nightly().Recur, true
		if r.Request.Kind != "" {
			r.Request.Destination = ""
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "replaced") {
		r.Replaced = append(r.Replaced, task.Idempotency{Key: rapid.String().Draw(t, "key"), Fingerprint: rapid.String().Draw(t, "fingerprint")})
	}
	return r
}

func TestARecordWithAnyHeadIsDecodedAsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawHead(t)
		got, err := ParseRecord(want.Key(), string(AppendRecord(nil, want)))
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

// The bytes of format 6. Other bytes need a new format.
const usualBytes = "06fe3701a209c7e0b974efbcec2e152bcc252480bab7031572656365697665722e6578616d706c652f686f6f6b9203"

// TestARecordIsDamagedIfItsHeadEnds: without the end of the head, no
// record is decoded.
func TestARecordIsDamagedIfItsHeadEnds(t *testing.T) {
	record := string(AppendRecord(nil, usual()))
	for n := range record {
		if got, err := ParseRecord(usual().Key(), record[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d bytes are %+v, %v", n, got, err)
		}
	}
	full := sample()
	record = string(AppendRecord(nil, full))
	for n := range record {
		if _, err := ParseRecord(full.Key(), record[:n]); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

func TestARecordWithAnImpossibleHeadIsDamaged(t *testing.T) {
	for about, record := range map[string]string{
		"no flags":               "\x06",
		"an unknown flag":        "\x06\x80\x80\x02\x00\x00\x00",
		"two identifiers":        "\x06\x03" + strings.Repeat("a", 16) + "\x00\x00\x00",
		"a name that is no UUID": "\x06\x09\x00\x00\x00",
		"a time without a UUID":  "\x06\x0c\x00\x00\x00",
		"two schemes":            "\x06\x88\x18\x00\x00\x00",
		"a URL without an end":   "\x06\x08\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
		"an endless number":      "\x06" + strings.Repeat("\x80", 20),
		"a body of 2 EB":         "\x06\x08\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"a lease that is absent": "\x06\x88\x80\x01\x00\x00\x00",
		"no state":               "\x06\x00\x00\x00\x00",
	} {
		if got, err := ParseRecord(task.Key{Namespace: "ns", Name: "a"}, record); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", about, got, err)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	named := usual()
	named.Name = named.ID
	for _, t := range []*task.Task{usual(), named, sample(), nightly()} {
		f.Add("a", string(AppendRecord(nil, t)))
	}
	f.Add(sampleID, string(AppendRecord(nil, named)))
	f.Fuzz(func(t *testing.T, name, record string) {
		key := task.Key{Namespace: "ns", Name: name}
		got, err := ParseRecord(key, record)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			return
		}
		again, err := ParseRecord(key, string(AppendRecord(nil, got)))
		if d := cmp.Diff(got, again); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	running := usual()
	running.State, running.Attempts, running.FirstAttemptAt = task.Running, 1, running.Due
	running.Lease = &task.Lease{Token: "0123456789abcdef", Since: running.Due, Until: running.Due + 30_000, TaskID: running.ID, Timeout: running.Timeout}
	for name, t := range map[string]*task.Task{"new": usual(), "running": running, "full": sample()} {
		record := string(AppendRecord(nil, t))
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 1024)
			for b.Loop() {
				dst = AppendRecord(dst[:0], t)
			}
			b.ReportMetric(float64(len(dst)), "bytes")
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseRecord(t.Key(), record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package codec

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// usualEntry returns the entry of a create, in the namespace of its block.
func usualEntry() settings.AuditEntry {
	return settings.AuditEntry{
		At: sampleIDTime, By: "anonymous", Addr: "127.0.0.1", Namespace: "ns", Action: "task.create", Target: "order-12345", ID: sampleID, Version: 1,
	}
}

// audited returns entries with and without repeated fields.
func audited() []settings.AuditEntry {
	return []settings.AuditEntry{
		{At: 1_800_000_000_000, By: "token", Addr: "192.0.2.1", Namespace: "ns", Action: "task.create", Target: "a", ID: "a", Version: 1},
		{At: 1_800_000_000_000, By: "token", Addr: "192.0.2.1", Namespace: "ns", Action: "task.create", Target: "b", ID: "id", Version: 1},
		{At: 1_800_000_000_001, By: "", Addr: "192.0.2.1", Namespace: "", Action: "queue.configure", Target: "q", Version: 2, Detail: "rate"},
	}
}

// drawEntry draws an audit entry. Entries often repeat each other, and each field
// has a value with a short form, a value near it, or any value.
func drawEntry(t *rapid.T) settings.AuditEntry {
	from := func(field string, values ...string) string {
		return rapid.OneOf(rapid.SampledFrom(values), rapid.SampledFrom(values), rapid.String()).Draw(t, field)
	}
	return settings.AuditEntry{
		At:        rapid.OneOf(rapid.Just(sampleIDTime), rapid.Map(rapid.Int64(), func(n int64) task.Millis { return task.Millis(n) })).Draw(t, "at"),
		By:        from("by", "", "anonymous", "upkeep", "token:0123456789abcdef", "token:0123456789ABCDEF", "token:0123456789abcde", "token:"),
		Addr:      from("addr", "", "127.0.0.1", "192.0.2.1", "::1", "2001:DB8::1", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1%eth0", "127.0.0.01"),
		Namespace: from("namespace", "", "ns", "other"), Action: from("action", "", "task.create", "schedule.check", "task.unknown"),
		ID: from("id", "", sampleID, strings.ToUpper(sampleID)), Target: from("target", "", "order", sampleID),
		Version: rapid.OneOf(rapid.Just(uint64(1)), rapid.Uint64()).Draw(t, "version"), Detail: from("detail", "", "accepted"),
	}
}

// first is the entry before the first one of a block in these tests.
var first = settings.AuditEntry{Namespace: "ns"}

// blockOf returns entries as a block.
func blockOf(entries ...settings.AuditEntry) string {
	block, before := []byte{Format}, first
	for i := range entries {
		block = AppendAuditEntry(block, &before, &entries[i])
		before = entries[i]
	}
	return string(block)
}

func TestABlockOfTheAuditLogIsDecodedAsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(drawEntry), 1, 20).Draw(t, "entries")
		got, err := DecodeAuditEntries(blockOf(want...), first)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func TestABlockOfAnotherFormatIsRefused(t *testing.T) {
	block := []byte(blockOf(audited()...))
	block[0] = Format + 1
	if _, err := DecodeAuditEntries(string(block), first); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// The bytes of format 1. Other bytes need a new format.
const (
	createBytes  = "015b01a209c7e0b974efbcec2e152bcc2524027f000001010b6f726465722d3132333435"
	auditedBytes = "015c016180c0e285e3680005746f6b656ec000020101e8070269640162a0100082c0e285e3680100000f71756575652e636f6e6669677572650171020472617465"
)

func TestTheBytesOfABlockAreStable(t *testing.T) {
	for want, entries := range map[string][]settings.AuditEntry{createBytes: {usualEntry()}, auditedBytes: audited()} {
		if got := hex.EncodeToString([]byte(blockOf(entries...))); got != want {
			t.Errorf("got %s", got)
		}
		got, err := DecodeAuditEntries(string(unhex(t, want)), first)
		if d := cmp.Diff(entries, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}

func TestTheBeginningOfAnEntryIsDamaged(t *testing.T) {
	block := blockOf(usualEntry())
	for n := 2; n < len(block); n++ {
		if got, err := DecodeAuditEntries(block[:n], first); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d bytes are %+v, %v", n, got, err)
		}
	}
}

// TestTheNumbersOfTextsAreStable: a text that moves gives its number to another.
func TestTheNumbersOfTextsAreStable(t *testing.T) {
	const want = " anonymous upkeep task.create task.replace task.patch task.touch task.run task.retry task.cancel task.purge" +
		" schedule.put schedule.pause schedule.resume schedule.delete schedule.check"
	if got := strings.Join(append(append([]string{}, actorNumbers...), actionNumbers...), " "); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

// FuzzDecodeAuditEntries: any bytes in a store are decoded or refused, without
// a panic.
func FuzzDecodeAuditEntries(f *testing.F) {
	f.Add(blockOf(usualEntry()))
	f.Add(blockOf(audited()...))
	f.Add(blockOf())
	f.Fuzz(func(t *testing.T, block string) {
		entries, err := DecodeAuditEntries(block, first)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			return
		}
		back, err := DecodeAuditEntries(blockOf(entries...), first)
		if d := cmp.Diff(entries, back); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	})
}

func BenchmarkEntry(b *testing.B) {
	usual, block := usualEntry(), blockOf(usualEntry())
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		dst := make([]byte, 0, 1024)
		for b.Loop() {
			dst = AppendAuditEntry(dst[:0], &first, &usual)
		}
		b.ReportMetric(float64(len(dst)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeAuditEntries(block, first); err != nil {
				b.Fatal(err)
			}
		}
	})
}

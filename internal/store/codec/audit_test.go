package codec

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// drawEntry draws an audit entry; few values, so that entries repeat each
// other.
func drawEntry(t *rapid.T) settings.AuditEntry {
	few := rapid.SampledFrom([]string{"", "a", "b"})
	return settings.AuditEntry{
		At: task.Millis(rapid.IntRange(-1, 2).Draw(t, "at")), By: few.Draw(t, "by"), Addr: few.Draw(t, "addr"),
		Namespace: few.Draw(t, "namespace"), Action: few.Draw(t, "action"), Target: few.Draw(t, "target"),
		ID: few.Draw(t, "id"), Version: rapid.Uint64Range(0, 2).Draw(t, "version"), Detail: few.Draw(t, "detail"),
	}
}

// blockOf returns entries as a block.
func blockOf(entries []settings.AuditEntry) []byte {
	block, before := []byte{Format}, settings.AuditEntry{}
	for i := range entries {
		block = AppendAuditEntry(block, &before, &entries[i])
		before = entries[i]
	}
	return block
}

func TestABlockOfTheAuditLogIsDecodedAsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(drawEntry), 1, 20).Draw(t, "entries")
		got, err := DecodeAuditEntries(blockOf(want))
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func TestABlockOfAnotherFormatIsRefused(t *testing.T) {
	block := blockOf(audited())
	block[0] = Format + 1
	if _, err := DecodeAuditEntries(block); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// FuzzDecodeAuditEntries: any bytes in a store are decoded or refused, without
// a panic.
func FuzzDecodeAuditEntries(f *testing.F) {
	f.Add(blockOf(audited()))
	f.Add([]byte{Format})
	f.Fuzz(func(t *testing.T, block []byte) {
		entries, err := DecodeAuditEntries(block)
		if err != nil {
			return
		}
		if back, err := DecodeAuditEntries(blockOf(entries)); err != nil || !cmp.Equal(entries, back) {
			t.Errorf("%+v comes back as %+v, %v", entries, back, err)
		}
	})
}

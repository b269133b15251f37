package codec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/foliot/foliot/internal/settings"
)

// A block of audit entries is a format byte and then the entries, the oldest
// first, each after its length in Protocol Buffers' wire format. A field with
// the same value as in the entry before is left out; most fields are. The
// entries' numbers are not encoded.

// The fields of an entry.
const (
	entryAt        = 1
	entryBy        = 2
	entryAddr      = 3
	entryNamespace = 4
	entryAction    = 5
	entryTarget    = 6
	entryID        = 7 // left out if it equals the target, as for a task without a name of its own
	entryVersion   = 8
	entryDetail    = 9
	entryOwnName   = 10
	entrySame      = 11 // the fields with the same value as in the entry before: the bits below
)

const (
	sameAt = 1 << iota
	sameBy
	sameAddr
	sameNamespace
	sameAction
)

// AppendAuditEntry appends e to a block, which begins with Format. before is
// the entry appended last, or the zero AuditEntry for the first one.
func AppendAuditEntry(block []byte, before, e *settings.AuditEntry) []byte {
	start := len(block)
	block = appendEntry(block, before, e)
	var size [binary.MaxVarintLen64]byte
	return slices.Insert(block, start, protowire.AppendVarint(size[:0], uint64(len(block)-start))...)
}

// DecodeAuditEntries returns the entries of a block, the oldest first, each with
// Seq 0.
func DecodeAuditEntries(block []byte) ([]settings.AuditEntry, error) {
	src, err := Unwrap(block)
	if err != nil {
		return nil, err
	}
	var entries []settings.AuditEntry
	var before settings.AuditEntry
	for len(src) > 0 {
		data, n := protowire.ConsumeBytes(src)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, protowire.ParseError(n))
		}
		if before, err = decodeEntry(&before, data); err != nil {
			return nil, err
		}
		entries, src = append(entries, before), src[n:]
	}
	return entries, nil
}

// DecodeAuditEntry returns the entry of a block that has only one.
func DecodeAuditEntry(block []byte) (settings.AuditEntry, error) {
	all, err := DecodeAuditEntries(block)
	switch {
	case err != nil:
		return settings.AuditEntry{}, err
	case len(all) != 1:
		return settings.AuditEntry{}, fmt.Errorf("%d entries: %w", len(all), ErrDamaged)
	}
	return all[0], nil
}

func appendEntry(dst []byte, before, e *settings.AuditEntry) []byte {
	var same uint64
	if e.At == before.At {
		same |= sameAt
	} else {
		dst = appendInt(dst, entryAt, int64(e.At))
	}
	for _, f := range []struct {
		num     protowire.Number
		bit     uint64
		old, is string
	}{
		{entryBy, sameBy, before.By, e.By},
		{entryAddr, sameAddr, before.Addr, e.Addr},
		{entryNamespace, sameNamespace, before.Namespace, e.Namespace},
		{entryAction, sameAction, before.Action, e.Action},
	} {
		if f.is == f.old {
			same |= f.bit
		} else {
			dst = appendString(dst, f.num, f.is)
		}
	}
	dst = appendString(dst, entryTarget, e.Target)
	if e.ID == e.Target {
		dst = appendBool(dst, entryOwnName, e.ID != "")
	} else {
		dst = appendString(dst, entryID, e.ID)
	}
	dst = appendUint(dst, entryVersion, e.Version)
	dst = appendString(dst, entryDetail, e.Detail)
	return appendUint(dst, entrySame, same)
}

func decodeEntry(before *settings.AuditEntry, src []byte) (e settings.AuditEntry, err error) {
	own := false
	err = eachField(src, "", func(f field) error {
		switch f.num {
		case entryAt:
			e.At = f.millis()
		case entryBy:
			e.By = f.text()
		case entryAddr:
			e.Addr = f.text()
		case entryNamespace:
			e.Namespace = f.text()
		case entryAction:
			e.Action = f.text()
		case entryTarget:
			e.Target = f.text()
		case entryID:
			e.ID = f.text()
		case entryOwnName:
			own = f.bool()
		case entryVersion:
			e.Version = f.number
		case entryDetail:
			e.Detail = f.text()
		case entrySame:
			repeat(&e, before, f.number)
		}
		return nil
	})
	if own {
		e.ID = e.Target
	}
	return e, err
}

// repeat copies the fields of e that were left out from before.
func repeat(e, before *settings.AuditEntry, same uint64) {
	if same&sameAt != 0 {
		e.At = before.At
	}
	if same&sameBy != 0 {
		e.By = before.By
	}
	if same&sameAddr != 0 {
		e.Addr = before.Addr
	}
	if same&sameNamespace != 0 {
		e.Namespace = before.Namespace
	}
	if same&sameAction != 0 {
		e.Action = before.Action
	}
}

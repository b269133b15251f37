package codec

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// A block of audit entries is Format and then the entries, the oldest first. An
// entry is flags, and then the identifier, time, actor, address, namespace,
// action, target, version and detail, unless a flag states the value. The
// entries' numbers are not encoded. The flags of most tasks fit into one byte.
const (
	entryHasUUID       = 1 << iota // ID: a UUID of 16 bytes, otherwise a text
	entryAtID                      // At: the time in the UUID
	entryTargetIsID                // Target: the ID
	entryFirstVersion              // Version: 1
	entryAddrIs4                   // Addr: an IPv4 address of 4 bytes
	entrySameAddr                  // Addr: that of the entry before
	entrySameNamespace             // Namespace, and so on: that of the entry before
	entrySameAt
	entrySameBy
	entrySameAction
	entryAddrIs16  // Addr: an IPv6 address of 16 bytes; without a flag for Addr, a text
	entryHasDetail // Detail: a text, otherwise ""
	allEntryFlags  = 1<<iota - 1
)

// The texts that have a number: their index and 1. Numbers are a part of the
// format, so new texts are added at the end.
var (
	actorNumbers  = []string{"", "anonymous", "upkeep"}
	actionNumbers = []string{
		"task.create", "task.replace", "task.patch", "task.touch", "task.run", "task.retry", "task.cancel", "task.purge",
		"schedule.put", "schedule.pause", "schedule.resume", "schedule.delete", "schedule.check",
	}
)

// Instead of a number, a text has noNumber, its length and its bytes. An access
// token as actor has tokenNumber and the bytes of its id.
const (
	noNumber    = 0
	tokenNumber = 255

	tokenPrefix = "token:"
	tokenBytes  = 8
)

// AppendAuditEntry appends e to a block, which begins with Format. before is the
// entry appended last. Before the first one it has the fields that all entries
// of the block are likely to have.
func AppendAuditEntry(block []byte, before, e *settings.AuditEntry) []byte {
	id, isUUID := parseUUID(e.ID)
	var addr netip.Addr
	if e.Addr != before.Addr {
		addr = addressOf(e.Addr)
	}
	flags := flagIf(isUUID, entryHasUUID) |
		flagIf(isUUID && e.At == timeOf(id), entryAtID) |
		flagIf(e.Target == e.ID, entryTargetIsID) |
		flagIf(e.Version == 1, entryFirstVersion) |
		flagIf(addr.Is4(), entryAddrIs4) |
		flagIf(addr.Is6(), entryAddrIs16) |
		flagIf(e.Addr == before.Addr, entrySameAddr) |
		flagIf(e.Namespace == before.Namespace, entrySameNamespace) |
		flagIf(e.At == before.At, entrySameAt) |
		flagIf(e.By == before.By, entrySameBy) |
		flagIf(e.Action == before.Action, entrySameAction) |
		flagIf(e.Detail != "", entryHasDetail)
	block = binary.AppendUvarint(block, flags)
	if isUUID {
		block = append(block, id[:]...)
	} else {
		block = appendText(block, e.ID)
	}
	if flags&(entryAtID|entrySameAt) == 0 {
		block = binary.AppendVarint(block, int64(e.At))
	}
	if flags&entrySameBy == 0 {
		block = appendActor(block, e.By)
	}
	switch {
	case flags&entrySameAddr != 0:
	case addr.IsValid():
		block, _ = addr.AppendBinary(block) // it has no error
	default:
		block = appendText(block, e.Addr)
	}
	if flags&entrySameNamespace == 0 {
		block = appendText(block, e.Namespace)
	}
	if flags&entrySameAction == 0 {
		block = appendNumbered(block, actionNumbers, e.Action)
	}
	if flags&entryTargetIsID == 0 {
		block = appendText(block, e.Target)
	}
	if flags&entryFirstVersion == 0 {
		block = binary.AppendUvarint(block, e.Version)
	}
	if flags&entryHasDetail != 0 {
		block = appendText(block, e.Detail)
	}
	return block
}

func flagIf(is bool, flag uint64) uint64 {
	if is {
		return flag
	}
	return 0
}

// DecodeAuditEntries returns the entries of a block, the oldest first, each with
// Seq 0. before is the one that the first entry was appended with. Texts of the
// result can be parts of block.
func DecodeAuditEntries(block string, before settings.AuditEntry) ([]settings.AuditEntry, error) {
	src, err := Unwrap(block)
	if err != nil {
		return nil, err
	}
	var entries []settings.AuditEntry
	for r := (entryReader{reader[string]{src: src}}); len(r.src) > 0; {
		if before = r.entry(&before); r.damaged {
			return nil, fmt.Errorf("audit entry %d: %w", len(entries), ErrDamaged)
		}
		entries = append(entries, before)
	}
	return entries, nil
}

type entryReader struct{ reader[string] }

func (r *entryReader) entry(before *settings.AuditEntry) (e settings.AuditEntry) {
	flags := r.uvarint()
	if flags > allEntryFlags || flags&entryAtID != 0 && flags&entryHasUUID == 0 {
		r.fail()
	}
	e = *before
	e.Version, e.Detail = 1, ""
	if flags&entryHasUUID != 0 {
		var id [16]byte
		var text [task.UUIDText]byte
		copy(id[:], r.bytes(uint64(len(id))))
		task.PutUUID(&text, id)
		e.ID = string(text[:])
		if flags&entryAtID != 0 {
			e.At = timeOf(id)
		}
	} else {
		e.ID = r.text()
	}
	if flags&(entryAtID|entrySameAt) == 0 {
		e.At = task.Millis(r.varint())
	}
	if flags&entrySameBy == 0 {
		e.By = r.actor()
	}
	if flags&entrySameAddr == 0 {
		e.Addr = r.address(flags)
	}
	if flags&entrySameNamespace == 0 {
		e.Namespace = r.text()
	}
	if flags&entrySameAction == 0 {
		e.Action = r.numbered(actionNumbers, r.byte())
	}
	if e.Target = e.ID; flags&entryTargetIsID == 0 {
		e.Target = r.text()
	}
	if flags&entryFirstVersion == 0 {
		e.Version = r.uvarint()
	}
	if flags&entryHasDetail != 0 {
		e.Detail = r.text()
	}
	return e
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendNumbered(dst []byte, numbers []string, s string) []byte {
	if i := slices.Index(numbers, s); i >= 0 {
		return append(dst, byte(i+1))
	}
	return appendText(append(dst, noNumber), s)
}

func appendActor(dst []byte, by string) []byte {
	if id, ok := strings.CutPrefix(by, tokenPrefix); ok && len(id) == hex.EncodedLen(tokenBytes) {
		with := append(dst, tokenNumber)
		for i := 0; i < len(id); i += 2 {
			high, low := hexValues[id[i]], hexValues[id[i+1]]
			if high|low == notHex {
				return appendNumbered(dst, actorNumbers, by)
			}
			with = append(with, high<<4|low)
		}
		return with
	}
	return appendNumbered(dst, actorNumbers, by)
}

func (r *entryReader) actor() string {
	n := r.byte()
	if n != tokenNumber {
		return r.numbered(actorNumbers, n)
	}
	var id [tokenBytes]byte
	text := [len(tokenPrefix) + 2*tokenBytes]byte{}
	copy(id[:], r.bytes(tokenBytes))
	hex.Encode(text[copy(text[:], tokenPrefix):], id[:])
	return string(text[:])
}

// numbered returns the text with that number.
func (r *entryReader) numbered(numbers []string, number byte) string {
	switch i := int(number) - 1; {
	case number == noNumber:
		return r.text()
	case i < len(numbers):
		return numbers[i]
	}
	r.fail()
	return ""
}

// address returns the address of an entry with these flags.
func (r *entryReader) address(flags uint64) string {
	size := uint64(0)
	switch {
	case flags&entryAddrIs4 != 0:
		size = 4
	case flags&entryAddrIs16 != 0:
		size = 16
	default:
		return r.text()
	}
	addr, _ := netip.AddrFromSlice([]byte(r.bytes(size)))
	return addr.String()
}

// addressOf returns s as an address if its bytes state the same text.
func addressOf(s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Zone() != "":
		return netip.Addr{}
	case a.Is4(): // has only one spelling
		return a
	}
	var text [len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")]byte
	if string(a.AppendTo(text[:0])) != s {
		return netip.Addr{}
	}
	return a
}

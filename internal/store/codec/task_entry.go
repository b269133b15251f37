package codec

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// A task entry of the audit log records a change of a task. It is Format, flags,
// and then the identifier, time, actor, address, action, target and version,
// unless a flag states the value. A detail follows as a field, as in a block. The
// namespace is not encoded, because each stream of such entries belongs to one.
const (
	entryHasUUID      = 1 << iota // ID: a UUID of 16 bytes, otherwise a text
	entryAtID                     // At: the time in the UUID
	entryTargetIsID               // Target: the ID
	entryFirstVersion             // Version: 1
	entryAddrIs4                  // Addr: an IPv4 address of 4 bytes
	entryAddrIs16                 // Addr: an IPv6 address of 16 bytes, otherwise a text
	allEntryFlags     = 1<<iota - 1
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

// AppendTaskEntry appends e to dst, without its namespace and number.
func AppendTaskEntry(dst []byte, e *settings.AuditEntry) []byte {
	id, isUUID := parseUUID(e.ID)
	addr := addressOf(e.Addr)
	flags := byte(0)
	if isUUID {
		flags |= entryHasUUID
		if e.At == timeOf(id) {
			flags |= entryAtID
		}
	}
	if e.Target == e.ID {
		flags |= entryTargetIsID
	}
	if e.Version == 1 {
		flags |= entryFirstVersion
	}
	switch {
	case addr.Is4():
		flags |= entryAddrIs4
	case addr.Is6():
		flags |= entryAddrIs16
	}
	dst = append(dst, Format, flags)
	if isUUID {
		dst = append(dst, id[:]...)
	} else {
		dst = appendText(dst, e.ID)
	}
	if flags&entryAtID == 0 {
		dst = binary.AppendVarint(dst, int64(e.At))
	}
	dst = appendActor(dst, e.By)
	switch {
	case addr.Is4():
		b := addr.As4()
		dst = append(dst, b[:]...)
	case addr.Is6():
		b := addr.As16()
		dst = append(dst, b[:]...)
	default:
		dst = appendText(dst, e.Addr)
	}
	dst = appendNumbered(dst, actionNumbers, e.Action)
	if flags&entryTargetIsID == 0 {
		dst = appendText(dst, e.Target)
	}
	if flags&entryFirstVersion == 0 {
		dst = binary.AppendUvarint(dst, e.Version)
	}
	return appendString(dst, entryDetail, e.Detail)
}

// DecodeTaskEntry returns the task entry src of a stream of namespace. Texts of
// the result can be parts of src.
func DecodeTaskEntry(src, namespace string) (e settings.AuditEntry, err error) {
	if _, err := Unwrap([]byte(src[:min(len(src), 1)])); err != nil {
		return settings.AuditEntry{}, err
	}
	h := entryReader{reader[string]{src: src[1:]}}
	flags := h.byte()
	if flags > allEntryFlags || flags&entryAddrIs4 != 0 && flags&entryAddrIs16 != 0 || flags&entryAtID != 0 && flags&entryHasUUID == 0 {
		h.fail()
	}
	e.Namespace = namespace
	if flags&entryHasUUID != 0 {
		var id [16]byte
		var text [task.UUIDText]byte
		copy(id[:], h.bytes(uint64(len(id))))
		task.PutUUID(&text, id)
		e.ID, e.At = string(text[:]), timeOf(id)
	} else {
		e.ID = h.text()
	}
	if flags&entryAtID == 0 {
		e.At = task.Millis(h.varint())
	}
	e.By = h.actor()
	e.Addr = h.address(flags)
	e.Action = h.numbered(actionNumbers, h.byte())
	if e.Target = e.ID; flags&entryTargetIsID == 0 {
		e.Target = h.text()
	}
	if e.Version = 1; flags&entryFirstVersion == 0 {
		e.Version = h.uvarint()
	}
	if h.damaged {
		return settings.AuditEntry{}, errHead
	}
	err = eachField([]byte(h.src), h.src, func(f field) error {
		if f.num == entryDetail {
			e.Detail = f.text()
		}
		return nil
	})
	return e, err
}

type entryReader struct{ reader[string] }

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

func (h *entryReader) actor() string {
	n := h.byte()
	if n != tokenNumber {
		return h.numbered(actorNumbers, n)
	}
	var id [tokenBytes]byte
	text := [len(tokenPrefix) + 2*tokenBytes]byte{}
	copy(id[:], h.bytes(tokenBytes))
	hex.Encode(text[copy(text[:], tokenPrefix):], id[:])
	return string(text[:])
}

// numbered returns the text with that number.
func (h *entryReader) numbered(numbers []string, number byte) string {
	switch i := int(number) - 1; {
	case number == noNumber:
		return h.text()
	case i < len(numbers):
		return numbers[i]
	}
	h.fail()
	return ""
}

// address returns the address of an entry with these flags.
func (h *entryReader) address(flags byte) string {
	switch {
	case flags&entryAddrIs4 != 0:
		var b [4]byte
		copy(b[:], h.bytes(uint64(len(b))))
		return netip.AddrFrom4(b).String()
	case flags&entryAddrIs16 != 0:
		var b [16]byte
		copy(b[:], h.bytes(uint64(len(b))))
		return netip.AddrFrom16(b).String()
	}
	return h.text()
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

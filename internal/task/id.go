package task

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// NewID returns a UUID of version 7 (RFC 9562, section 5.7): the first 48 bits
// are now in milliseconds, so identifiers sort by creation and stay together
// on disk; 74 bits are random.
func NewID(now Millis) string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand crashes the program instead
	for i := range 6 {
		b[i] = byte(uint64(now) >> (40 - 8*i))
	}
	return formatUUID(b, 7)
}

// DeriveName returns the name of a task that is created with an Idempotency-Key
// and without a name. The name is a UUID of version 8 from the digest of
// namespace and key, so every node derives the same name for a repeat. It is not
// the task's identifier, because the key can be used again after the record was
// removed, or by another installation.
func DeriveName(namespace, key string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + key))
	return formatUUID([16]byte(sum[:16]), 8)
}

// deriveID returns the identifier of a task that another record, the maker,
// makes. It is a UUID of version 8, from a digest of the kind, the maker's
// identifier and creation time, and the purpose.
//
// The identifier is unique because NewID never repeats a maker's identifier in
// any installation. A maker that was restored from a backup, or reverted by a
// failover, makes the same identifier again, so receivers can recognise requests
// that they have already handled.
func deriveID(kind string, maker *Task, purpose string) string {
	created := strconv.FormatInt(int64(maker.CreatedAt), 10)
	sum := sha256.Sum256([]byte(kind + "\x00" + maker.ID + "\x00" + created + "\x00" + purpose))
	return formatUUID([16]byte(sum[:16]), 8)
}

// Digest returns the stored digest of an Idempotency-Key or of its request,
// which is enough to recognise a repeat, and reveals nothing of the content.
func Digest(parts ...[]byte) string {
	var room [512]byte
	b := room[:0]
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p))) // lengths keep ("ab","c") and ("a","bc") apart
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return string(sum[:16])
}

// formatUUID sets version and variant and writes b in the 8-4-4-4-12 form.
func formatUUID(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	var s [UUIDText]byte
	PutUUID(&s, b)
	return string(s[:])
}

// UUIDText is the length of a UUID as text.
const UUIDText = 36

// PutUUID writes id into s in the 8-4-4-4-12 form.
func PutUUID(s *[UUIDText]byte, id [16]byte) {
	hex.Encode(s[0:8], id[0:4])
	hex.Encode(s[9:13], id[4:6])
	hex.Encode(s[14:18], id[6:8])
	hex.Encode(s[19:23], id[8:10])
	hex.Encode(s[24:36], id[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
}

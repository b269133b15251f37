package codec

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/foliot/foliot/internal/task"
)

// parseUUID returns the bytes of s, and false unless task.PutUUID writes s for
// them.
func parseUUID[T string | []byte](s T) (id [16]byte, ok bool) {
	var text [task.UUIDText]byte
	var digits [2 * len(id)]byte
	if copy(text[:], s); len(s) != len(text) {
		return id, false
	}
	copy(digits[:], text[:8])
	copy(digits[8:], text[9:13])
	copy(digits[12:], text[14:18])
	copy(digits[16:], text[19:23])
	copy(digits[20:], text[24:])
	if _, err := hex.Decode(id[:], digits[:]); err != nil {
		return [16]byte{}, false
	}
	given := text
	task.PutUUID(&text, id)
	return id, text == given
}

// timeOf returns the first 48 bits of id: the time of a UUID of version 7.
func timeOf(id [16]byte) task.Millis { return task.Millis(binary.BigEndian.Uint64(id[:]) >> 16) }

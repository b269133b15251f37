package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// A cursor is opaque to clients: a format byte, then the name after which the next
// page begins. In a list by ends, it is the ended place.
const (
	nameCursor  = "1"
	endedCursor = "2"
)

func cursor(format, after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(format + after))
}

func parseCursor(format, c string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	after, ok := strings.CutPrefix(string(b), format)
	name := after
	if format == endedCursor {
		name = after[min(task.EndedPlaceTime, len(after)):]
	}
	if err == nil && ok && name != allSchedules {
		err = task.ValidateRecordName("", name)
	}
	if err != nil || !ok {
		return "", badCursor()
	}
	return after, nil
}

// allSchedules sorts after the record of every schedule, and before every task
// with a name that begins with a letter.
const allSchedules = "@~"

// pastSchedules returns the name after which a listing of tasks continues. It
// skips the records of schedules, because they are stored among the tasks and can
// be numerous.
func pastSchedules(next string) string {
	if strings.HasPrefix(next, "@") {
		return allSchedules
	}
	return next
}

func badCursor() error {
	return refuse("bad_cursor", "cursor", "invalid cursor: send a next_cursor unchanged; a cursor of the audit log is valid until the server restarts")
}

// sealer makes cursors of the audit log. The entries of all namespaces share
// one sequence of numbers. A readable number would show a namespace how active
// other namespaces are, so it is encrypted with a random key that is never
// stored.
type sealer struct{ block cipher.Block }

func newSealer() sealer {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("api: " + err.Error()) // impossible: the key has 16 bytes
	}
	return sealer{block}
}

// mark returns the second half of the only block of a cursor, which proves that
// this server made the cursor for this namespace.
func mark(namespace string) []byte {
	sum := sha256.Sum256([]byte(namespace))
	return sum[:8]
}

// seal returns the cursor for a number, or "" for 0.
func (s sealer) seal(namespace string, n uint64) string {
	if n == 0 {
		return ""
	}
	block := binary.BigEndian.AppendUint64(make([]byte, 0, aes.BlockSize), n)
	block = append(block, mark(namespace)...)
	s.block.Encrypt(block, block)
	return base64.RawURLEncoding.EncodeToString(block)
}

// open is the inverse of seal.
func (s sealer) open(namespace, cursor string) (uint64, error) {
	block, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(block) != aes.BlockSize {
		return 0, badCursor()
	}
	s.block.Decrypt(block, block)
	if string(block[8:]) != string(mark(namespace)) {
		return 0, badCursor()
	}
	return binary.BigEndian.Uint64(block), nil
}

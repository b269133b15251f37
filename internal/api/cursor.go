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

// A cursor of names is opaque to clients: a format byte and the name to go on after.
const cursorFormat = "1"

func cursor(after string) string {
	if after == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(cursorFormat + after))
}

func parseCursor(c string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(c)
	after, ok := strings.CutPrefix(string(b), cursorFormat)
	if err == nil && ok && after != allSchedules {
		err = task.ValidateRecordName("", after)
	}
	if err != nil || !ok {
		return "", badCursor()
	}
	return after, nil
}

// allSchedules comes after the name of every schedule's record, and before every task's
// that begins with a letter.
const allSchedules = "@~"

// pastSchedules returns the name to go on after in a listing of tasks whose page ended
// there. Those of schedules stand in between, and may be many: none of them is looked at twice.
func pastSchedules(next string) string {
	if strings.HasPrefix(next, "@") {
		return allSchedules
	}
	return next
}

func badCursor() error {
	return refuse("bad_cursor", "cursor", "a cursor is a page's next_cursor, unchanged; one of the audit log is good until the server restarts")
}

// sealer makes cursors of the audit log. Its entries are numbered over all
// namespaces, so a number that could be read would tell one of them how much
// the others do: it is enciphered, with a key that nobody keeps.
type sealer struct{ block cipher.Block }

func newSealer() sealer {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("api: " + err.Error()) // 16 bytes are a key
	}
	return sealer{block}
}

// mark proves, in the second half of a cursor's only block, that it is one of
// ours, and of that namespace.
func mark(namespace string) []byte {
	sum := sha256.Sum256([]byte(namespace))
	return sum[:8]
}

// seal returns the cursor for a number, "" for 0.
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

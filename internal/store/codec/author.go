package codec

import (
	"encoding/hex"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/foliot/foliot/internal/task"
)

// actions are the values of Task.ChangedAction. New ones are added at the end,
// because a record has the index plus 1 in place of the text.
var actions = []string{
	"task.patch", "task.touch", "task.run", "task.retry", "task.cancel", "task.purge",
	"schedule.put", "schedule.pause", "schedule.resume", "schedule.delete",
}

// appendAuthors appends the creator and the last change of t, in no bytes if no
// token created t and it was not changed.
func appendAuthors(dst []byte, t *task.Task) []byte {
	dst = appendToken(dst, fieldCreatedBy, t.CreatedBy)
	dst = appendToken(dst, fieldChangedBy, t.ChangedBy)
	dst = appendInt(dst, fieldChangedAt, int64(t.ChangedAt))
	if i := slices.Index(actions, t.ChangedAction); i >= 0 {
		return appendUint(dst, fieldChangedAction, uint64(i+1))
	}
	return appendString(dst, fieldChangedAction, t.ChangedAction)
}

func setAuthors(t *task.Task, f field) {
	switch f.num {
	case fieldCreatedBy:
		t.CreatedBy = f.token()
	case fieldChangedBy:
		t.ChangedBy = f.token()
	case fieldChangedAt:
		t.ChangedAt = f.millis()
	case fieldChangedAction:
		t.ChangedAction = f.text()
		if n := f.number; n > 0 && n <= uint64(len(actions)) {
			t.ChangedAction = actions[n-1]
		}
	}
}

// tokenBytes is the length of a token's id, which has twice as many digits.
const tokenBytes = 8

// appendToken appends the id of a token: its bytes after a zero byte, or any other
// id as it is.
func appendToken(dst []byte, num protowire.Number, id string) []byte {
	var raw [1 + tokenBytes]byte
	var text [2 * tokenBytes]byte
	if len(id) == len(text) {
		copy(text[:], id)
		_, err := hex.Decode(raw[1:], text[:])
		hex.Encode(text[:], raw[1:]) // in lower case
		if err == nil && string(text[:]) == id {
			return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), raw[:])
		}
	}
	return appendString(dst, num, id)
}

// token is the inverse of appendToken.
func (f field) token() string {
	if len(f.bytes) == 1+tokenBytes && f.bytes[0] == 0 {
		return hex.EncodeToString(f.bytes[1:])
	}
	return f.text()
}

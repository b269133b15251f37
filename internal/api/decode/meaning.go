package decode

import (
	"bytes"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// Meaning returns bytes that two JSON documents share if they differ only in white
// space, escapes and the order of members. Numbers must be written the same way,
// and other data is returned unchanged.
func Meaning(data []byte) []byte {
	var m []byte
	if err := Document(data, func(r *Reader) (err error) { m, err = r.meaning(); return err }); err != nil {
		return data
	}
	return m
}

func (r *Reader) meaning() ([]byte, error) {
	var parts [][]byte
	first := r.Next()
	switch first {
	case '{':
		err := r.Object(func(key []byte) error {
			value, err := r.meaning()
			parts = append(parts, []byte(task.Digest(key, value)))
			return err
		})
		slices.SortFunc(parts, bytes.Compare)
		return sum("{", parts), err
	case '[':
		err := r.Array(func(int) error {
			value, err := r.meaning()
			parts = append(parts, value)
			return err
		})
		return sum("[", parts), err
	case '"':
		text, err := r.Text()
		return []byte(`"` + text), err
	}
	return r.Raw(len(r.data))
}

func sum(kind string, parts [][]byte) []byte { return []byte(kind + task.Digest(parts...)) }

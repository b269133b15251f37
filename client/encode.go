package client

import (
	"bytes"

	"github.com/foliot/foliot/internal/wire"
)

// marshal returns v as JSON, in which a body stays byte for byte and characters
// that are special in HTML stay unescaped.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	if err := wire.Encode(&buf, v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

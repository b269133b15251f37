package receiver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// callback is one callback as a fast receiver has read it.
type callback struct {
	name, id, stamp, signature string
	at                         time.Time // when its first line was read
	body                       []byte
}

var errInvalidRequest = errors.New("a fast receiver cannot read this request")

// readCallback reads one request. It understands only requests of the server:
// HTTP/1.1, canonical header names, a body of a known length.
func readCallback(r *bufio.Reader) (c callback, err error) {
	if _, err = r.ReadSlice('\n'); err != nil {
		return c, err
	}
	c.at = time.Now()
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return c, errInvalidRequest
		}
		if err != nil {
			return c, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "Foliot-Task":
			c.name = string(value)
		case "Webhook-Id":
			c.id = string(value)
		case "Webhook-Timestamp":
			c.stamp = string(value)
		case "Webhook-Signature":
			c.signature = string(value)
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > 1<<20 {
				return c, errInvalidRequest
			}
		case "Transfer-Encoding":
			return c, errInvalidRequest
		}
	}
	if length > 0 {
		c.body = make([]byte, length)
		_, err = io.ReadFull(r, c.body)
	}
	return c, err
}

// signedBy reports whether one of the secrets signed the callback. It uses the
// official library, and no code of this repository.
func (c callback) signedBy(secrets []*webhooks.Webhook) bool {
	h := http.Header{}
	h.Set(webhooks.HeaderWebhookID, c.id)
	h.Set(webhooks.HeaderWebhookTimestamp, c.stamp)
	h.Set(webhooks.HeaderWebhookSignature, c.signature)
	for _, w := range secrets {
		if w.Verify(c.body, h) == nil {
			return true
		}
	}
	return false
}

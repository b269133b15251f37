package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/foliot/foliot/test/battery/verify"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// sunk is one callback as a sink has read it.
type sunk struct {
	name, id, stamp, signature string
	at                         time.Time // when its first line was read
	body                       []byte
}

var errNoCallback = errors.New("this is no request that a sink reads")

// readCallback reads one request. It understands what the server sends:
// HTTP/1.1, canonical header names, a body of a known length.
func readCallback(r *bufio.Reader) (c sunk, err error) {
	if _, err = r.ReadSlice('\n'); err != nil {
		return c, err
	}
	c.at = time.Now()
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return c, errNoCallback
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
				return c, errNoCallback
			}
		case "Transfer-Encoding":
			return c, errNoCallback
		}
	}
	if length > 0 {
		c.body = make([]byte, length)
		_, err = io.ReadFull(r, c.body)
	}
	return c, err
}

// signedBy reports whether one of the secrets signed the callback: by the
// official library's word, not by ours.
func (c sunk) signedBy(secrets []*webhooks.Webhook) bool {
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

// appendLine appends the line of the log: name, id, nanoseconds since 1970.
func (c sunk) appendLine(b []byte) []byte {
	b = append(append(b, c.name...), ' ')
	b = append(append(b, c.id...), ' ')
	return append(strconv.AppendInt(b, c.at.UnixNano(), 10), '\n')
}

// readSunk yields the callbacks of a sink's log, without their bodies and
// signatures, in the order in which they were logged. The name and id of one
// are valid until the next.
func readSunk(path string) iter.Seq2[verify.Delivery, error] {
	return func(yield func(verify.Delivery, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(verify.Delivery{}, fmt.Errorf("read a sink's log: %w", err))
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			l, err := parseSunk(lines.Bytes())
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(verify.Delivery{}, fmt.Errorf("read a sink's log: %w", err))
		}
	}
}

func parseSunk(line []byte) (verify.Delivery, error) {
	fields := bytes.Split(line, []byte{' '})
	if len(fields) != 3 {
		return verify.Delivery{}, fmt.Errorf("a sink's log holds the line %q", line)
	}
	at, err := strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil {
		return verify.Delivery{}, fmt.Errorf("a sink's log holds the line %q: %w", line, err)
	}
	return verify.Delivery{Name: fields[0], ID: fields[1], At: at}, nil
}

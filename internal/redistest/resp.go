package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readValue reads one value of the protocol, with all nested values, and
// returns its bytes. It parses only as much as a proxy needs, so it accepts
// some bytes that are no valid value.
func readValue(r *bufio.Reader) ([]byte, error) { return appendValue(nil, r) }

func appendValue(to []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return to, err
	}
	to = append(to, line...)
	nested, size, err := announces(line)
	if err != nil {
		return to, err
	}
	if size >= 0 {
		b := bytes.NewBuffer(to)
		_, err := io.CopyN(b, r, int64(size)+2) // memory grows as the text arrives
		return b.Bytes(), err
	}
	for range nested {
		if to, err = appendValue(to, r); err != nil {
			return to, err
		}
	}
	return to, nil
}

// announces returns the number of values or of bytes of text that follow a
// line. size is below 0 if no text follows.
func announces(line []byte) (nested, size int, err error) {
	count := func() (n int) {
		if n, err = strconv.Atoi(string(bytes.TrimRight(line[1:], "\r\n"))); err != nil {
			err = fmt.Errorf("length of a value: %w", err)
		} else if n > 512<<20 {
			err = fmt.Errorf("a value of %d bytes: the server accepts at most 512 MB", n)
		}
		return max(n, 0) // -1: null, which has no content
	}
	switch line[0] {
	case '$', '=', '!':
		if bytes.HasPrefix(line[1:], []byte("-1")) {
			return 0, -1, nil
		}
		return 0, count(), err
	case '*', '~', '>':
		return count(), -1, err
	case '%':
		return 2 * count(), -1, err
	case '|': // attributes, followed by the value they belong to
		return 2*count() + 1, -1, err
	}
	return 0, -1, nil
}

// words returns the words of a command, which is an array of texts, and nil for
// another value.
func words(value []byte) []string {
	r := bufio.NewReader(bytes.NewReader(value))
	line, err := r.ReadBytes('\n')
	if err != nil || line[0] != '*' {
		return nil
	}
	var all []string
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return all
		}
		_, size, err := announces(line)
		if err != nil || size < 0 {
			return nil
		}
		var text strings.Builder
		if _, err := io.CopyN(&text, r, int64(size)+2); err != nil {
			return nil
		}
		all = append(all, text.String()[:size])
	}
}

// isMessage reports whether a value is a message of a channel, in RESP3.
func isMessage(value []byte) bool {
	if value[0] != '>' {
		return false
	}
	_, rest, _ := bytes.Cut(value, []byte("\r\n"))
	for _, kind := range []string{"$7\r\nmessage\r\n", "$8\r\nsmessage\r\n", "$8\r\npmessage\r\n"} {
		if bytes.HasPrefix(rest, []byte(kind)) {
			return true
		}
	}
	return false
}

package receiver

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"os"
	"strconv"

	"github.com/foliot/foliot/test/battery/verify"
)

// appendLine appends the line of the log: name, id, nanoseconds since 1970.
func (c callback) appendLine(b []byte) []byte {
	b = append(append(b, c.name...), ' ')
	b = append(append(b, c.id...), ' ')
	return append(strconv.AppendInt(b, c.at.UnixNano(), 10), '\n')
}

// ReadDeliveries yields the callbacks in the log of a fast receiver, without
// their bodies and signatures, in the order of the log. The name and the id of
// a callback are valid until the next one.
func ReadDeliveries(path string) iter.Seq2[verify.Delivery, error] {
	return func(yield func(verify.Delivery, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(verify.Delivery{}, fmt.Errorf("read a fast receiver's log: %w", err))
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			l, err := parseDelivery(lines.Bytes())
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(verify.Delivery{}, fmt.Errorf("read a fast receiver's log: %w", err))
		}
	}
}

func parseDelivery(line []byte) (verify.Delivery, error) {
	fields := bytes.Split(line, []byte{' '})
	if len(fields) != 3 {
		return verify.Delivery{}, fmt.Errorf("a fast receiver's log holds the line %q", line)
	}
	at, err := strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil {
		return verify.Delivery{}, fmt.Errorf("a fast receiver's log holds the line %q: %w", line, err)
	}
	return verify.Delivery{Name: fields[0], ID: fields[1], At: at}, nil
}

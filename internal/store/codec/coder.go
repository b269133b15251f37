package codec

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
)

// coder writes the fields of a message, or reads them. Both need the same calls,
// one for each field, in ascending order of their numbers: a call writes a value
// that is not zero, or sets it from the field that is next if that has its number.
// Fields with other numbers are skipped, so a new field that other code may ignore
// needs no new format.
type coder[T string | []byte] struct {
	dst []byte // the fields that were written

	reads     bool
	reader[T]        // the fields after the next one
	num       int    // of the next field; ended if there is none
	number    uint64 // its value, or zero
	value     T      // its value, or empty
}

const (
	maxNum  = 1<<29 - 1
	bodyNum = maxNum + 1 // stands for fieldBody, which is the last field
	ended   = math.MaxInt32
)

// The wire types of Protocol Buffers.
const (
	varintType = 0
	eightBytes = 1
	bytesType  = 2
	fourBytes  = 5
)

func read[T string | []byte](fields reader[T]) coder[T] {
	c := coder[T]{reads: true, reader: fields}
	c.advance()
	return c
}

// advance splits the next field off. A damaged one is the last.
func (c *coder[T]) advance() {
	var none T
	c.number, c.value = 0, none
	if len(c.src) == 0 {
		c.num = ended
		return
	}
	tag := c.uvarint()
	switch tag & 7 {
	case varintType:
		c.number = c.uvarint()
	case bytesType:
		c.value = c.text()
	case eightBytes:
		c.bytes(8)
	case fourBytes:
		c.bytes(4)
	default:
		c.fail()
	}
	if tag>>3 == 0 || tag>>3 > maxNum {
		c.fail()
	}
	switch c.num = int(tag >> 3); {
	case c.damaged:
		c.num = ended
	case c.num == fieldBody:
		c.num = bodyNum
	}
}

// at reports whether the next field has the number num, after those with smaller
// numbers were skipped.
func (c *coder[T]) at(num int) bool {
	for c.num < num {
		c.advance()
	}
	return c.num == num
}

func (c *coder[T]) tag(num, wire int) { c.dst = binary.AppendUvarint(c.dst, uint64(num<<3|wire)) }

// Most fields of most records are left out, so unsigned, signed and text check that
// first, and are short enough to be inlined. num is 0 in a coder that writes.

func unsigned[N ~uint8 | ~uint64 | ~int, T string | []byte](c *coder[T], num int, v *N) {
	if c.num <= num && (c.reads || *v != 0) {
		codeUnsigned(c, num, v)
	}
}

func codeUnsigned[N ~uint8 | ~uint64 | ~int, T string | []byte](c *coder[T], num int, v *N) {
	if !c.reads {
		c.tag(num, varintType)
		c.dst = binary.AppendUvarint(c.dst, uint64(*v))
		return
	}
	for ; c.at(num); c.advance() {
		*v = N(c.number)
	}
}

// signed codes a number that can be negative: a time, a duration.
func signed[N ~int | ~int64, T string | []byte](c *coder[T], num int, v *N) {
	if c.num <= num && (c.reads || *v != 0) {
		codeSigned(c, num, v)
	}
}

func codeSigned[N ~int | ~int64, T string | []byte](c *coder[T], num int, v *N) {
	zigzag := uint64(*v)<<1 ^ uint64(int64(*v)>>63)
	if codeUnsigned(c, num, &zigzag); c.reads {
		*v = N(int64(zigzag>>1) ^ -int64(zigzag&1))
	}
}

func (c *coder[T]) bool(num int, v *bool) {
	if c.num <= num && (c.reads || *v) {
		var n uint8
		if *v {
			n = 1
		}
		if codeUnsigned(c, num, &n); c.reads {
			*v = n != 0
		}
	}
}

func text[S ~string | ~[]byte, T string | []byte](c *coder[T], num int, v *S) {
	if c.num <= num && (c.reads || len(*v) > 0) {
		codeText(c, num, v)
	}
}

func codeText[S ~string | ~[]byte, T string | []byte](c *coder[T], num int, v *S) {
	if !c.reads {
		c.tag(num, bytesType)
		c.dst = append(binary.AppendUvarint(c.dst, uint64(len(*v))), *v...)
		return
	}
	for ; c.at(num); c.advance() {
		*v = S(c.value)
	}
}

// lasting codes a part of a lane. Lanes outlive their tasks, so the text must not
// keep the whole record in memory.
func (c *coder[T]) lasting(num int, v *string) {
	if !c.reads {
		text(c, num, v)
		return
	}
	for ; c.at(num); c.advance() {
		*v = strings.Clone(string(c.value))
	}
}

func (c *coder[T]) put(num int, use func()) {
	c.tag(num, bytesType)
	start := len(c.dst)
	use()
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(c.dst)-start))
	c.dst = slices.Insert(c.dst, start, length[:n]...)
}

// get reads the message that is the next field. use reads its fields.
func (c *coder[T]) get(use func()) {
	outer := *c
	*c = read(reader[T]{src: c.value})
	use()
	damaged := c.isDamaged()
	if *c = outer; damaged {
		c.fail()
	}
	c.advance()
}

// isDamaged skips the fields that are left, and reports whether one is damaged.
func (c *coder[T]) isDamaged() bool {
	c.at(ended)
	return c.damaged
}

// optional codes a message that can be absent. use codes its fields.
func optional[M any, T string | []byte](c *coder[T], num int, m **M, use func()) {
	if !c.reads && *m != nil {
		c.put(num, use)
	}
	for c.reads && c.at(num) {
		*m = new(M)
		c.get(use)
	}
}

// list codes a repeated message. use codes the fields of element i.
func list[M any, T string | []byte](c *coder[T], num int, all *[]M, use func(i int)) {
	if !c.reads {
		for i := range *all {
			c.put(num, func() { use(i) })
		}
		return
	}
	for c.at(num) {
		var none M
		*all = append(*all, none)
		c.get(func() { use(len(*all) - 1) })
	}
}

// pair codes the fields of a pair: a label, a header, an idempotency mark.
func (c *coder[T]) pair(first, second *string) {
	text(c, 1, first)
	text(c, 2, second)
}

// pairs codes a map, in no particular order, because tests compare decoded records,
// never bytes.
func (c *coder[T]) pairs(num int, m *map[string]string) {
	for k, v := range *m {
		if !c.reads {
			c.put(num, func() { c.pair(&k, &v) })
		}
	}
	for c.reads && c.at(num) {
		var k, v string
		c.get(func() { c.pair(&k, &v) })
		if *m == nil {
			*m = make(map[string]string)
		}
		(*m)[k] = v
	}
}

// tokenBytes is the length of a token's id, which has twice as many digits.
const tokenBytes = 8

// token codes the id of a token: its bytes after a zero byte, or any other id as it
// is.
func (c *coder[T]) token(num int, id *string) {
	if c.reads {
		if text(c, num, id); len(*id) == 1+tokenBytes && (*id)[0] == 0 {
			*id = hex.EncodeToString([]byte((*id)[1:]))
		}
		return
	}
	var raw [1 + tokenBytes]byte
	var digits [2 * tokenBytes]byte
	if len(*id) == len(digits) {
		copy(digits[:], *id)
		_, err := hex.Decode(raw[1:], digits[:])
		hex.Encode(digits[:], raw[1:]) // in lower case
		if err == nil && string(digits[:]) == *id {
			all := raw[:]
			text(c, num, &all)
			return
		}
	}
	text(c, num, id)
}

// action codes the action of a change: its index in actions plus 1, or any other
// one as it is.
func (c *coder[T]) action(num int, a *string) {
	if !c.reads {
		known := uint64(slices.Index(actions, *a) + 1)
		if unsigned(c, num, &known); known == 0 {
			text(c, num, a)
		}
		return
	}
	for ; c.at(num); c.advance() {
		if *a = string(c.value); c.number > 0 && c.number <= uint64(len(actions)) {
			*a = actions[c.number-1]
		}
	}
}

// actions are the values of Task.ChangedAction. New ones are added at the end,
// because a record has the index plus 1 in place of the text.
var actions = []string{
	"task.patch", "task.touch", "task.run", "task.retry", "task.cancel", "task.purge",
	"schedule.put", "schedule.pause", "schedule.resume", "schedule.delete",
}

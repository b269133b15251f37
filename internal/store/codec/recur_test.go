package codec

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

// TestEveryFieldOfAScheduleIsKept fills each field with something of its own: one that
// the codec forgets comes back as zero.
func TestEveryFieldOfAScheduleIsKept(t *testing.T) {
	r := &task.Recurrence{}
	fillValue(reflect.ValueOf(r).Elem(), rand.New(rand.NewPCG(1, 2)))
	want := sample()
	want.Recur, want.Awaited = r, true
	got, err := DecodeRecord(want.Key(), AppendRecord(nil, want))
	if d := cmp.Diff(want.Recur, got.Recur); err != nil || d != "" || !got.Awaited {
		t.Errorf("%v, awaited %v\n%s", err, got.Awaited, d)
	}
}

// fillValue sets all of v to something that is not zero.
func fillValue(v reflect.Value, g *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), g)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fillValue(v.Index(i), g)
		}
	case reflect.String:
		v.SetString(string(rune('a' + g.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1 + g.Uint64N(2))
	default:
		v.SetInt(1 + g.Int64N(1<<40))
	}
}

// TestWhoKnowsNoSchedulesRefusesThem: an older version would take a schedule for a task, and
// send it.
func TestWhoKnowsNoSchedulesRefusesThem(t *testing.T) {
	r := sample()
	if b := AppendRecord(nil, r); b[0] != Format {
		t.Errorf("a task has the format %d", b[0])
	}
	r.Recur = &task.Recurrence{}
	if b := AppendRecord(nil, r); b[0] <= Format {
		t.Errorf("a schedule has the format %d", b[0])
	}
}

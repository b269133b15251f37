package contender

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

type library struct{}

func (library) List(string)                              {}
func (library) Move(string, time.Time)                   {}
func (library) Update(string, *struct{ At []time.Time }) {}
func (library) Wait(time.Time)                           {}
func (library) Tag(string, struct{ At string })          {}

func TestMethodsThatCouldMoveATaskAreFound(t *testing.T) {
	got := timed(reflect.TypeFor[library](), reflect.TypeFor[string]())
	if !slices.Equal(got, []string{"Move", "Update"}) {
		t.Errorf("got %v", got)
	}
}

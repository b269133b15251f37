package fields_test

import (
	"errors"
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/wire/fields"
)

type word string

type shown struct {
	Inner
	Name   string   `json:"name"`
	Many   []Inner  `json:"many"`
	Few    []string `json:"few,omitempty"`
	One    *Inner   `json:"one,omitempty"`
	Size   string   `json:"size,omitempty"`
	WaitMS int      `json:"wait_ms"`
	Only   string   `json:"only,omitempty"`
	Other  string   `json:"other,omitempty"`
}

// Inner is exported because it is embedded.
type Inner struct {
	Text string `json:"text,omitempty"`
}

type stored struct {
	Name   word
	Text   *string
	Many   []struct{ Text word }
	Few    []string
	One    struct{ Text string }
	Size   int
	Wait   int
	Other  bool
	hidden int
}

func plan(parse func(int) (string, error)) *fields.Plan {
	return fields.New(reflect.TypeFor[shown](), reflect.TypeFor[stored](), fields.Rules(fields.Parse(parse)))
}

func TestFieldsOfTheSameNameAreCopied(t *testing.T) {
	p := plan(func(n int) (string, error) { return strconv.Itoa(n), nil })
	if diff := cmp.Diff([]string{"Only", "Other"}, p.Missing); diff != "" {
		t.Error(diff)
	}
	text := "t"
	for from, want := range map[*stored]shown{
		{}: {Many: []Inner{}, Size: "0"},
		{Name: "n", Text: &text, Many: []struct{ Text word }{{"a"}, {"b"}}, Few: []string{"c"}, One: struct{ Text string }{"d"}, Size: 7, Wait: 3, hidden: 1}: {
			Inner: Inner{"t"}, Name: "n", Many: []Inner{{"a"}, {"b"}}, Few: []string{"c"}, One: &Inner{"d"}, Size: "7", WaitMS: 3,
		},
	} {
		var got shown
		fatal.If(t, p.Copy(reflect.ValueOf(&got).Elem(), reflect.ValueOf(from).Elem()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnErrorOfAConversionIsReturned(t *testing.T) {
	broken := errors.New("broken")
	p := plan(func(int) (string, error) { return "", broken })
	var got shown
	if err := p.Copy(reflect.ValueOf(&got).Elem(), reflect.ValueOf(stored{})); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestFieldsHaveTheOrderOfTheirJSON(t *testing.T) {
	var names []string
	for _, f := range fields.Of(reflect.TypeFor[shown]()) {
		names = append(names, f.JSON)
	}
	if diff := cmp.Diff([]string{"text", "name", "many", "few", "one", "size", "wait_ms", "only", "other"}, names); diff != "" {
		t.Error(diff)
	}
}

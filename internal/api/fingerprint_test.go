package api

import (
	"reflect"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

func TestEachFieldOfATaskChangesTheFingerprintOfItsRequest(t *testing.T) {
	means := func(s *task.Spec) string { return idempotency("key", s).Fingerprint }
	seen := map[string]string{means(&task.Spec{}): "none"}
	without := map[string]bool{"Namespace": true, "ID": true, "BodySize": true} // derived, or of the caller
	var spec task.Spec
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		if without[name] {
			return
		}
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), v.Type().Field(i).Name)
			}
			return
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Uint8:
			v.SetUint(2)
		case reflect.Slice:
			v.SetBytes([]byte("x"))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]string{"x": "y"}))
		default:
			t.Fatalf("%s has the kind %v, which this test does not know", name, v.Kind())
		}
		f := means(&spec)
		if other, known := seen[f]; known {
			t.Errorf("%s leaves the fingerprint as %s does", name, other)
		}
		seen[f] = name
		v.Set(old)
	}
	walk(reflect.ValueOf(&spec).Elem(), "Spec")
}

package redisstore

import (
	"errors"
	"testing"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// A create hopes that its name is free. What it would have filled others may have where it is not.
func TestAQuotaIsNotFilledByACreateThatIsRefused(t *testing.T) {
	s := openAt(t, redistest.New(t).Addr)
	defer func() { _ = s.Close() }()
	if _, err := s.Configure(t.Context(), began, []task.Edit{task.PutNamespace{Settings: task.NamespaceSettings{Name: task.DefaultNamespace, MaxPending: 2}}}); err != nil {
		t.Fatal(err)
	}
	apply := func(changes ...task.Change) []task.Reply {
		replies, err := s.Apply(t.Context(), began, changes)
		if err != nil {
			t.Fatal(err)
		}
		return replies
	}
	if r := apply(task.Create{Spec: specOf(t, "a", began)}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	r := apply(task.Create{Spec: specOf(t, "a", began)}, task.Replace{Spec: specOf(t, "b", began)}, task.Replace{Spec: specOf(t, "c", began)})
	var quota *task.QuotaError
	if !errors.Is(r[0].Err, task.ErrExists) || r[1].Err != nil || !errors.As(r[2].Err, &quota) {
		t.Errorf("a name that is taken: %v; the second of two: %v; the third: %v", r[0].Err, r[1].Err, r[2].Err)
	}
}

package settings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/internal/fatal"
)

func TestASettingIsReadBackAsItWasWritten(t *testing.T) {
	ms, n := 5*time.Second, 3
	for _, r := range []Setting{
		&QueueSettings{
			Namespace: "n", Name: "q", Version: 3, CreatedAt: t0, Rate: 0.5, Burst: 2, Concurrency: 4, PerDestination: 5,
			Retry: RetryDefaults{MaxAttempts: &n, MinBackoff: &ms, MaxBackoff: &ms, MaxAge: &ms}, Timeout: ms, ExpireAfter: ms,
			OnDead: "https://a.example/", KeepFinished: ms, KeepDead: ms, Paused: true, PausedUntil: t0, PurgeBefore: t0,
		},
		&NamespaceSettings{Name: "n", Version: 1, CreatedAt: t0, MaxPending: 5, MaxBytes: 6, CreateRate: 7.5, CreateBurst: 8, ChangeRate: 9, ReadRate: 10, EditRate: 11, Suspended: true},
		&AccessToken{ID: "i", Namespace: "*", Scope: ScopeAdmin, Label: "l", Hash: "h", CreatedAt: t0, ExpiresAt: 2, RevokedAt: 3, LastUsedAt: 4},
		&SigningSecret{ID: "i", Namespace: "n", Secret: "whsec_x", CreatedAt: t0, ExpiresAt: 5},
		&SigningSecret{ID: "i", Namespace: "n", Queue: "q", Secret: "whsec_x", CreatedAt: t0, ExpiresAt: 5, BesideUntil: 6},
	} {
		raw, err := EncodeSetting(r)
		fatal.If(t, err)
		got, err := DecodeSetting(r.Key().Kind, raw)
		if err != nil || !cmp.Equal(r, got) {
			t.Errorf("%s: %v\n%s", raw, err, cmp.Diff(r, got))
		}
	}
	if r, err := DecodeSetting(99, []byte("{}")); err == nil {
		t.Errorf("kind 99 is read as %v", r)
	}
	if r, err := DecodeSetting(QueueKind, []byte("{")); err == nil {
		t.Errorf("half a record is read as %v", r)
	}
}

func TestSettingsOfOneMomentNeverChange(t *testing.T) {
	before := edit(t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", Rate: 1}})
	after := edit(t, t0, before, PauseQueue{Namespace: "default", Name: "q", Paused: true})
	if before.Queue("default", "q").Paused || !after.Queue("default", "q").Paused {
		t.Errorf("before %+v, after %+v", before.Queue("default", "q"), after.Queue("default", "q"))
	}
	gone := edit(t, t0, after, DropQueue{Namespace: "default", Name: "q"})
	if after.Queue("default", "q").Version != 2 || gone.Queue("default", "q").Version != 0 || unset.Version != 0 {
		t.Error("a drop reached what others read")
	}
}

func FuzzDecodeSettingNeverPanics(f *testing.F) {
	f.Add(uint8(QueueKind), []byte(`{"name":"q","rate":1}`))
	f.Add(uint8(TokenKind), []byte(`{"id":"x","scope":2}`))
	f.Fuzz(func(t *testing.T, kind uint8, raw []byte) {
		r, err := DecodeSetting(SettingKind(kind), raw)
		if err != nil {
			return
		}
		again, err := EncodeSetting(r)
		fatal.If(t, err)
		if same, err := DecodeSetting(SettingKind(kind), again); err != nil || !cmp.Equal(r, same, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %v", again, err)
		}
	})
}

package task

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// edit carries out an edit that has to succeed.
func edit(t *testing.T, now Millis, s *Settings, e Edit) *Settings {
	t.Helper()
	changes, err := e.Apply(now, s)
	if err != nil {
		t.Fatalf("%T: %v", e, err)
	}
	return s.With(changes...)
}

// refused carries out an edit that has to fail, with an error of type E.
func refused[E error](t *testing.T, now Millis, s *Settings, e Edit) E {
	t.Helper()
	changes, err := e.Apply(now, s)
	var want E
	if !errors.As(err, &want) || changes != nil {
		t.Errorf("%+v: changes %v, error %v, want a %T", e, changes, err, want)
	}
	return want
}

func TestASettingIsReadBackAsItWasWritten(t *testing.T) {
	ms, n := 5*time.Second, 3
	for _, r := range []Setting{
		&QueueSettings{
			Namespace: "n", Name: "q", Version: 3, CreatedAt: t0, Rate: 0.5, Burst: 2, Concurrency: 4, PerDestination: 5,
			Retry: RetryDefaults{MaxAttempts: &n, MinBackoff: &ms, MaxBackoff: &ms, MaxAge: &ms}, Timeout: ms, ExpireAfter: ms,
			OnDead: "https://a.example/", KeepFinished: ms, KeepDead: ms, Paused: true, PausedUntil: t0, PurgeBefore: t0, PurgeID: "p",
		},
		&NamespaceSettings{Name: "n", Version: 1, CreatedAt: t0, MaxPending: 5, MaxBytes: 6, CreateRate: 7.5, CreateBurst: 8, ChangeRate: 9, ReadRate: 10, EditRate: 11, Suspended: true},
		&AccessToken{ID: "i", Namespace: "*", Scope: ScopeAdmin, Label: "l", Hash: "h", CreatedAt: t0, ExpiresAt: 2, RevokedAt: 3, LastUsedAt: 4},
		&SigningSecret{ID: "i", Namespace: "n", Secret: "whsec_x", CreatedAt: t0, ExpiresAt: 5},
		&SigningSecret{ID: "i", Namespace: "n", Queue: "q", Secret: "whsec_x", CreatedAt: t0, ExpiresAt: 5, BesideUntil: 6},
	} {
		raw, err := EncodeSetting(r)
		if err != nil {
			t.Fatal(err)
		}
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

func TestPausesAndPurgesOutliveANewPut(t *testing.T) {
	s := edit(t, t0, NewSettings(), PauseQueue{Namespace: "default", Name: "q", Paused: true, Until: t0 + minute})
	s = edit(t, t0+1, s, PurgeQueue{Namespace: "default", Name: "q", ID: "p"})
	s = edit(t, t0+2, s, PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", Concurrency: 3}})
	q := s.Queue("default", "q")
	if !q.Paused || q.PausedUntil != t0+minute || q.PurgeBefore != t0+1 || q.PurgeID != "p" || q.Concurrency != 3 || q.CreatedAt != t0 || q.Version != 3 {
		t.Errorf("%+v", q)
	}
	_ = refused[*BusyError](t, t0, s, DropQueue{Namespace: "default", Name: "q"})
	if !q.Held(t0 + minute) {
		t.Error("a purge under way holds the queue")
	}
	s = edit(t, t0, s, EndPurge{"default", "q", t0 + 1, "o"}) // an older one
	if s.Queue("default", "q").PurgeBefore != t0+1 {
		t.Error("the end of another purge ended this one")
	}
	s = edit(t, t0, s, EndPurge{"default", "q", t0 + 1, "p"})
	if q := s.Queue("default", "q"); q.PurgeBefore != 0 || q.PurgeID != "" || !q.Held(t0+minute-1) || q.Held(t0+minute) {
		t.Errorf("%+v: a pause ends at its time", q)
	}
	s = edit(t, t0, s, PauseQueue{Namespace: "default", Name: "q"})
	if q := s.Queue("default", "q"); q.Held(t0) || q.PausedUntil != 0 {
		t.Errorf("%+v: it was resumed", q)
	}
}

func TestAQueueIsPutInTheVersionThatWasSeen(t *testing.T) {
	put := func(c Precondition) PutQueue {
		return PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q"}, If: c}
	}
	s := NewSettings()
	if _, err := put(Precondition{IfMatch: []string{"*"}}).Apply(t0, s); !errors.Is(err, ErrPrecondition) {
		t.Errorf("no queue matches *: %v", err)
	}
	s = edit(t, t0, s, put(Precondition{IfNoneMatch: true}))
	if _, err := put(Precondition{IfNoneMatch: true}).Apply(t0, s); !errors.Is(err, ErrPrecondition) {
		t.Errorf("there is one: %v", err)
	}
	seen := s.Queue("default", "q").ETag()
	s = edit(t, t0, s, put(Precondition{IfMatch: []string{seen}}))
	if _, err := put(Precondition{IfMatch: []string{seen}}).Apply(t0, s); !errors.Is(err, ErrPrecondition) {
		t.Errorf("it was changed since: %v", err)
	}
}

func TestOnlyQueuesThatCanWorkAreTaken(t *testing.T) {
	short, long, negative := time.Microsecond, 2*time.Hour, -1
	for path, q := range map[string]QueueSettings{
		"queue":             {Name: "a b"},
		"rate":              {Name: "q", Rate: -1},
		"burst":             {Name: "q", Burst: 5},
		"concurrency":       {Name: "q", Concurrency: -1},
		"per_destination":   {Name: "q", PerDestination: MaxConcurrency + 1},
		"keep_finished":     {Name: "q", KeepFinished: -1},
		"keep_dead":         {Name: "q", KeepDead: MaxDuration + 1},
		"timeout":           {Name: "q", Timeout: long},
		"expire_after":      {Name: "q", ExpireAfter: -1},
		"on_dead":           {Name: "q", OnDead: "ftp://x"},
		"retry.min_backoff": {Name: "q", Retry: RetryDefaults{MinBackoff: &short}},
		"retry.max_backoff": {Name: "q", Retry: RetryDefaults{MinBackoff: &long}},
		"retry.max_attempts": {Name: "q", Retry: RetryDefaults{
			MaxAttempts: &negative,
		}},
	} {
		q.Namespace = "default"
		if path == "retry.max_backoff" {
			tiny := time.Second
			q.Retry.MaxBackoff = &tiny
		}
		if err := refused[*FieldError](t, t0, NewSettings(), PutQueue{Queue: q}); err != nil && err.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, rate := range []float64{1e-9, MaxRate * 2} {
		_ = refused[*FieldError](t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", Rate: rate}})
	}
	_ = refused[*MissingError](t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "other", Name: "q"}})
}

// Whoever may decide about queues must not slow down everybody's edits.
func TestANamespaceDecidesAboutABoundedNumberOfQueues(t *testing.T) {
	records := []Setting{&NamespaceSettings{Name: "n", Version: 1}, &NamespaceSettings{Name: "m", Version: 1}}
	for i := range MaxQueues {
		records = append(records, &QueueSettings{Namespace: "n", Name: fmt.Sprint("q", i), Version: 1})
	}
	full := NewSettings(records...)
	for _, e := range []Edit{
		PutQueue{Queue: QueueSettings{Namespace: "n", Name: "one-more"}},
		PauseQueue{Namespace: "n", Name: "one-more", Paused: true},
		PurgeQueue{Namespace: "n", Name: "one-more"},
	} {
		_ = refused[*BusyError](t, t0, full, e)
	}
	edit(t, t0, full, PutQueue{Queue: QueueSettings{Namespace: "n", Name: "q0", Rate: 1}})
	edit(t, t0, full, PauseQueue{Namespace: "n", Name: "q1", Paused: true})
	edit(t, t0, full, PutQueue{Queue: QueueSettings{Namespace: "m", Name: "one-more"}})
	less := edit(t, t0, full, DropQueue{Namespace: "n", Name: "q2"})
	edit(t, t0, less, PurgeQueue{Namespace: "n", Name: "one-more"})
}

func TestAQueueFillsWhatATaskLeavesOpen(t *testing.T) {
	three, wait := 3, 7*time.Second
	q := &QueueSettings{
		Namespace: "n", Name: "q", Timeout: time.Minute, ExpireAfter: time.Hour, OnDead: "https://a.example/",
		Retry: RetryDefaults{MaxAttempts: &three, MinBackoff: &wait},
	}
	want := DefaultSpec()
	want.Namespace, want.Queue = "n", "q"
	want.Timeout, want.ExpireAfter, want.OnDead = time.Minute, time.Hour, "https://a.example/"
	want.Retry.MaxAttempts, want.Retry.MinBackoff = 3, wait
	if diff := cmp.Diff(want, q.Spec()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(DefaultSpec(), NewSettings().Queue("default", "none").Spec()); diff != "" {
		t.Error(diff)
	}
	if (&QueueSettings{Rate: 2.5}).BurstOrDefault() != 3 || (&QueueSettings{Rate: 0.1}).BurstOrDefault() != 1 || (&QueueSettings{Rate: 1, Burst: 9}).BurstOrDefault() != 9 {
		t.Error("a burst is one second's worth, at least one")
	}
}

func TestRetentionIsTheQueuesOrTheStores(t *testing.T) {
	s := edit(t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", KeepDead: time.Minute}})
	if got := s.Policy(policy, "default", "q"); got != (Policy{KeepFinished: policy.KeepFinished, KeepDead: time.Minute}) {
		t.Errorf("%+v", got)
	}
	if got := s.Policy(policy, "default", "other"); got != policy {
		t.Errorf("%+v", got)
	}
}

func TestNoNamespaceIsCalledAsOperatorsAre(t *testing.T) {
	var refused *FieldError
	if err := (&NamespaceSettings{Name: "operator"}).Validate(); !errors.As(err, &refused) || refused.Path != "namespace" {
		t.Errorf("got %v", err)
	}
	if err := (&NamespaceSettings{Name: "operators"}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestQuotasRefuseOnlyWhatMakesMore(t *testing.T) {
	n := &NamespaceSettings{Name: "default", MaxPending: 2, MaxBytes: 0}
	fresh := create(t) // a body of 4 bytes
	n.MaxBytes = 2*fresh.Stored() + 2
	var full, room Counts
	full.States[Scheduled], full.Bytes = 2, 2*fresh.Stored()
	room.States[Running], room.Bytes = 1, fresh.Stored()
	cancelled := apply(t, t0, fresh, Cancel{Key: fresh.Key()})
	bigger := apply(t, t0, fresh, Patch{Key: fresh.Key(), Body: &Body{TextBody, []byte("1234567890")}})
	for _, c := range []struct {
		name   string
		have   Counts
		old, t *Task
		quota  string
	}{
		{"room for one", room, nil, fresh, ""},
		{"no room", full, nil, fresh, QuotaPending},
		{"a cancel frees", full, fresh, cancelled, ""},
		{"a finished name used again", full, cancelled, fresh, QuotaPending},
		{"a patch of the body", full, fresh, bigger, QuotaBytes},
		{"a patch that makes no more", full, bigger, fresh, ""},
	} {
		err := n.Admit(c.have, c.old, c.t)
		var quota *QuotaError
		if errors.As(err, &quota) != (c.quota != "") || quota != nil && quota.Quota != c.quota {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := (*NamespaceSettings)(nil).Admit(full, nil, fresh); err != nil {
		t.Error(err)
	}
}

func TestCountsFollowEveryStep(t *testing.T) {
	var c Counts
	made := create(t)
	runs := claim(t, made.Due, made, "x")
	done := apply(t, made.Due, made, Cancel{Key: made.Key()})
	for _, step := range [][2]*Task{{nil, made}, {made, runs}, {runs, made}, {made, done}} {
		c.Move(step[0], step[1])
	}
	if c.States[Cancelled] != 1 || c.Pending() != 0 || c.Bytes != done.Stored() || c.Total() != 1 {
		t.Errorf("%+v", c)
	}
	c.Move(done, nil)
	if c != (Counts{}) {
		t.Errorf("%+v", c)
	}
}

func TestATokenIsRecognisedByItsChecksumAndHash(t *testing.T) {
	token, hash := MintToken()
	if other, _ := MintToken(); other == token {
		t.Fatal("twice the same")
	}
	if got, ok := HashToken(token); !ok || got != hash {
		t.Errorf("%q, %v", got, ok)
	}
	last := byte('A')
	if token[len(token)-3] == last {
		last = 'B'
	}
	for _, wrong := range []string{"", "foliot_", token[1:], token + "A", token[:len(token)-1], token[:len(token)-3] + string(last) + token[len(token)-2:], "Foliot_" + token[7:]} {
		if _, ok := HashToken(wrong); ok {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestATokenHoldsUntilItIsRevokedOrExpires(t *testing.T) {
	s := NewSettings()
	if s.Secured() {
		t.Error("secured without a token")
	}
	_, hash := MintToken()
	s = edit(t, t0, s, AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: hash, ExpiresAt: t0 + minute})
	if got := s.Token(hash, t0+minute-1); got == nil || !got.Operator() || !s.Secured() {
		t.Errorf("%+v", got)
	}
	if s.Token(hash, t0+minute) != nil {
		t.Error("it has expired")
	}
	used := edit(t, t0, s, UseToken{AllNamespaces, hash[:16], t0 + 5})
	if got := used.Token(hash, t0); got.LastUsedAt != t0+5 {
		t.Errorf("%+v", got)
	}
	s = edit(t, t0+1, used, RevokeToken{Namespace: AllNamespaces, ID: hash[:16], Force: true})
	if s.Token(hash, t0+1) != nil {
		t.Error("it is revoked")
	}
	if !s.Secured() {
		t.Error("the last token's end opened the server to everybody")
	}
	_ = refused[*MissingError](t, t0, s, RevokeToken{Namespace: "default", ID: hash[:16]}) // another namespace's
	_ = refused[*MissingError](t, t0, s, AddToken{Namespace: "nobody", Scope: ScopeRead, Hash: hash})
	_ = refused[*FieldError](t, t0, s, AddToken{Namespace: "default", Scope: 0, Hash: hash})
	_ = refused[*FieldError](t, t0, s, AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash, ExpiresAt: t0})
	_ = refused[*FieldError](t, t0, s, AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash, Label: "a\nb"})
}

// TestEndedTokensMakeRoomAndHoldingOnesDoNot: all tokens of a namespace count, so that no client fills
// the settings with tokens that ended.
func TestEndedTokensMakeRoomAndHoldingOnesDoNot(t *testing.T) {
	records := make([]Setting, MaxTokens)
	for i := range records {
		records[i] = &AccessToken{ID: fmt.Sprint(i), Namespace: "default", Hash: fmt.Sprint(i), CreatedAt: t0}
	}
	_, hash := MintToken()
	add := AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash}
	_ = refused[*BusyError](t, t0, NewSettings(records...), add)
	for i := range 2 * forgetAtOnce {
		records[i] = &AccessToken{ID: fmt.Sprint(i), Namespace: "default", Hash: fmt.Sprint(i), CreatedAt: t0, RevokedAt: t0 + Millis(i)}
	}
	s := edit(t, t0+minute, NewSettings(records...), add)
	if n := s.count(TokenKind, "default"); n != MaxTokens+1-forgetAtOnce {
		t.Errorf("%d tokens", n)
	}
	if s.TokenByID("99") != nil || s.TokenByID("100") == nil {
		t.Error("the tokens that ended first were to go")
	}
}

// TestAProgramThatReplacesItsOwnTokenIsNeverLockedOut: each token is made by the one before it, which
// is then revoked. What a token made can be found all the same.
func TestAProgramThatReplacesItsOwnTokenIsNeverLockedOut(t *testing.T) {
	records := make([]Setting, MaxTokens)
	for i := range records {
		token := &AccessToken{ID: fmt.Sprintf("%05d", i), Namespace: "default", Hash: fmt.Sprintf("%05d", i), CreatedAt: t0, Parent: "maker"}
		if i > 0 {
			token.Parent = fmt.Sprintf("%05d", i-1)
		}
		if i+1 < len(records) {
			token.RevokedAt = t0 + Millis(i)
		}
		records[i] = token
	}
	last := fmt.Sprintf("%05d", MaxTokens-1)
	maker := &AccessToken{ID: "maker", Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: "maker", CreatedAt: t0}
	hash := mintHash()
	s := edit(t, t0+minute, NewSettings(append(records, maker)...), AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash, Parent: last})
	if n := s.count(TokenKind, "default"); n != MaxTokens+1-forgetAtOnce {
		t.Errorf("%d tokens", n)
	}
	all := s.Descendants("maker")
	if len(all) != MaxTokens+1-forgetAtOnce || all[0].ID != "00100" || all[len(all)-1].ID != hash[:16] {
		t.Errorf("%d descendants", len(all))
	}
}

// TestForgettingTokensNeverOpensTheServer: the last record of a token says that requests need one.
func TestForgettingTokensNeverOpensTheServer(t *testing.T) {
	s := NewSettings()
	var ids []string
	for i := range 5 {
		_, hash := MintToken()
		ids = append(ids, hash[:16])
		s = edit(t, t0, s, AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: hash, ExpiresAt: t0 + minute + Millis(i)})
	}
	s = edit(t, t0+1, s, RevokeToken{Namespace: AllNamespaces, ID: ids[4]})
	if old := s.OldTokens(t0+1, t0); len(old) != 0 {
		t.Errorf("to be forgotten too early: %v", old)
	}
	if old := s.OldTokens(t0+1, t0+1); len(old) != 1 || old[0].Name != ids[4] {
		t.Errorf("to be forgotten: %v", old)
	}
	later := t0 + 2*minute
	s = edit(t, later, s, ForgetTokens{s.OldTokens(later, later)})
	all := s.List(TokenKind, "")
	if len(all) != 1 || all[0].Key().Name != ids[3] || !s.Secured() {
		t.Errorf("left: %v; want the one that ended last", all)
	}
	// For all requests, also by another node that knows other settings.
	s = edit(t, later, s, ForgetTokens{[]SettingKey{all[0].Key()}})
	if !s.Secured() {
		t.Error("the last token was forgotten, and the server opened")
	}
	holding := edit(t, t0, NewSettings(), AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: mintHash()})
	if s := edit(t, later, holding, ForgetTokens{[]SettingKey{holding.List(TokenKind, "")[0].Key()}}); len(s.List(TokenKind, "")) != 1 {
		t.Error("a token that holds was forgotten")
	}
}

// mintHash returns the hash of an unknown token.
func mintHash() string {
	_, hash := MintToken()
	return hash
}

func TestATokenNeverOutlivesTheOneThatMadeIt(t *testing.T) {
	make := func(s *Settings, parent string, expires Millis) (*Settings, string) {
		hash := mintHash()
		return edit(t, t0, s, AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: hash, Parent: parent, ExpiresAt: expires}), hash[:16]
	}
	s, root := make(NewSettings(), "", 0)
	s, brief := make(s, root, t0+minute)
	s, child := make(s, brief, 0)
	s, grandchild := make(s, child, t0+1)
	for id, want := range map[string]Millis{root: 0, brief: t0 + minute, child: t0 + minute, grandchild: t0 + 1} {
		if got := s.TokenByID(id).ExpiresAt; got != want {
			t.Errorf("it expires at %d, want %d", got, want)
		}
	}
	add := AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: mintHash(), Parent: child, ExpiresAt: t0 + minute + 1}
	_ = refused[*FieldError](t, t0, s, add)
	add.ExpiresAt, add.Parent = 0, "nobody"
	_ = refused[*MissingError](t, t0, s, add)
	// Made after the parent has ended, but asked for before.
	add.Parent = brief
	_ = refused[*MissingError](t, t0, edit(t, t0, s, RevokeToken{Namespace: AllNamespaces, ID: brief}), add)
	_ = refused[*MissingError](t, t0+minute, s, add)

	if all := s.Descendants(root); len(all) != 3 || all[0].ID != brief || all[1].ID != child || all[2].ID != grandchild {
		t.Errorf("descendants: %v", all)
	}
	// A token with a known child is not forgotten: its descendants could be ended no more.
	s = edit(t, t0+1, s, RevokeToken{Namespace: AllNamespaces, ID: brief})
	if old := s.OldTokens(t0+1, t0+1); len(old) != 1 || old[0].Name != grandchild {
		t.Errorf("to be forgotten: %v", old)
	}
	// With all that it made, a token may be the last that can manage the server.
	s, only := make(NewSettings(), "", 0)
	s, _ = make(s, only, 0)
	edit(t, t0, s, RevokeToken{Namespace: AllNamespaces, ID: only})
	if _, err := (RevokeToken{Namespace: AllNamespaces, ID: only, With: true}).Apply(t0, s); !errors.Is(err, ErrLastToken) {
		t.Errorf("error %v", err)
	}
}

func TestTwoSecretsSignDuringARotation(t *testing.T) {
	ids := func(s *Settings, now Millis) (ids []string) {
		for _, secret := range s.Secrets("default", "", now) {
			ids = append(ids, secret.ID)
		}
		return ids
	}
	add := func(id string, overlap Millis) AddSecret {
		return AddSecret{Namespace: "default", ID: id, Secret: MintSecret(), Overlap: overlap}
	}
	s := edit(t, t0, NewSettings(), add("a", 0))
	s = edit(t, t0+1, s, add("b", minute))
	if got := ids(s, t0+2); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("during the rotation %v sign", got)
	}
	_ = refused[*BusyError](t, t0+2, s, add("c", minute))
	if got := ids(s, t0+1+minute); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after it %v sign", got)
	}
	s = edit(t, t0+1+minute, s, add("c", 0))
	if got := ids(s, t0+2+minute); !slices.Equal(got, []string{"c", "b"}) || len(s.List(SecretKind, "default")) != 2 {
		t.Errorf("%v sign", got)
	}
	s = edit(t, t0, s, DropSecret{Namespace: "default", ID: "b"})
	_ = refused[*MissingError](t, t0, s, DropSecret{Namespace: "default", ID: "b"})
	if got := ids(s, t0+2+minute); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%v sign", got)
	}
}

func TestANamespaceGoesWithAllThatWasDecidedOfIt(t *testing.T) {
	s := edit(t, t0, NewSettings(), PutNamespace{Settings: NamespaceSettings{Name: "n", MaxPending: 5}})
	s = edit(t, t0, s, PutQueue{Queue: QueueSettings{Namespace: "n", Name: "q"}})
	s = edit(t, t0, s, AddSecret{Namespace: "n", ID: "a", Secret: MintSecret()})
	s = edit(t, t0, s, AddSecret{Namespace: "n", Queue: "q", ID: "b", Secret: MintSecret()})
	_, hash := MintToken()
	s = edit(t, t0, s, AddToken{Namespace: "n", Scope: ScopeRead, Hash: hash})
	_ = refused[*BusyError](t, t0, s, DropNamespace{Name: "n"})
	s = edit(t, t0, s, RevokeToken{Namespace: "n", ID: hash[:16]})
	s = edit(t, t0, s, DropNamespace{Name: "n"})
	if s.Namespace("n") != nil || len(s.List(QueueKind, "")) != 0 || len(s.AllSecrets("n", t0)) != 0 {
		t.Error("something of it was left")
	}
	if s.Namespace("default") == nil {
		t.Error("the default namespace is always there")
	}
	_ = refused[*MissingError](t, t0, s, DropNamespace{Name: "n"})
}

func TestADeathIsToldToWhoeverWantsToKnow(t *testing.T) {
	made := create(t, func(s *Spec) { s.OnDead, s.Retry.MaxAttempts = "https://ops.example/dead?x=1", 1 })
	runs := claim(t, made.Due, made, "x")
	r, err := Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Failure, Status: 500, Error: "boom"}}.Apply(made.Due+5, runs, policy)
	if err != nil || r.Task.State != Dead || r.Spawned == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	n := r.Spawned
	if n.Name != "a@dead.id-1.1" || n.Namespace != "default" || n.Queue != DeadQueue || n.Due != made.Due+5 || n.State != Scheduled || n.OnDead != "" {
		t.Errorf("%+v", n)
	}
	if n.Request.URL != made.OnDead || n.Request.Destination != "ops.example:443" || n.Request.BodySize != len(n.Request.Body) || n.ID == made.ID {
		t.Errorf("%+v", n.Request)
	}
	const want = `{"type":"task.dead","timestamp":"2027-01-15T08:01:00.005Z","data":{"namespace":"default","name":"a","id":"id-1","queue":"default",` +
		`"url":"https://receiver.example/hook","reason":"attempts_exhausted","due_at":"2027-01-15T08:01:00Z","attempts":1,"status":500,"error":"boom"}}`
	if diff := cmp.Diff(want, string(n.Request.Body)); diff != "" {
		t.Error(diff)
	}
	silent := create(t, func(s *Spec) { s.Retry.MaxAttempts = 1 })
	runs = claim(t, silent.Due, silent, "x")
	if r, _ := (Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Refusal}}).Apply(made.Due, runs, policy); r.Spawned != nil {
		t.Errorf("%+v", r.Spawned)
	}
}

func TestWhatWasRunByHandWaitsInALaneOfItsOwn(t *testing.T) {
	made := create(t)
	urgent := apply(t, t0, made, Run{Key: made.Key()})
	if urgent.Lane().Priority != Urgent || urgent.Priority != Normal {
		t.Errorf("%+v", urgent.Lane())
	}
	runs := claim(t, t0, urgent, "x")
	r, err := Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Failure}}.Apply(t0, runs, policy)
	if err != nil || r.Task.Lane() != made.Lane() {
		t.Errorf("%+v, %v: a retry is no longer urgent", r.Task.Lane(), err)
	}
}

func TestTheAuditLogSaysWhatChanged(t *testing.T) {
	who := Actor{By: "token:1", Addr: "10.0.0.1"}
	c := Create{Spec: demand()}
	r, _ := c.Apply(t0, nil, policy)
	got, ok := AuditChange(t0, who, c, r)
	want := AuditEntry{At: t0, By: "token:1", Addr: "10.0.0.1", Namespace: "default", Action: "task.create", Target: "a", ID: "id-1", Version: 1}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !ok {
		t.Error(ok, diff)
	}
	if _, ok := AuditChange(t0, who, c, Result{Task: r.Task, Effect: Repeated}); ok {
		t.Error("a repeat changed nothing")
	}
	e := PauseQueue{Namespace: "default", Name: "q", Paused: true}
	changes, _ := e.Apply(t0, NewSettings())
	if got, ok := AuditEdit(t0, who, e, changes); !ok || got.Action != "queue.pause" || got.Target != "q" || got.Version != 1 {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := AuditEdit(t0, who, UseToken{}, changes); ok {
		t.Error("a use is no mutation")
	}
	for _, f := range []AuditFilter{{Namespace: "other"}, {Action: "task.touch"}, {Target: "b"}, {By: "x"}, {From: t0 + 1}, {Until: t0}} {
		if f.Match(&want) {
			t.Errorf("%+v chooses it", f)
		}
	}
	if f := (AuditFilter{Namespace: "default", Action: "task.create", Target: "a", By: "token:1", From: t0, Until: t0 + 1}); !f.Match(&want) {
		t.Error("all fields hold")
	}
}

func FuzzHashTokenTakesOnlyWhatWasMinted(f *testing.F) {
	token, _ := MintToken()
	f.Add(token)
	f.Add("foliot_")
	f.Fuzz(func(t *testing.T, s string) {
		if hash, ok := HashToken(s); ok && (len(hash) != 64 || len(s) != len(token)) {
			t.Errorf("%q", s)
		}
	})
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
		if err != nil {
			t.Fatal(err)
		}
		if same, err := DecodeSetting(SettingKind(kind), again); err != nil || !cmp.Equal(r, same, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %v", again, err)
		}
	})
}

func TestTheLastManagersTokenIsRevokedOnlyByForce(t *testing.T) {
	s := NewSettings()
	add := func(namespace string, scope Scope, until Millis) RevokeToken {
		_, hash := MintToken()
		s = edit(t, t0, s, AddToken{Namespace: namespace, Scope: scope, Hash: hash, ExpiresAt: until})
		return RevokeToken{Namespace: namespace, ID: hash[:16]}
	}
	one, other := add(AllNamespaces, ScopeAdmin, 0), add(AllNamespaces, ScopeAdmin, t0+minute)
	reader := add(AllNamespaces, ScopeWrite, 0)
	tenant := add(DefaultNamespace, ScopeAdmin, 0)
	for _, last := range []struct {
		e   RevokeToken
		now Millis
	}{{one, t0 + minute}, {other, t0 + minute - 1}} {
		if last.e == other {
			s = edit(t, t0, s, one)
		}
		if _, err := last.e.Apply(last.now, s); !errors.Is(err, ErrLastToken) {
			t.Errorf("%+v at %d: %v", last.e, last.now, err)
		}
	}
	for _, e := range []RevokeToken{reader, tenant} { // they never could
		edit(t, t0, s, e)
	}
	edit(t, t0+minute, s, other) // it has expired: nothing is lost by it
	other.Force = true
	edit(t, t0, s, other)
}

func TestResumingAQueueOfWhichNothingWasDecidedDecidesNothing(t *testing.T) {
	if changes, err := (PauseQueue{Namespace: "default", Name: "q"}).Apply(t0, NewSettings()); changes != nil || err != nil {
		t.Errorf("%+v, %v", changes, err)
	}
}

package settings

import (
	"errors"
	"fmt"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

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
	_ = refused[*task.FieldError](t, t0, s, AddToken{Namespace: "default", Scope: 0, Hash: hash})
	_ = refused[*task.FieldError](t, t0, s, AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash, ExpiresAt: t0})
	_ = refused[*task.FieldError](t, t0, s, AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash, Label: "a\nb"})
}

// TestEndedTokensMakeRoomAndHoldingOnesDoNot: ended tokens of a namespace count
// too, so that no client fills the settings with them.
func TestEndedTokensMakeRoomAndHoldingOnesDoNot(t *testing.T) {
	records := make([]Setting, MaxTokens)
	for i := range records {
		records[i] = &AccessToken{ID: fmt.Sprint(i), Namespace: "default", Hash: fmt.Sprint(i), CreatedAt: t0}
	}
	_, hash := MintToken()
	add := AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash}
	_ = refused[*BusyError](t, t0, NewSettings(records...), add)
	for i := range 2 * forgetAtOnce {
		records[i] = &AccessToken{ID: fmt.Sprint(i), Namespace: "default", Hash: fmt.Sprint(i), CreatedAt: t0, RevokedAt: t0 + task.Millis(i)}
	}
	s := edit(t, t0+minute, NewSettings(records...), add)
	if n := s.count(TokenKind, "default"); n != MaxTokens+1-forgetAtOnce {
		t.Errorf("%d tokens", n)
	}
	if s.TokenByID("99") != nil || s.TokenByID("100") == nil {
		t.Error("the tokens that ended first were to go")
	}
}

// TestAProgramThatReplacesItsOwnTokenIsNeverLockedOut: each token is made by
// the one before it, which is then revoked. Descendants still finds all tokens
// of such a chain.
func TestAProgramThatReplacesItsOwnTokenIsNeverLockedOut(t *testing.T) {
	records := make([]Setting, MaxTokens)
	for i := range records {
		token := &AccessToken{ID: fmt.Sprintf("%05d", i), Namespace: "default", Hash: fmt.Sprintf("%05d", i), CreatedAt: t0, Parent: "maker"}
		if i > 0 {
			token.Parent = fmt.Sprintf("%05d", i-1)
		}
		if i+1 < len(records) {
			token.RevokedAt = t0 + task.Millis(i)
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
	all := s.Descendants(maker)
	if len(all) != MaxTokens+1-forgetAtOnce || all[0].ID != "00100" || all[len(all)-1].ID != hash[:16] {
		t.Errorf("%d descendants", len(all))
	}
}

// TestAForgottenChainLeavesItsLastToken, whichever token of it ended first.
func TestAForgottenChainLeavesItsLastToken(t *testing.T) {
	for _, ends := range [][3]task.Millis{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}} {
		made := []Setting{&AccessToken{ID: "last", Namespace: "default", Hash: "last", Parent: "2"}}
		for i, end := range ends {
			parent := ""
			if i > 0 {
				parent = fmt.Sprint(i - 1)
			}
			made = append(made, &AccessToken{ID: fmt.Sprint(i), Namespace: "default", Hash: fmt.Sprint(i), Parent: parent, RevokedAt: t0 + end})
		}
		s := NewSettings(made...)
		s = s.With(s.makeRoom("default", t0+minute)...)
		if left := s.List(TokenKind, ""); len(left) != 1 || left[0].(*AccessToken).ID != "last" || left[0].(*AccessToken).Parent != "" {
			t.Errorf("ends %v: left %v", ends, left)
		}
	}
}

// TestForgettingTokensNeverOpensTheServer: the last record of a token means
// that requests need one.
func TestForgettingTokensNeverOpensTheServer(t *testing.T) {
	s := NewSettings()
	var ids []string
	for i := range 5 {
		_, hash := MintToken()
		ids = append(ids, hash[:16])
		s = edit(t, t0, s, AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: hash, ExpiresAt: t0 + minute + task.Millis(i)})
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
	// This holds for all requests, even for those of another node with older
	// settings.
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
	make := func(s *Settings, parent string, expires task.Millis) (*Settings, string) {
		hash := mintHash()
		return edit(t, t0, s, AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: hash, Parent: parent, ExpiresAt: expires}), hash[:16]
	}
	s, root := make(NewSettings(), "", 0)
	s, brief := make(s, root, t0+minute)
	s, child := make(s, brief, 0)
	s, grandchild := make(s, child, t0+1)
	for id, want := range map[string]task.Millis{root: 0, brief: t0 + minute, child: t0 + minute, grandchild: t0 + 1} {
		if got := s.TokenByID(id).ExpiresAt; got != want {
			t.Errorf("it expires at %d, want %d", got, want)
		}
	}
	add := AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: mintHash(), Parent: child, ExpiresAt: t0 + minute + 1}
	_ = refused[*task.FieldError](t, t0, s, add)
	add.ExpiresAt, add.Parent = 0, "nobody"
	_ = refused[*MissingError](t, t0, s, add)
	tenant := AddToken{Namespace: task.DefaultNamespace, Scope: ScopeAdmin, Hash: mintHash()}
	add.Parent = tenant.Target().Name
	_ = refused[*MissingError](t, t0, edit(t, t0, s, tenant), add)
	// The token is made after its parent has ended, although it was requested
	// before.
	add.Parent = brief
	_ = refused[*MissingError](t, t0, edit(t, t0, s, RevokeToken{Namespace: AllNamespaces, ID: brief}), add)
	_ = refused[*MissingError](t, t0+minute, s, add)

	if all := s.Descendants(s.TokenByID(root)); len(all) != 3 || all[0].ID != brief || all[1].ID != child || all[2].ID != grandchild {
		t.Errorf("descendants: %v", all)
	}
	// A token with a known child is not forgotten: otherwise its descendants
	// could not be revoked.
	s = edit(t, t0+1, s, RevokeToken{Namespace: AllNamespaces, ID: brief})
	if old := s.OldTokens(t0+1, t0+1); len(old) != 1 || old[0].Name != grandchild {
		t.Errorf("to be forgotten: %v", old)
	}
	// Together with its descendants, a token may be the last one that can
	// manage the server.
	s, only := make(NewSettings(), "", 0)
	s, _ = make(s, only, 0)
	for _, s := range []*Settings{s, edit(t, t0, s, RevokeToken{Namespace: AllNamespaces, ID: only})} { // even if only was revoked before
		if _, err := (RevokeToken{Namespace: AllNamespaces, ID: only, With: true}).Apply(t0, s); !errors.Is(err, ErrLastToken) {
			t.Errorf("error %v", err)
		}
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

func TestTheLastManagersTokenIsRevokedOnlyByForce(t *testing.T) {
	s := NewSettings()
	add := func(namespace string, scope Scope, until task.Millis) RevokeToken {
		_, hash := MintToken()
		s = edit(t, t0, s, AddToken{Namespace: namespace, Scope: scope, Hash: hash, ExpiresAt: until})
		return RevokeToken{Namespace: namespace, ID: hash[:16]}
	}
	one, other := add(AllNamespaces, ScopeAdmin, 0), add(AllNamespaces, ScopeAdmin, t0+minute)
	reader := add(AllNamespaces, ScopeWrite, 0)
	tenant := add(task.DefaultNamespace, ScopeAdmin, 0)
	for _, last := range []struct {
		e   RevokeToken
		now task.Millis
	}{{one, t0 + minute}, {other, t0 + minute - 1}} {
		if last.e == other {
			s = edit(t, t0, s, one)
		}
		if _, err := last.e.Apply(last.now, s); !errors.Is(err, ErrLastToken) {
			t.Errorf("%+v at %d: %v", last.e, last.now, err)
		}
	}
	for _, e := range []RevokeToken{reader, tenant} { // they could never manage the server
		edit(t, t0, s, e)
	}
	edit(t, t0+minute, s, other) // it has expired, so its end loses nothing
	other.Force = true
	edit(t, t0, s, other)
}

package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// settingLimit bounds the body of a request that changes a setting, in which an
// on_dead URL with every byte escaped fits.
const settingLimit = 64 << 10

// configure applies one edit and returns its changes; r then has the settings after
// it, and the nodes that have not applied them: see replySetting. noun names the
// record in errors. The rate of edits binds tokens of a namespace, but not operators.
// checks may refuse the edit, but it counts for the rate.
func (s *Server) configure(w http.ResponseWriter, r *request, noun string, e settings.Edit, checks ...func() error) ([]settings.SettingChange, error) {
	if err := s.revalidate(&r.caller); err != nil {
		return nil, err
	}
	if !r.operator {
		if err := s.checkRate(w, r, settings.EditRate, 1); err != nil {
			return nil, err
		}
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return nil, err
		}
	}
	now, began := s.now(), time.Now()
	replies, err := s.store.Configure(r.Context(), now, []settings.Edit{e})
	if err != nil {
		return nil, err
	}
	if err := replies[0].Err; errors.Is(err, task.ErrPrecondition) {
		return nil, refuse("precondition_failed", "", "the "+noun+" does not meet If-Match (its version) or If-None-Match (it must not exist): read it again")
	} else if err != nil {
		return nil, err
	}
	r.settings, r.unconfirmed = s.store.Standing().Settings, replies[0].Unconfirmed
	// The reply to a purge waits for the difference of clocks, counted from the edit's
	// own time.
	if _, purge := e.(settings.PurgeQueue); purge && !s.rest(r, time.Until(began.Add(2*settings.PurgeSkew))) {
		return nil, task.ErrClosed
	}
	return replies[0].Changes, nil
}

func (s *Server) readSetting(w http.ResponseWriter, r *request, decode func(*reader) error) error {
	return s.readJSON(w, r, settingLimit, decode)
}

// readOptional is readSetting for an optional body.
func (s *Server) readOptional(w http.ResponseWriter, r *request, decode func(*reader) error) error {
	if r.ContentLength == 0 || r.Header.Get("Content-Type") == "" && noBody(r) == nil {
		return nil
	}
	err := s.readSetting(w, r, decode)
	if field := (*task.FieldError)(nil); errors.As(err, &field) && field.Code == "empty_body" {
		return nil
	}
	return err
}

// replySetting replies with a setting, and its entity tag if it has a version.
func (s *Server) replySetting(w http.ResponseWriter, r *request, status int, version uint64, etag string, shown any) error {
	if version != 0 {
		w.Header().Set("ETag", `"`+etag+`"`)
	}
	if r.unconfirmed != nil {
		status = http.StatusAccepted
	}
	return s.reply(w, r, status, shown)
}

// putStatus returns 201 for the first version of a setting, and sets Location
// to its path below under.
func putStatus(w http.ResponseWriter, under, name string, version uint64) int {
	if version > 1 {
		return http.StatusOK
	}
	w.Header().Set("Location", under+"/"+name)
	return http.StatusCreated
}

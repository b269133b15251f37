package client

import "github.com/foliot/foliot/internal/wire"

// This file converts all other types to those of the API and back.

// MarshalJSON returns the settings as the API writes it.
func (s QueueSettings) MarshalJSON() ([]byte, error) { return encode[wire.QueueInput](s) }

// UnmarshalJSON reads the settings as the API writes it.
func (s *QueueSettings) UnmarshalJSON(data []byte) error { return decode[wire.QueueInput](data, s) }

// MarshalJSON returns the queue as the API writes it.
func (q Queue) MarshalJSON() ([]byte, error) { return encode[wire.Queue](q) }

// UnmarshalJSON reads the queue as the API writes it.
func (q *Queue) UnmarshalJSON(data []byte) error { return decode[wire.Queue](data, q) }

// MarshalJSON returns the settings as the API writes it.
func (s NamespaceSettings) MarshalJSON() ([]byte, error) { return encode[wire.NamespaceInput](s) }

// UnmarshalJSON reads the settings as the API writes it.
func (s *NamespaceSettings) UnmarshalJSON(data []byte) error {
	return decode[wire.NamespaceInput](data, s)
}

// MarshalJSON returns the namespace as the API writes it.
func (n Namespace) MarshalJSON() ([]byte, error) { return encode[wire.Namespace](n) }

// UnmarshalJSON reads the namespace as the API writes it.
func (n *Namespace) UnmarshalJSON(data []byte) error { return decode[wire.Namespace](data, n) }

// MarshalJSON returns the spec as the API takes it.
func (s TokenSpec) MarshalJSON() ([]byte, error) { return encode[wire.TokenInput](s) }

// MarshalJSON returns the token, with its secret if that is known, as the API writes it.
func (t Token) MarshalJSON() ([]byte, error) { return encode[wire.Token](t) }

// UnmarshalJSON reads the token as the API writes it.
func (t *Token) UnmarshalJSON(data []byte) error { return decode[wire.Token](data, t) }

// MarshalJSON returns the spec as the API takes it.
func (s SecretSpec) MarshalJSON() ([]byte, error) { return encode[wire.SecretInput](s) }

// MarshalJSON returns the secret, with its key if that is known, as the API writes it.
func (s Secret) MarshalJSON() ([]byte, error) { return encode[wire.Secret](s) }

// UnmarshalJSON reads the secret as the API writes it.
func (s *Secret) UnmarshalJSON(data []byte) error { return decode[wire.Secret](data, s) }

// MarshalJSON returns the entry as the API writes it.
func (e AuditEntry) MarshalJSON() ([]byte, error) { return encode[wire.AuditEntry](e) }

// UnmarshalJSON reads the entry as the API writes it.
func (e *AuditEntry) UnmarshalJSON(data []byte) error { return decode[wire.AuditEntry](data, e) }

// MarshalJSON returns the live data as the API writes it.
func (l Live) MarshalJSON() ([]byte, error) { return encode[wire.Live](l) }

// UnmarshalJSON reads the live data as the API writes it.
func (l *Live) UnmarshalJSON(data []byte) error { return decode[wire.Live](data, l) }

// MarshalJSON returns the decision as the API writes it.
func (e Egress) MarshalJSON() ([]byte, error) { return encode[wire.Egress](e) }

// UnmarshalJSON reads the decision as the API writes it.
func (e *Egress) UnmarshalJSON(data []byte) error { return decode[wire.Egress](data, e) }

// MarshalJSON returns the preview as the API writes it.
func (p RulePreview) MarshalJSON() ([]byte, error) { return encode[wire.RulePreview](p) }

// UnmarshalJSON reads the preview as the API writes it.
func (p *RulePreview) UnmarshalJSON(data []byte) error { return decode[wire.RulePreview](data, p) }

// MarshalJSON returns the instant as the API writes it.
func (i Instant) MarshalJSON() ([]byte, error) { return encode[wire.Instant](i) }

// UnmarshalJSON reads the instant as the API writes it.
func (i *Instant) UnmarshalJSON(data []byte) error { return decode[wire.Instant](data, i) }

package client

import "github.com/foliot/foliot/internal/wire"

// This file converts all other types to those of the API and back.

func (s QueueSettings) MarshalJSON() ([]byte, error) { return encode[wire.QueueInput](s) }

func (s *QueueSettings) UnmarshalJSON(data []byte) error { return decode[wire.QueueInput](data, s) }

func (q Queue) MarshalJSON() ([]byte, error) { return encode[wire.Queue](q) }

func (q *Queue) UnmarshalJSON(data []byte) error { return decode[wire.Queue](data, q) }

func (s NamespaceSettings) MarshalJSON() ([]byte, error) { return encode[wire.NamespaceInput](s) }

func (s *NamespaceSettings) UnmarshalJSON(data []byte) error {
	return decode[wire.NamespaceInput](data, s)
}

func (n Namespace) MarshalJSON() ([]byte, error) { return encode[wire.Namespace](n) }

func (n *Namespace) UnmarshalJSON(data []byte) error { return decode[wire.Namespace](data, n) }

func (s TokenSpec) MarshalJSON() ([]byte, error) { return encode[wire.TokenInput](s) }

// MarshalJSON returns the token, with its secret if that is known, as the API writes it.
func (t Token) MarshalJSON() ([]byte, error) { return encode[wire.Token](t) }

func (t *Token) UnmarshalJSON(data []byte) error { return decode[wire.Token](data, t) }

func (s SecretSpec) MarshalJSON() ([]byte, error) { return encode[wire.SecretInput](s) }

// MarshalJSON returns the secret, with its key if that is known, as the API writes it.
func (s Secret) MarshalJSON() ([]byte, error) { return encode[wire.Secret](s) }

func (s *Secret) UnmarshalJSON(data []byte) error { return decode[wire.Secret](data, s) }

func (e AuditEntry) MarshalJSON() ([]byte, error) { return encode[wire.AuditEntry](e) }

func (e *AuditEntry) UnmarshalJSON(data []byte) error { return decode[wire.AuditEntry](data, e) }

func (l Live) MarshalJSON() ([]byte, error) { return encode[wire.Live](l) }

func (l *Live) UnmarshalJSON(data []byte) error { return decode[wire.Live](data, l) }

func (e Egress) MarshalJSON() ([]byte, error) { return encode[wire.Egress](e) }

func (e *Egress) UnmarshalJSON(data []byte) error { return decode[wire.Egress](data, e) }

func (p RulePreview) MarshalJSON() ([]byte, error) { return encode[wire.RulePreview](p) }

func (p *RulePreview) UnmarshalJSON(data []byte) error { return decode[wire.RulePreview](data, p) }

func (i Instant) MarshalJSON() ([]byte, error) { return encode[wire.Instant](i) }

func (i *Instant) UnmarshalJSON(data []byte) error { return decode[wire.Instant](data, i) }

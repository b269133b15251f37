package codec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/settings"
)

// SettingField returns the key of a setting, as text.
func SettingField(k settings.SettingKey) string {
	return strconv.Itoa(int(k.Kind)) + "/" + k.Namespace + "/" + k.Name
}

// ParseSetting returns the setting with this key, from its value by EncodeSetting.
func ParseSetting(field string, value []byte) (settings.Setting, error) {
	kind, _, _ := strings.Cut(field, "/")
	n, err := strconv.ParseUint(kind, 10, 8)
	if err != nil {
		return nil, fmt.Errorf("setting %q: %w", field, ErrDamaged)
	}
	r, err := settings.DecodeSetting(settings.SettingKind(n), value)
	if err != nil {
		return nil, fmt.Errorf("setting %q: %w: %w", field, ErrDamaged, err)
	}
	if SettingField(r.Key()) != field {
		return nil, fmt.Errorf("setting %q has the content of %+v: %w", field, r.Key(), ErrDamaged)
	}
	return r, nil
}

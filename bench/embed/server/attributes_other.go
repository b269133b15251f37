//go:build !linux

package server

import "syscall"

// attributes request no signal: if this program is killed, its servers stay.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}

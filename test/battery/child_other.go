//go:build !linux

package main

import "syscall"

// childAttr asks for nothing: where the battery is killed its processes stay.
func childAttr() *syscall.SysProcAttr { return nil }

//go:build !unix

package server

// fileLimit returns the number of descriptors that this process may open. This
// system sets no limit.
func fileLimit() uint64 { return manyDescriptors }

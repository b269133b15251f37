package node

// Of returns the node of a *foliot.Node, for package foliot/admin. Package
// foliot sets it: the field itself is not a part of the public API.
var Of func(embedded any) *Node

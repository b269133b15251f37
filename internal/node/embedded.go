package node

// Of returns the node of a *foliot.Node, for package foliot/admin. Package
// foliot sets it, because the field of foliot.Node is not exported. Of panics
// if embedded has another type.
var Of func(embedded any) *Node

//go:build !purego

package kernel

// decodeFour attends four heads of one query.
func decodeFour(call *decodeCall, _ Path) { decodeHeadsNEONx4(call) }

// decodeOne attends one.
func decodeOne(call *decodeCall, _ Path) { decodeHeadsNEONx1(call) }

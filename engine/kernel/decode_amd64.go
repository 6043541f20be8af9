//go:build !purego

package kernel

// decodeFour attends four heads of one query.
func decodeFour(call *decodeCall, path Path) {
	if path == PathAVX512 {
		decodeHeads512x4(call)
	} else {
		decodeHeads256x4(call)
	}
}

// decodeOne attends one.
func decodeOne(call *decodeCall, path Path) {
	if path == PathAVX512 {
		decodeHeads512x1(call)
	} else {
		decodeHeads256x1(call)
	}
}

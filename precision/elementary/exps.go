package elementary

// Exps sets dst[i] to Exp(src[i]), of which processors compute several at a time.
func Exps(dst []float64, src []float32) {
	dst = dst[:len(src)]
	for i := 0; i < len(src); {
		i += expsVector(dst[i:], src[i:])
		for end := min(i+expsTogether, len(src)); i < end; i++ { // what ended the vectors, or ends src
			dst[i] = Exp(float64(src[i]))
		}
	}
}

// expsTogether is the largest number of exponentials that a processor takes at a time.
const expsTogether = 8

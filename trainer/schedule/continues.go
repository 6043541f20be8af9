package schedule

// Continues says on which keys and values a system's running responses go on
// under weights that are not their own; -1 for a system that lets them end under
// those that they began with. What a quota stops goes on like what is interrupted.
func Continues(p Policy) Cache {
	var t Traits
	if s, ok := p.(System); ok {
		t = s.Traits()
	}
	if t.Quota == 0 && p.OnPublish(View{}, &Worker{}) != Interrupt {
		return -1
	}
	return t.Cache
}

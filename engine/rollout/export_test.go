package rollout

// InProgress returns how many responses have slots, and how many wait for one.
func (e *Engine) InProgress() (running, waiting int) {
	for _, r := range e.begun {
		if !r.done {
			waiting++
		}
	}
	for i := range e.slots {
		if e.slots[i].running() {
			running++
		}
	}
	return running, waiting - running
}

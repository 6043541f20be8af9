package schedule

// Arrange has the workers of a new Core gone through in another order.
func (c *Core) Arrange(sequence []int) {
	c.sequence = sequence
	c.arrange()
}

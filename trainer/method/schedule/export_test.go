package schedule

// Arrange has the workers of a new Core gone through in another order.
func (c *Core) Arrange(sequence []int) {
	c.sequence = sequence
	c.arrange()
}

// FewOrders is 2 in an exhaustive test, else 1.
func FewOrders() int {
	if *exhaustive {
		return 2
	}
	return 1
}

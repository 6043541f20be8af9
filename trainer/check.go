package trainer

import "driftlab/trainer/recipe"

// Check opens the other models that a resolved recipe names, its teacher and its
// drafter, and returns as recipe.Faults what is wrong with them, so that it is
// said before any work starts.
func Check(r recipe.Recipe) error {
	if _, err := openTeacher(r); err != nil {
		return err
	}
	_, err := openDrafter(r)
	return err
}

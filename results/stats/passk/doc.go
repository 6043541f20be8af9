// Package passk estimates pass@k, the chance that at least one of k responses to
// a prompt is correct, from counts of correct ones.
//
// Three estimators answer different questions. Unbiased counts, among the samples
// at hand, the draws of k that hold a correct one: right on average, for k up to
// the number of samples. PlugIn raises a prompt's own failure rate to the k-th
// power: any k, too low on average, and 0 for ever where no sample was correct; good
// enough to rank checkpoints. Fit takes the pass rates of all prompts for draws
// of a Beta distribution and integrates over it: any k, and prompts without a
// correct sample still count for something.
package passk

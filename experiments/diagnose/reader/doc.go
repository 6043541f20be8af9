// Package reader reads the per-token dumps that RL frameworks write, and hands
// them on as rows of one kind.
//
//	about, err := reader.Read(reader.Input{Name: "dump.jsonl.gz", At: f, Size: size}, "", func(r *reader.Row) error {
//		...                        // one response; the row is reused
//		return nil
//	})
//	about.Format, about.Damage     // what it was, and what of it is broken
//
// What a file is, its first bytes and the keys of its first complete row decide,
// never its name:
//
//	NeMo-RL      train_data_step{n}.jsonl                    generation_logprobs, prev_logprobs
//	prime-rl     token_exports/step_{s}/rank_{r}.jsonl       schema_version, inference_logprobs
//	SkyRL        global_step_{n}_training_input.pkl          a pickled tensor batch
//	slime        train_data/{id}.pt, rollout_data/{id}.pt    samples with rollout_log_probs
//	miles        train_data/{id}_{rank}.pt                   columns of a rank, rollout_data
//	             policy_loss_debug/rank_{r}_call_{c}.pt      samples with train_log_probs
//	driftlab     the dumps of this program                   run, sample, logp_rollout
//	neutral      what anybody can write: see Neutral         logp_rollout, logp_old
//	verl         {step}.jsonl                                text; columns of log-probs that were added to it
//	torchtitan, open-instruct, tinker-cookbook               rollouts, with the rollout engine's log-probs only
//	prime-rl     rollouts/step_{s}/rank_{r}.bin              msgpack, with the rollout engine's log-probs only
//	TRL, AReaL, ROLL                                         text without log-probs
//
// A file of lines may also be one JSON array of its rows.
//
// A file is read once, row by row, plain, gzip or zstd: no more than a row of it
// is held. What is broken is counted and named by line and byte, and complete
// rows count nevertheless. A column that is not recorded is nil and never zeros;
// NaN, infinities and null are values.
//
// Pickles are read by an interpreter that only builds lists, dictionaries and
// tensors. It executes nothing, knows the few globals that these formats have,
// and refuses all others by name.
//
// What it is not: it judges nothing, and opens no file.
package reader

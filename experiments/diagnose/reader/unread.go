package reader

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/precision"
)

// withoutUse are keys of dumps that say nothing about log-probs or learning: texts, names, places, and what follows from
// other columns. All other keys that are not read are named in the notes.
var withoutUse = strings.Fields(`
	answer bytes completion content created_at data dataset_index example_id extra_info ground_truth gts id index input input_ids
	label messages meta_info metadata multimodal_train_inputs num_turns output position_ids problem prompt prompt_id prompt_length
	prompt_str question raw_prompt request_id response response_str responses session_id sha256 solution text timestamp turn_id
	uid uids
	micro_step micro_sequence_idx ce_weights is_masked_high is_masked_low
	rollout_id reward_breakdown advantage_breakdown seq_id status tags
	actual_version difficulty draft drafter_version format kv_kept logp_behaviour logp_law logp_verifier prompt_routes_learner
	prompt_routes_rollout stale support top_k window
	attention_mask values returns total_lengths rollout_position raw_reward remove_sample train_metadata
	gen_len prompt_len response_len response_length seqlen final_ob_len final_reward steps trajectory_metrics`)

const (
	// mostUnread is how many keys of a file that are not read are named, unreadBytes the most of one that is quoted.
	mostUnread, unreadBytes = 20, 64
	// nearName is the share of letters up to which another name is proposed.
	nearName = 0.5
)

// unread notes a key that is recorded and not read.
func (f *File) unread(key string) {
	if len(key) > unreadBytes {
		key = key[:unreadBytes] + "…"
	}
	if len(f.notRead) > mostUnread || slices.Contains(f.notRead, key) || slices.Contains(withoutUse, key) {
		return
	}
	f.notRead = append(f.notRead, strings.Clone(key))
}

// noteUnread puts the keys that are not read into the notes, each with the nearest of those that are.
func (f *File) noteUnread(known []string) {
	if len(f.notRead) == 0 {
		return
	}
	var list []string
	for _, key := range f.notRead[:min(len(f.notRead), mostUnread)] {
		if near := precision.NearestNames(key, known); len(near) > 0 && precision.NameDistance(key, near[0]) <= nearName {
			key += fmt.Sprintf(" (nearest: %s)", near[0])
		}
		list = append(list, key)
	}
	more := ""
	if len(f.notRead) > mostUnread {
		more = " and others"
	}
	f.note("not read: " + strings.Join(list, ", ") + more)
}

// names are all that files have for what the format reads.
func (f *Format) names() (list []string) {
	for _, k := range f.keys {
		list = append(list, k.names...)
	}
	return list
}

// unreadOf notes the keys of a dictionary that the format does not read.
func (f *File) unreadOf(d *dictionary, format *Format) {
	for _, k := range d.keys {
		if key, ok := k.(string); ok {
			if _, known := format.index[key]; !known {
				f.unread(key)
			}
		}
		if len(f.notRead) > mostUnread {
			return
		}
	}
}

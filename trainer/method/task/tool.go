package task

// Tool is a Task whose responses may call an environment. What it replies
// stands in the response like any token, but the policy did not write it.
type Tool interface {
	Task
	// Reply appends to dst what the environment writes behind the newest token
	// of the response, and nothing where that token is no call. It is a function
	// of its arguments, and allocates nothing beyond dst.
	Reply(dst, prompt, response []int32) []int32
}

// Generated appends to dst, for every token of a response, whether the policy
// wrote it: true everywhere but in the replies of a Tool.
func Generated(dst []bool, t Task, prompt, response []int32) []bool {
	tool, ok := t.(Tool)
	var reply []int32
	for n := 0; n < len(response); n++ {
		dst = append(dst, true)
		if !ok {
			continue
		}
		reply = tool.Reply(reply[:0], prompt, response[:n+1])
		for range min(len(reply), len(response)-n-1) {
			dst = append(dst, false)
			n++
		}
	}
	return dst
}

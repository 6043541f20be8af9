package main

type helpCmd struct {
	Topic []string `arg:"" optional:"" name:"command" help:"The command to explain; without one, all are listed."`
	Man   bool     `help:"Print the manual page of the whole program, in the format of man."`
}

// Help is the long help text.
func (*helpCmd) Help() string {
	return `Explains a command, as COMMAND --help does, or lists them all.

Examples:
  simulate help train
  simulate help checkpoint export
  simulate help --man | man -l -`
}

// Run prints the help of the command.
func (c *helpCmd) Run(a *app) error {
	if c.Man {
		_, err := a.stdout.Write([]byte(manPage(a.parser.Model, version())))
		return err
	}
	node := a.parser.Model.Node
	for _, word := range c.Topic {
		child := childNamed(node, word)
		if child == nil {
			return unknownCommand(word, node)
		}
		node = child
	}
	_, err := a.parser.Parse(append(c.Topic, "--help"))
	return err
}

"""An offline Azure on which the real Pulumi engine runs the real program."""

"""Where a profile is asked for over the network; imported only when one is."""

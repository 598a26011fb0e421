"""The program: settings, checks of what exists already, and the wiring of the components."""

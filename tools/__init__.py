"""The command-line tools that the scripts need and how they are provided where missing."""

"""The files that profiles come in, one module a format; each is read into `flamegraphs.profile`."""

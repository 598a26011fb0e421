"""The plugins that attach the real Pulumi engine to the simulated Azure.

Each is a process of its own that the engine starts and speaks gRPC to: a language host, and the
resource providers ``command``, ``azure-native`` and ``kubernetes``. They are held to what the
published plugins do: same inputs, replacements, errors and state.

Not here: what Azure or Kubernetes does. The providers know only the wire.
"""

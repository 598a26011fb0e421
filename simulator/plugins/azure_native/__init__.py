"""The ``azure-native`` provider, as far as this project's programs use it, on the simulated ARM.

:mod:`.types` says which resource lives where and is shaped how; :mod:`.functions` the same for
invokes; :mod:`.arm` is the wire; :mod:`.provider` the rules of azure-native 3.29. What is not
declared is refused, never ignored.
"""
